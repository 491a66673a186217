"""The predictor of one objective: one model, two models weighted by their confidence,
or the truth.

| symbol       | here          | meaning                                                          |
|--------------|---------------|------------------------------------------------------------------|
| GP_i         | `model`       | fitted at every step                                             |
| GP_j^c'      | `frozen`      | fitted once, to the values of the stream of cheap objective j    |
| mu, v        | results       | predictive mean and variance                                     |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.predictor import Predictor

LEAST_VARIANCE = np.finfo(float).tiny

Truth = Callable[[Floats], Floats]  # (n, d) -> (n,)


def product_of_experts(
    mu_a: Floats, v_a: Floats, mu_b: Floats, v_b: Floats
) -> tuple[Floats, Floats]:
    """Each expert is weighted by the other one's share of the variance.

    See [SBP-BO] Eq. (4).
    """
    # Differs from [SBP-BO]: it prints sigma in Eq. (4) and calls the same sigma a
    # variance above Eq. (2); a product of Gaussian experts has weights by variances,
    # and a variance of its own, which the paper does not give.
    total = v_a + v_b
    # Both variances are 0: equal weights instead of a division by zero
    certain = total <= 0.0
    share = np.where(certain, 0.5, v_b / np.where(certain, 1.0, total))
    mu = share * mu_a + (1.0 - share) * mu_b
    return mu, share * v_a


def logarithmic_pool(
    mu_a: Floats, v_a: Floats, mu_b: Floats, v_b: Floats, weight: float
) -> tuple[Floats, Floats]:
    """The normalised product of the densities to the powers 1 - weight and weight."""
    # Differs from [SBP-BO]: the product of experts counts what both members learnt
    # twice, and trusts a member that is sure and wrong.
    precision_a = (1.0 - weight) / np.maximum(v_a, LEAST_VARIANCE)
    precision_b = weight / np.maximum(v_b, LEAST_VARIANCE)
    v = 1.0 / (precision_a + precision_b)
    return v * (precision_a * mu_a + precision_b * mu_b), v


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Predicts one objective; without any data, the same for every point."""

    model: Predictor | None = None
    frozen: Predictor | None = None
    truth: Truth | None = None
    # The frozen member's weight in a logarithmic pool; None: a product of experts
    weight: float | None = None

    def mean(self, X: Floats) -> Floats:
        """(n,); computes the variance only if the ensemble needs it."""
        if self.truth is None and self.model is not None and not self._is_pair:
            return self.model.mean(X)
        return self.mean_and_variance(X)[0]

    def mean_and_variance(self, X: Floats) -> tuple[Floats, Floats]:
        """(n,), (n,)"""
        if self.truth is not None:
            return np.asarray(self.truth(X)), np.zeros(len(X))
        if self.model is not None and self.frozen is not None and self._is_pair:
            members = (*_predict(self.model, X), *_predict(self.frozen, X))
            if self.weight is not None:
                return logarithmic_pool(*members, self.weight)
            return product_of_experts(*members)
        member = self.model or self.frozen
        if member is None:
            return np.zeros(len(X)), np.ones(len(X))
        return _predict(member, X)

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        """(n,), (n,)"""
        mean, variance = self.mean_and_variance(X)
        return mean, np.sqrt(variance)

    @property
    def _is_pair(self) -> bool:
        """Whether both members count."""
        both = self.model is not None and self.frozen is not None
        return both and self.weight != 0.0


def _predict(member: Predictor, X: Floats) -> tuple[Floats, Floats]:
    mean, std = member.mean_and_std(X)
    return mean, std**2
