"""How the counters of objectives, samples and studies grow with a change set."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from app.domain.jobs import Job
from app.domain.studies import CoObjectives
from app.domain.work.changes import ChangeSet, JobChange
from counterpoise.wire.codes import JobState

# The counters of an objective that a change set can move.
OBJECTIVE_COUNTERS = (
    "waiting",
    "done",
    "infeasible",
    "failed",
    "superseded",
    "open_full",
    "expired",
    "late",
    "duplicate",
)
_LEAVES = (JobState.INFEASIBLE, JobState.FAILED, JobState.SUPERSEDED)


@dataclass(slots=True)
class Growth:
    """By how much the counters of one study grow."""

    objectives: dict[int, Counter[str]] = field(default_factory=dict)
    # By sample: outputs not settled, and those whose jobs wait for the cheap runs.
    samples: Counter[int] = field(default_factory=Counter)
    waiting: Counter[int] = field(default_factory=Counter)
    # Planned samples that leave the plan.
    given_up: set[int] = field(default_factory=set)
    # Those of them that a run has ruled out.
    withdrawn: set[int] = field(default_factory=set)
    settled_full: int = 0


def growth(
    changes: ChangeSet, co_objectives: CoObjectives, most_withdrawn: int
) -> Growth:
    """`most_withdrawn`: how many samples may still give their place in the budget back."""
    grown = Growth()
    grown.objectives = _objective_growth(changes, co_objectives)
    for change in changes.jobs:
        outputs = 1 + len(co_objectives.get(change.job.objective, ()))
        grown.samples[change.job.sample] += change.opened * outputs
        grown.waiting[change.job.sample] += change.held_back * outputs
    given_up = _given_up(changes.jobs)
    infeasible = changes.infeasible_samples
    ruled_out = [
        sample
        for sample, job in given_up.items()
        if sample in infeasible or job.sample_infeasible
    ]
    keep_their_place = set(ruled_out[most_withdrawn:])
    grown.given_up = set(given_up) - keep_their_place
    grown.withdrawn = set(ruled_out) - keep_their_place
    grown.settled_full = _settled_full(changes.jobs, grown)
    return grown


def _given_up(changes: Iterable[JobChange]) -> dict[int, Job]:
    """Planned samples one of whose full jobs is superseded: they will not be evaluated
    on all outputs.
    """
    return {
        change.job.sample: change.job
        for change in changes
        if change.state is JobState.SUPERSEDED
        and not change.job.cheap_only
        and change.job.sample_planned
    }


def _settled_full(changes: Iterable[JobChange], grown: Growth) -> int:
    """By how much the number of planned samples without open outputs grows."""
    before = {
        change.job.sample: change.job.sample_open
        for change in changes
        if change.job.sample_planned
    }
    count = 0
    for sample, open_before in before.items():
        if sample in grown.given_up:
            continue
        open_after = open_before + grown.samples[sample]
        count += (open_after == 0) - (open_before == 0)
    return count


def _objective_growth(
    changes: ChangeSet, co_objectives: CoObjectives
) -> dict[int, Counter[str]]:
    grown: dict[int, Counter[str]] = {}

    def counters(objective: int) -> Counter[str]:
        return grown.setdefault(objective, Counter())

    for change in changes.jobs:
        before, after = change.job.state, change.state
        own = counters(change.job.objective)
        own["open_full"] += 0 if change.job.cheap_only else change.opened
        own[before] -= 1
        own[after] += 1
        for co_objective in co_objectives.get(change.job.objective, ()):
            # Only what it leaves, or that it is superseded; a value or failure of its
            # own is counted below.
            counters(co_objective)[before] -= before in _LEAVES
            counters(co_objective)[after] += after is JobState.SUPERSEDED
    for result in changes.results:
        has_own_jobs = result.objective in co_objectives
        if result.of_job and not has_own_jobs:
            counters(result.objective)[result.state] += 1
    for objective, anomaly in changes.anomalies:
        counters(objective)[anomaly] += 1
    return {
        objective: counter for objective, counter in grown.items() if _moves(counter)
    }


def _moves(counter: Counter[str]) -> bool:
    return any(counter[name] for name in OBJECTIVE_COUNTERS)
