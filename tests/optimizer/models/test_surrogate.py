import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.surrogate import Surrogate, product_of_experts

POSITIVE = st.floats(1e-6, 1e6)


def combine(*values: float) -> tuple[float, float]:
    mean, variance = product_of_experts(*(np.array([value]) for value in values))
    return float(mean[0]), float(variance[0])


def test_weights_computed_by_hand() -> None:
    """v_a = 1, v_b = 3: mu = (3 * 10 + 1 * 20) / 4 = 12.5, v = 3 / 4."""
    assert combine(10.0, 1.0, 20.0, 3.0) == (12.5, 0.75)


@given(st.floats(-1e3, 1e3), POSITIVE, st.floats(-1e3, 1e3), POSITIVE)
def test_it_is_the_product_of_two_normal_densities(
    mu_a: float, v_a: float, mu_b: float, v_b: float
) -> None:
    precision = 1 / v_a + 1 / v_b
    mean, variance = combine(mu_a, v_a, mu_b, v_b)
    assert_allclose(variance, 1 / precision, rtol=1e-9)
    assert_allclose(
        mean,
        (mu_a / v_a + mu_b / v_b) / precision,
        rtol=1e-9,
        atol=1e-9 * (abs(mu_a) + abs(mu_b)) + 1e-300,  # denormal numbers are coarse
    )
    assert_allclose(
        combine(mu_b, v_b, mu_a, v_a),
        (mean, variance),
        rtol=1e-9,
        atol=1e-9 * (abs(mu_a) + abs(mu_b)) + 1e-300,  # denormal numbers are coarse
    )


def test_a_member_that_is_sure_decides_and_two_that_are_sure_meet_in_the_middle() -> (
    None
):
    assert combine(10.0, 0.0, 20.0, 3.0) == (10.0, 0.0)
    assert combine(10.0, 1.0, 20.0, 0.0) == (20.0, 0.0)
    assert combine(10.0, 0.0, 20.0, 0.0) == (15.0, 0.0)


def test_a_surrogate_uses_what_it_has() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.random((12, 2)), rng.random((5, 2))
    a, b = Kriging().fit(X, X.sum(axis=1)), Kriging().fit(X[:8], np.sin(3 * X[:8, 0]))
    mean_a, std_a = a.mean_and_std(Y)
    mean_b, std_b = b.mean_and_std(Y)

    assert_array_equal(Surrogate(a).mean(Y), a.mean(Y))
    assert_allclose(Surrogate(a).mean_and_variance(Y), (mean_a, std_a**2))
    assert_allclose(Surrogate(frozen=b).mean_and_variance(Y), (mean_b, std_b**2))
    assert_allclose(
        Surrogate(a, b).mean_and_variance(Y),
        product_of_experts(mean_a, std_a**2, mean_b, std_b**2),
    )
    assert_allclose(Surrogate(a, b).mean(Y), Surrogate(a, b).mean_and_variance(Y)[0])
    assert_array_equal(
        Surrogate(a, truth=lambda X: X[:, 0]).mean_and_variance(Y),
        (Y[:, 0], np.zeros(5)),
    )
    assert_array_equal(Surrogate().mean_and_variance(Y), (np.zeros(5), np.ones(5)))
