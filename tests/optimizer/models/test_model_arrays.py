"""Models as bytes: they predict as before."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from app.optimizer.models.evidence.hyperparameters import (
    Hyperparameters,
    Structure,
    make_prior,
    own_groups,
)
from app.optimizer.models.evidence.posterior import condition
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.model_arrays import pack, unpack
from app.optimizer.models.surrogate import Surrogate


@pytest.fixture
def model() -> Kriging:
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    return Kriging().fit(X, 1e3 * np.sin(3.0 * X[:, 0]) + X[:, 1])


def test_unpacked_models_predict_the_same(model: Kriging) -> None:
    rng = np.random.default_rng(2)
    frozen = Kriging().fit(rng.random((20, 2)), rng.random(20))
    believing = model.believe(rng.random((3, 2)))
    before = [
        Surrogate(model),
        Surrogate(believing, frozen),
        Surrogate(None, frozen),
        Surrogate(),
    ]
    after = unpack(pack(before))
    points = rng.random((50, 2))
    assert len(after) == len(before)
    for surrogate, unpacked in zip(before, after, strict=True):
        assert_allclose(
            unpacked.mean_and_variance(points),
            surrogate.mean_and_variance(points),
            rtol=1e-9,
            atol=1e-12,
        )
    assert (after[0].frozen, after[2].model) == (None, None)


@pytest.mark.parametrize("structure", Structure)
def test_unpacked_posteriors_predict_the_same(structure: Structure) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((25, 2))
    prior = make_prior(structure, 2)
    hyperparameters = Hyperparameters(structure, tuple(prior.mean.tolist()))
    y = 1e3 * np.sin(3.0 * X[:, 0]) + X[:, 1]
    posterior = condition(hyperparameters.with_eta(1e-4), X, y, own_groups(2)).believe(
        rng.random((2, 2))
    )
    (unpacked,) = unpack(pack([Surrogate(posterior)]))
    points = rng.random((50, 2))
    mean, variance = unpacked.mean_and_variance(points)
    assert_allclose(mean, posterior.mean(points), rtol=1e-9)
    assert_allclose(np.sqrt(variance), posterior.mean_and_std(points)[1], rtol=1e-6)


def test_what_is_kept_grows_with_the_data_and_not_with_its_square(
    model: Kriging,
) -> None:
    size = len(pack([Surrogate(model)]))
    assert size < 30 * (2 + 1) * 8 + 4000


def test_nothing_is_executed_when_it_is_read() -> None:
    file = pack([])
    assert unpack(file) == []
    with pytest.raises((ValueError, OSError)):
        unpack(b"\x80\x04}\x94.")  # a pickle
