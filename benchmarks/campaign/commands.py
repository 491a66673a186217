"""One run in words: the command that repeats it, and what it came to."""

from shlex import quote

from benchmarks.campaign.campaigns import CAMPAIGNS
from benchmarks.paper.results import Outcome, Spec

AGAIN = "again.jsonl"  # another file: a run that is on file is not run again


def command_of(campaign: str, spec: Spec) -> str:
    """One line for a shell, in any checkout."""
    parts = ["counterpoise bench campaign", campaign, f"--problem {spec.problem}"]
    # "samples*2" is a pattern for a shell
    parts += [f"--m {spec.m}", f"--strategy {quote(spec.column)}"]
    parts.append(f"--seeds {spec.seed}")
    if spec.ratios or spec.slots:
        parts.append(f"--ratios {spec.shown_ratios}")
    if spec.slots:
        parts.append(f"--slots {spec.slots}")
    if spec.budget not in _usual_budgets(campaign, spec):
        parts.append(f"--budget {spec.budget}")
    return " ".join([*parts, f"--results {AGAIN}"])


def _usual_budgets(campaign: str, spec: Spec) -> set[int]:
    usual = CAMPAIGNS[campaign].specs(spec.problem, spec.m, spec.column, spec.seed)
    return {other.budget for other in usual}


def detail_of(outcome: Outcome) -> str:
    spec = outcome.spec
    slots = f", {spec.slots} slots" if spec.slots else ""
    name = f"{spec.problem} m = {spec.m} r = {spec.shown_ratios}{slots}"
    run = f"{spec.column}, {name}, seed {spec.seed}"
    return f"{run}: IGD+ {outcome.igd_plus:.4g}, {outcome.cpu_s:.0f} s CPU"
