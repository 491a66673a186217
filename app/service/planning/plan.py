"""What a step proposes."""

from dataclasses import dataclass, field
from typing import Any

from app.domain.planning.step_models import StepModels
from app.domain.samples import NewSample
from app.optimizer.arrays import Floats


@dataclass(slots=True)
class Plan:
    """What a step proposes: points in the unit cube, full ones and, by position of
    objective, cheap-only ones.
    """

    full: Floats
    cheap: dict[int, Floats] = field(default_factory=dict)
    # Cheap-only samples (ids) that become full ones
    promoted: list[int] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()  # rows of `full` that are known points
    shortfall: str | None = None
    # The same in the user's units
    samples: list[NewSample] = field(default_factory=list)
    models: StepModels | None = None  # of a search step
