"""Evaluations against pymoo, reference sets against the counts and values that the
protocol states.
"""

import moocore
import numpy as np
import pytest
from pymoo.problems.many import dtlz as pymoo_dtlz
from pymoo.problems.many import wfg as pymoo_wfg
from scipy.stats import qmc

from benchmarks.problems.catalogue import NAMES, problem, reference_front
from benchmarks.problems.fronts import lattice

SIZES = (3, 5, 10)


def _pymoo(
    name: str, m: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[object, np.ndarray]:
    if name.startswith("dtlz"):
        return getattr(pymoo_dtlz, name.upper())(n_var=d, n_obj=m), np.ones(d)
    cls = getattr(pymoo_wfg, name.upper())
    # It refuses K < 4, and an odd L
    monkeypatch.setattr(cls, "validate", lambda *_: None)
    return cls(n_var=d, n_obj=m, k=m - 1), 2.0 * np.arange(1, d + 1)


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_evaluations_agree_with_pymoo(
    name: str, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = problem(name, m)
    X = np.random.default_rng(m).random((200, ours.d))
    theirs, width = _pymoo(name, m, ours.d, monkeypatch)
    expected = theirs.evaluate(X * width)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours.evaluate(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_corners_of_the_cube_are_finite(name: str) -> None:
    ours = problem(name, 3)
    X = np.vstack(
        [np.zeros(ours.d), np.ones(ours.d), np.full(ours.d, 0.35), np.full(ours.d, 0.5)]
    )
    assert np.isfinite(ours.evaluate(X)).all()


SIMPLEX = (9870, 8855, 7007)
CURVE = (10000, 10000, 10000)
COUNTS = dict.fromkeys(NAMES, SIMPLEX) | {
    "dtlz5": CURVE,
    "dtlz6": CURVE,
    "wfg3": CURVE,
    "dtlz7": (10000, 10000, 19683),
    "wfg2": (7425, 7932, 7007),
}


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_reference_sets_have_the_stated_number_of_points(name: str, m: int) -> None:
    R = reference_front(name, m)
    assert R.shape == (COUNTS[name][SIZES.index(m)], m)
    assert np.isfinite(R).all()
    assert R.min() > -1e-12


OPTIMUM = dict.fromkeys(("dtlz1", "dtlz2", "dtlz3", "dtlz4", "dtlz5"), 0.5) | {
    "dtlz6": 0.0,
    "dtlz7": 0.0,
}


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("wfg8", "wfg9")]
)  # theirs depend on position
def test_reference_sets_lie_on_the_front(name: str) -> None:
    """Where the distance variables are optimal, points neither undercut the set nor are
    far from it.
    """
    ours = problem(name, 3)
    X = np.random.default_rng(0).random((2000, ours.d))
    X[:, 2:] = OPTIMUM.get(name, 0.35)
    F, R = ours.evaluate(X), reference_front(name, 3)
    F = F[moocore.is_nondominated(F)][:100]
    width = np.ptp(R, axis=0).max()
    assert max((R - f).min(axis=1).max() for f in F) < 0.005 * width
    gaps = [np.abs(R - f).max(axis=1).min() for f in F]
    # Not all: where the front has holes, 2000 points leave dominated ones
    assert np.quantile(gaps, 0.8) < 0.02 * width


def test_the_lattice_is_the_simplex_without_zeros() -> None:
    for m in SIZES:
        W = lattice(m)
        np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-5)
        assert W.min() == pytest.approx(1e-6)
        assert len(np.unique(W, axis=0)) == len(W)


LATIN = {  # mean and standard deviation of 10 Latin hypercubes, for m = 3, 5, 10
    "dtlz1": ((143, 19), (71, 15), (0.61, 0.23)),
    "dtlz2": ((0.394, 0.021), (0.446, 0.024), (0.458, 0.015)),
    "wfg4": ((0.73, 0.09), (2.36, 0.26), (8.96, 0.53)),
}


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("name", LATIN)
def test_latin_hypercubes_score_what_the_protocol_states(name: str, m: int) -> None:
    ours = problem(name, m)
    scores = [
        ours.igd_plus(
            ours.evaluate(qmc.LatinHypercube(ours.d, rng=seed).random(ours.n))
        )
        for seed in range(10)
    ]
    mean, std = LATIN[name][SIZES.index(m)]
    # Two means of ten: 3 standard errors are 0.95 std
    assert np.mean(scores) == pytest.approx(mean, abs=std)


def test_igd_plus_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "benchmarks.problems.catalogue.reference_front",
        lambda *_: np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    )
    F = np.array([[0.5, 0.0, 0.0], [0.6, 0.1, 0.0]])  # the second is dominated
    assert problem("dtlz2", 3).igd_plus(F) == pytest.approx((0.5 + 0.0) / 2)


def test_wfg2_and_wfg3_have_eleven_variables_at_ten_objectives() -> None:
    assert [problem("wfg2", m).d for m in SIZES] == [10, 10, 11]
    assert [problem("wfg3", m).n for m in SIZES] == [109, 109, 120]
    assert problem("wfg4", 10).d == 10


def test_an_unknown_problem_is_named() -> None:
    with pytest.raises(ValueError, match="no problem 'zdt9'; there are dtlz1"):
        problem("zdt9", 3)


@pytest.mark.parametrize("name", ["wfg1", "wfg2"])
def test_fronts_of_two_objectives_are_fronts(name: str) -> None:
    front = reference_front(name, 2)
    assert front.shape[1] == 2
    assert np.isfinite(front).all()
    assert len(front) > 100
