"""Runs of samples that another step than the sample's own has proposed."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.planning.joining import Join
from app.domain.samples import Sample
from app.domain.steps import StepId
from app.store.database import Connection
from app.store.studies.joins import recorded_joins
from counterpoise.wire.codes import StepKind


@dataclass(frozen=True, slots=True)
class JoinedRun:
    # The step that proposed the run
    kind: StepKind
    objective: int
    number: int
    # In the order of the objective's samples, where a sample of its own step is at
    # (id, 0): as if this step had made a sample of its own
    place: tuple[int, int]

    @property
    def search_number(self) -> int:
        """0 in the initial phase."""
        return self.number if self.kind is StepKind.SEARCH else 0


def joined_runs(
    connection: Connection, study: int, samples: Sequence[Sample]
) -> dict[tuple[int, int], JoinedRun]:
    """By sample and objective, of all steps. `samples`: all of the study, by id."""
    own: dict[tuple[StepKind | None, int, int], list[int]] = {}
    for sample in samples:
        identity = (sample.kind, sample.objective, sample.number)
        own.setdefault(identity, []).append(sample.id)
    by_step: dict[StepId, list[Join]] = {}
    for step, join in recorded_joins(connection, study):
        by_step.setdefault(step, []).append(join)
    found: dict[tuple[int, int], JoinedRun] = {}
    for step, joins in by_step.items():
        new = own.get((step.kind, step.objective, step.number), [])
        for earlier, join in enumerate(joins):
            place = _place(join, new[: join.position - earlier])
            run = JoinedRun(step.kind, step.objective, step.number, place)
            found |= {(join.sample, objective): run for objective in join.runs}
    return found


def _place(join: Join, before: Sequence[int]) -> tuple[int, int]:
    """`before`: the new samples that the step proposed before this one."""
    return (before[-1] if before else join.after, 1 + join.position)
