"""Samples: points, where they come from, and what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from app.domain.steps import step_name
from counterpoise.wire.codes import FailureKind, StepKind

# A number; of a categorical variable a text, a boolean or a number
Coordinate: TypeAlias = Any
Point = tuple[Coordinate, ...]


@dataclass(frozen=True, slots=True)
class NewSample:
    """A point x, and the objectives (ids, with jobs of their own) that evaluate it."""

    x: Sequence[Coordinate]
    objectives: tuple[int, ...]
    full: bool
    # A further sample at a known point, because its values have noise
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    id: int
    x: list[Coordinate]
    full: bool
    open: int  # outputs not settled
    given_up: bool  # a full sample that left the plan
    infeasible: bool  # a run has ruled it out
    # The number of the study's sequence from which steps see an imported sample
    imported_seq: int | None
    # The step that proposed it; None if it was imported.
    kind: StepKind | None
    number: int
    objective: int
    promoted_in: int | None = None  # the search step that made it a full sample
    excluded: bool = False  # from front and models, by an engineer

    @property
    def is_withdrawn(self) -> bool:
        """Whether it gave its place in the budget back because a run ruled it out."""
        return self.given_up and self.infeasible

    @property
    def is_imported(self) -> bool:
        return self.imported_seq is not None

    @property
    def search_number(self) -> int:
        """The number of the search step that proposed it; 0 for the initial phase."""
        return self.number if self.kind is StepKind.SEARCH else 0

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
