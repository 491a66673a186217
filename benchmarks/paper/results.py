"""Finished runs, one JSON line each, appended as they come, so that an interrupted
benchmark goes on where it was.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.optimizer.models.training_data import KeepExtra
from app.optimizer.proposal.acquisition import Scaling
from app.optimizer.search.reference_vectors import Lattice
from app.optimizer.strategies.strategy import ModelFamily

# `sbp-bo` as it is in a study: models by evidence, and no effect of units
EVIDENCE_COLUMN = "sbp-bo-evidence"


@dataclass(frozen=True, slots=True, order=True)
class Settings:
    """What may be chosen beside the strategy; the defaults are the paper's."""

    scaling: Scaling = "paper"
    lattice: Lattice = "small"
    keep_extra: KeepExtra = "last"
    models: ModelFamily = "paper"


@dataclass(frozen=True, slots=True, order=True)
class Spec:
    """What identifies a run: the same spec is the same result."""

    problem: str
    m: int
    rc: int
    strategy: str
    seed: int
    settings: Settings = Settings()
    budget: int = 300
    ratios: tuple[float, ...] = ()  # of all objectives; empty: (rc, …, rc, 1)
    d: int = 0  # variables; 0: those of the paper
    n: int = 0  # samples of the design; 0: 11 d - 1
    # Of a run in virtual time: slots of each objective; 0: the paper's protocol
    slots: int = 0
    faulty: bool = False  # runs fail and workers vanish

    @property
    def column(self) -> str:
        """Of a table: the strategy; `sbp-bo-evidence` if it has not the paper's models."""
        if self.strategy == "sbp-bo" and self.settings.models == "evidence":
            return EVIDENCE_COLUMN
        return self.strategy

    @property
    def shown_ratios(self) -> str:
        """ "9,1,1", or r_c alone."""
        ratios = self.ratios or (self.rc,)
        return ",".join(f"{ratio:g}" for ratio in ratios)


@dataclass(frozen=True, slots=True)
class Outcome:
    spec: Spec
    igd_plus: float
    cpu_s: float  # optimiser only: streams, fits, search, selection
    first_step_s: float  # with the frozen models' fits
    step_s: float  # median of the others
    code: str = ""  # fingerprint of the sources that made it
    # Of the others; runs on file from before it was recorded have none
    longest_step_s: float | None = None
    hypervolume: float | None = (
        # share of the reference front's; runs from before it was recorded have none
        None
    )
    igd: float | None = None  # of runs with two objectives
    # (full samples, IGD+) along the run; runs from before it was recorded have none
    trace: tuple[tuple[int, float], ...] = ()
    # Of a run in virtual time: (seconds, hypervolume) at every step and at the end
    timeline: tuple[tuple[float, float], ...] = ()


def read(file: Path) -> dict[Spec, Outcome]:
    """All finished runs of a file; of equal specs the last.

    A last line torn by a kill is passed over.

    A whole line that is no run, perhaps a newer program's, is an error: `append` would
    only put the next run after it.
    """
    if not file.exists():
        return {}
    outcomes: dict[Spec, Outcome] = {}
    text = file.read_text()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            outcome = _parse(json.loads(line))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            if number == len(lines) and not text.endswith("\n"):
                break
            raise ValueError(
                f"{file}, line {number}: not a finished run ({error}); delete the line"
            ) from error
        outcomes[outcome.spec] = outcome
    return outcomes


def append(file: Path, outcome: Outcome) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as out:
        end = out.seek(0, os.SEEK_END)
        if end:
            _cut_torn_line(out, end)
        out.write(json.dumps(asdict(outcome)).encode() + b"\n")


def _cut_torn_line(out: Any, end: int) -> None:
    out.seek(max(0, end - 65_536))
    tail = out.read()
    if not tail.endswith(b"\n"):
        out.truncate(end - len(tail) + tail.rfind(b"\n") + 1)


def _parse(row: dict[str, Any]) -> Outcome:
    spec = dict(row["spec"])
    spec["settings"] = Settings(**spec["settings"])
    spec["ratios"] = tuple(spec.get("ratios", ()))
    trace = tuple((int(count), float(score)) for count, score in row.get("trace", ()))
    timeline = tuple((float(at), float(score)) for at, score in row.get("timeline", ()))
    read = {"spec": Spec(**spec), "trace": trace, "timeline": timeline}
    return Outcome(**{**row, **read})


# Problem, m, ratio, strategy, settings, budget
GroupKey = tuple[str, int, int, str, Settings, int]


def group(outcomes: Iterable[Outcome]) -> dict[GroupKey, list[Outcome]]:
    """Runs that differ only in their seed, by seed."""
    groups: dict[GroupKey, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda each: each.spec):
        spec = outcome.spec
        key = (spec.problem, spec.m, spec.rc, spec.strategy, spec.settings, spec.budget)
        groups.setdefault(key, []).append(outcome)
    return groups
