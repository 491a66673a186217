"""What stands in for an objective: one model, two models weighed by their confidence, or the truth.

| symbol       | here          | meaning                                                  |
|--------------|---------------|----------------------------------------------------------|
| GP_i         | `model`       | fitted anew at every step                                |
| GP_j^c'      | `frozen`      | fitted once, on what the stream of cheap objective j told |
| mu, v        | results       | predictive mean and variance                             |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging import Kriging

Truth = Callable[[Floats], Floats]  # (n, d) -> (n,)


def product_of_experts(mu_a: Floats, v_a: Floats, mu_b: Floats, v_b: Floats) -> tuple[Floats, Floats]:
    """[SBP-BO] Eq. (4), the weights being each other's share of the variance."""
    # Differs from [SBP-BO]: it prints sigma in Eq. (4) and calls the same sigma a variance above Eq. (2); a product of
    # Gaussian experts weighs by variances, and has a variance of its own, which the paper does not give.
    total = v_a + v_b
    certain = total <= 0.0  # both sure: halve, rather than divide by zero
    share = np.where(certain, 0.5, v_b / np.where(certain, 1.0, total))
    return share * mu_a + (1.0 - share) * mu_b, share * v_a


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Predicts one objective; with nothing known about it, the same for every point."""

    model: Kriging | None = None
    frozen: Kriging | None = None
    truth: Truth | None = None

    def mean(self, X: Floats) -> Floats:
        """(n,); without the variance unless the ensemble needs it."""
        if self.truth is None and self.model is not None and self.frozen is None:
            return self.model.mean(X)
        return self.mean_and_variance(X)[0]

    def mean_and_variance(self, X: Floats) -> tuple[Floats, Floats]:
        """(n,), (n,)"""
        if self.truth is not None:
            return np.asarray(self.truth(X)), np.zeros(len(X))
        members = [_predict(member, X) for member in (self.model, self.frozen) if member is not None]
        if not members:
            return np.zeros(len(X)), np.ones(len(X))
        if len(members) == 1:
            return members[0]
        return product_of_experts(*members[0], *members[1])


def _predict(member: Kriging, X: Floats) -> tuple[Floats, Floats]:
    mean, std = member.mean_and_std(X)
    return mean, std**2
