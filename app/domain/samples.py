"""Samples: points, where they come from, and what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.steps import step_name
from counterpoise.wire.codes import FailureKind, StepKind

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NewSample:
    """A point x and the objectives with jobs of their own (ids) that it is wanted on."""

    x: Sequence[float]
    objectives: tuple[int, ...]
    full: bool


@dataclass(frozen=True, slots=True)
class Sample:
    id: int
    x: list[float]
    full: bool
    open: int  # outputs not settled
    # The number of the study's sequence from which steps see an imported sample
    imported_seq: int | None
    # The step that proposed it; None if it was imported.
    kind: StepKind | None
    number: int
    objective: int

    @property
    def is_imported(self) -> bool:
        return self.imported_seq is not None

    def step(self, objectives: Sequence[str]) -> str | None:
        """The name of the step that proposed it."""
        if self.kind is None:
            return None
        return step_name(self.kind, self.number, self.objective, objectives)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A value of one output of a sample, or a final failure, at its place in the
    study's sequence.
    """

    seq: int
    sample: int
    objective: int
    value: float | None
    failure: FailureKind | None
    at: float
