"""What strategies need of a model of one objective."""

from typing import Protocol

from app.optimizer.arrays import Floats


class Predictor(Protocol):
    def mean(self, X: Floats) -> Floats:
        """(N,)"""

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of a value told at each row, (N,) and (N,)."""
