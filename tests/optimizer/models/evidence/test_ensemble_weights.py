"""The ensemble of models by evidence: the pool by hand, and the weight that a frozen
member earns.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.frozen_weight import frozen_weight
from app.optimizer.models.evidence.hyperparameters import Structure
from app.optimizer.models.evidence.objective_fit import FrozenTask, fit_stream
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.surrogate import Surrogate, logarithmic_pool
from app.optimizer.snapshot import Data


def values(X: Floats) -> Floats:
    return np.asarray(np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2)


def model(X: Floats, y: Floats) -> Posterior:
    return fit(Structure.MATERN, X, y, np.random.default_rng(0))


def test_the_pool_computed_by_hand() -> None:
    """Precisions 0.75 / 1 and 0.25 / 3: v = 1 / (10/12) = 1.2, mu = 1.2 (7.5 + 5/3)."""
    one = np.ones(1)
    mu, v = logarithmic_pool(10.0 * one, one, 20.0 * one, 3.0 * one, 0.25)
    assert_allclose((mu[0], v[0]), (11.0, 1.2))


@pytest.mark.parametrize(("weight", "member"), [(0.0, 0), (1.0, 1)])
def test_at_the_ends_one_member_predicts_alone(weight: float, member: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((20, 2))
    members = (model(X, values(X)), model(X, values(X) ** 2))
    pooled = Surrogate(*members, weight=weight)
    points = rng.random((5, 2))
    mean, std = members[member].mean_and_std(points)
    assert_allclose(pooled.mean(points), mean, rtol=1e-10)
    assert_allclose(pooled.mean_and_variance(points)[1], std**2, rtol=1e-10)


def test_a_frozen_member_that_predicts_better_earns_weight() -> None:
    rng = np.random.default_rng(2)
    X, S = rng.random((8, 2)), rng.random((80, 2))
    fresh = model(X, values(X))
    assert frozen_weight(fresh, len(X), model(S, values(S))) > 0.5


def test_a_frozen_member_of_another_function_earns_nothing() -> None:
    rng = np.random.default_rng(3)
    X, S = rng.random((40, 2)), rng.random((80, 2))
    fresh = model(X, values(X))
    assert frozen_weight(fresh, len(X), model(S, np.cos(9.0 * S[:, 1]))) == 0.0


def test_a_frozen_member_is_judged_without_its_own_values() -> None:
    """Noise cannot be predicted; with its own values the member would seem perfect."""
    rng = np.random.default_rng(4)
    X = rng.random((40, 2))
    noise = rng.normal(size=40)
    fresh = model(X, values(X) + 0.01 * noise)
    assert frozen_weight(fresh, len(X), model(X, values(X) + noise)) == 0.0


def test_a_member_that_saw_one_value_has_no_weight() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((20, 2))
    varied, constant = model(X, values(X)), model(X, np.full(20, 3.0))
    assert frozen_weight(varied, len(X), constant) == 0.0
    assert frozen_weight(constant, len(X), varied) == 1.0


def test_the_frozen_model_is_the_same_from_its_record() -> None:
    rng = np.random.default_rng(6)
    S = rng.random((300, 3))
    data = Data(S, values(S))
    first = fit_stream(FrozenTask(data, None, (0, 1, 2)))
    record = first.hyperparameters.as_json()
    again = fit_stream(FrozenTask(data, record, (0, 1, 2)))
    points = rng.random((9, 3))
    assert_array_equal(first.mean(points), again.mean(points))
    assert_array_equal(first.mean_and_std(points)[1], again.mean_and_std(points)[1])
    assert again.evaluations == 0
