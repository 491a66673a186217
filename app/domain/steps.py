"""Steps: one execution of the optimiser each, and what it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from counterpoise.wire.codes import StepKind, StepState

NO_OBJECTIVE = -1  # of a step that belongs to no stream
CLAIM_S = (
    30.0  # after this time another planner may claim the step of one that was killed
)
LONGEST_RETRY_S = 300.0  # between two attempts at a step that fails


@dataclass(frozen=True, slots=True)
class StepId:
    id: int
    kind: StepKind
    objective: int
    number: int


@dataclass(frozen=True, slots=True)
class StepInputs:
    """The inputs of a step besides its prefix of the sequence, as they were when it
    became due.

    An input is None if steps of this kind do not have it, or if an older version
    recorded the step.
    """

    size: int | None = None  # points to propose
    budget: int | None = None
    ratios: Sequence[float] | None = None
    settled: int | None = None  # full samples
    unsettled: int | None = None
    cheap: Sequence[int] | None = None  # positions of objectives
    overlap: int | None = None
    pending: Sequence[int] | None = None  # full samples that ran

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> "StepInputs":
        return StepInputs(**document)

    def as_json(self) -> dict[str, Any]:
        return {
            name: value for name, value in asdict(self).items() if value is not None
        }

    @property
    def running(self) -> int:
        """Full samples that ran, imported ones included."""
        pending = len(self.pending or ())
        return pending if self.unsettled is None else self.unsettled


@dataclass(frozen=True, slots=True)
class Step:
    id: int
    study: int
    kind: StepKind
    objective: int  # position of a stream's objective; NO_OBJECTIVE for the other kinds
    number: int
    state: StepState
    due_seq: int  # the prefix of the study's sequence that it reads
    due_at: float
    inputs: StepInputs
    claim: str | None
    claim_expires_at: float | None
    faults: int
    fault: str | None
    retry_at: float | None
    done_at: float | None
    record: dict[str, Any] | None

    def name(self, objectives: Sequence[str]) -> str:
        return step_name(self.kind, self.number, self.objective, objectives)

    def recorded(self, part: str) -> Any:
        """A part of the record; None if the step is not executed, or has no such part."""
        return (self.record or {}).get(part)

    @property
    def hypervolume(self) -> dict[str, Any] | None:
        """The recorded hypervolume: its value and the reference point."""
        return self.recorded("hypervolume") or None

    @property
    def feasible(self) -> int | None:
        """The number of complete samples that kept all limits."""
        count: int | None = self.recorded("feasible")
        return count

    @property
    def promoted(self) -> Sequence[int]:
        """The cheap-only samples that it promoted to full ones."""
        return self.recorded("promoted") or ()

    @property
    def reports(self) -> Sequence[Mapping[str, Any]]:
        """The reports on its full samples: first on the promoted ones, then on the new
        ones.
        """
        return self.recorded("full_samples") or ()

    @property
    def models(self) -> Sequence[dict[str, Any] | None]:
        """The reports on its models, by output."""
        return self.recorded("models") or ()

    @property
    def found_no_point(self) -> bool:
        """Whether a search step proposed no full sample: the space is used up."""
        is_empty = self.recorded("full_sources") == [] and not self.promoted
        return self.kind is StepKind.SEARCH and is_empty


def step_name(
    kind: StepKind, number: int, objective: int, objectives: Sequence[str]
) -> str:
    """`initial`, `stream:OBJECTIVE:NUMBER`, `search:NUMBER` or `closing:NUMBER`; a
    second design is `initial:1`.
    """
    if kind is StepKind.INITIAL and number == 0:
        return str(kind)
    if kind is StepKind.STREAM:
        return f"{kind}:{objectives[objective]}:{number}"
    return f"{kind}:{number}"
