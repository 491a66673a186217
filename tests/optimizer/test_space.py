import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.problem import Variable
from app.optimizer.space import decode, encode, snap

FLOAT, LOG = Variable("x", -2.0, 6.0), Variable("y", 1e-3, 10.0, scale="log")
INT, LOG_INT = Variable("k", 3, 6, "int"), Variable("n", 1, 8, "int", "log")


def test_codes_computed_by_hand() -> None:
    X = np.array([[-2.0, 1e-3, 3.0], [0.0, 0.1, 4.0], [6.0, 10.0, 6.0]])
    U = np.array([[0.0, 0.0, 0.125], [0.25, 0.5, 0.375], [1.0, 1.0, 0.875]])
    assert_allclose(encode((FLOAT, LOG, INT), X), U, atol=1e-15)
    assert_allclose(decode((FLOAT, LOG, INT), U), X, rtol=1e-12)


def test_integers_are_floor_of_equal_bins() -> None:
    u = np.linspace(0.0, 1.0, 1001)[:, None]
    expected = 3 + np.minimum(np.floor(u * 4), 3)  # k = low + floor(u (high - low + 1))
    assert_array_equal(decode((INT,), u), expected)


def test_log_integers_keep_every_level_and_give_small_ones_more_room() -> None:
    u = np.linspace(0.0, 1.0, 10001)[:, None]
    levels, counts = np.unique(decode((LOG_INT,), u), return_counts=True)
    assert_array_equal(levels, np.arange(1, 9))
    assert (np.diff(counts) < 0).all()


NARROW = [
    Variable("five", 1.0, 1.0 + 4 * 2**-52),
    Variable("two", 0.0, 5e-324),
    Variable("far", 1e10, 1e10 + 1.0),
    Variable("log", 1.0, 1.0 + 1e-12, scale="log"),
    Variable("denormal", 5e-324, 5e-323, scale="log"),
]


@pytest.mark.parametrize("variable", NARROW, ids=lambda variable: variable.name)
def test_in_a_narrow_range_the_same_number_is_the_same_point(
    variable: Variable,
) -> None:
    """Else a point could be proposed again under another code: points 1e-6 apart in the
    cube count as new.
    """
    assert variable.coarse
    U = snap((variable,), np.random.default_rng(0).random((2000, 1)))
    X = decode((variable,), U)
    assert len(np.unique(U)) == len(np.unique(X)) > 1
    assert_array_equal(snap((variable,), U), U)
    assert_array_equal(encode((variable,), X), U)


@pytest.mark.parametrize(
    "variable",
    [
        FLOAT,
        LOG,
        Variable("near", 1e9, 1e9 + 0.5),
        Variable("wide", 1e-300, 1e300, scale="log"),
    ],
    ids=lambda variable: variable.name,
)
def test_in_a_range_with_numbers_enough_every_point_is_its_own(
    variable: Variable,
) -> None:
    assert not variable.coarse
    U = np.arange(1000)[:, None] * 1.1e-6 + np.array([[0.0], [0.5], [0.9988]]).T
    for column in U.T:
        assert_array_equal(snap((variable,), column[:, None]), column[:, None])
        assert len(np.unique(decode((variable,), column[:, None]))) == 1000


@pytest.mark.parametrize(
    "variable",
    [
        INT,
        LOG_INT,
        Variable("big", -(10**9), 10**9, "int"),
        Variable("two", 0, 1, "int"),
    ],
)
@given(u=st.floats(0.0, 1.0))
def test_an_integers_code_survives_the_way_to_the_user_and_back(
    variable: Variable, u: float
) -> None:
    U = snap((variable,), np.array([[u]]))
    X = decode((variable,), U)
    assert X[0, 0] == round(X[0, 0])
    assert variable.low <= X[0, 0] <= variable.high
    assert_array_equal(encode((variable,), X), U)
    assert_array_equal(snap((variable,), U), U)


@given(st.floats(-2.0, 6.0), st.floats(1e-3, 10.0))
def test_floats_survive_the_way_there_and_back_within_bounds(
    x: float, y: float
) -> None:
    back = decode((FLOAT, LOG), encode((FLOAT, LOG), np.array([[x, y]])))
    assert_allclose(back, [[x, y]], rtol=1e-12, atol=1e-12)
    assert FLOAT.low <= back[0, 0] <= FLOAT.high
    assert LOG.low <= back[0, 1] <= LOG.high


@given(st.lists(st.floats(-3.0, 4.0), min_size=4, max_size=4))
def test_snap_ends_inside_the_cube(u: list[float]) -> None:
    U = snap((FLOAT, LOG, INT, LOG_INT), np.array([u]))
    assert ((U >= 0.0) & (U <= 1.0)).all()
    assert U[0, 2] in (0.125, 0.375, 0.625, 0.875)
