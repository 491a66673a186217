"""What a search step stores for predictions."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StepModels:
    arrays: bytes  # `optimizer.models.model_arrays`
    # The predicted front: x in the user's units; mean and deviation by objective,
    # minimised
    front: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PredictingStep:
    """The step whose models a study has, and its predicted front."""

    step: int
    number: int
    front: list[dict[str, Any]]
