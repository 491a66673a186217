"""The model on x and the cheap values, and the record by which it is used."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from app.optimizer.arrays import Floats
from app.optimizer.snapshot import Forecasts
from app.optimizer.strategies.counterpoise.models.co_model import (
    CoModel,
    earned,
    errors,
)
from app.optimizer.strategies.counterpoise.settings import DEFAULTS


class Linear:
    """x_1 + 2 c_1 - 3 c_2, with deviation 0.5 everywhere."""

    def mean(self, X: Floats) -> Floats:
        return np.asarray(X @ np.array([1.0, 2.0, -3.0]))

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return self.mean(X), np.full(len(X), 0.5)


def test_uncertain_cheap_values_add_to_the_variance() -> None:
    X, C = np.array([[1.0], [1.0]]), np.array([[10.0, 1.0], [10.0, 1.0]])
    S = np.array([[0.0, 0.0], [0.1, 0.2]])
    mean, deviation = CoModel(Linear()).mean_and_std(X, C, S)
    assert_allclose(mean, [18.0, 18.0])
    assert_allclose(deviation, [0.5, np.sqrt(0.25 + 0.2**2 + 0.6**2)])


def record(plain: list[float], co: list[float]) -> Forecasts:
    return Forecasts(np.zeros(len(plain)), np.array(plain), np.array(co))


def test_errors_are_summed_over_the_newest_forecasts() -> None:
    forecasts = record([100.0] + [1.0] * 15, [0.0] + [-2.0] * 15)
    assert errors(forecasts, DEFAULTS) == (15.0, 30.0)


@pytest.mark.parametrize(("count", "used"), [(5, False), (6, True)])
def test_a_short_record_does_not_decide(count: int, used: bool) -> None:
    assert earned(record([1.0] * count, [0.5] * count), DEFAULTS) is used


def test_the_plain_model_is_used_unless_the_other_is_better() -> None:
    assert not earned(record([1.0] * 8, [1.0] * 8), DEFAULTS)
    assert not earned(record([1.0] * 8, [0.1] * 8), replace(DEFAULTS, co_model="never"))
