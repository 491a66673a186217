"""Problems with two objectives: ZDT against pymoo, UF against values by hand and their
own fronts.
"""

import moocore
import numpy as np
import pytest
from numpy.typing import NDArray
from pymoo.problems.many import dtlz as pymoo_dtlz
from pymoo.problems.multi import zdt as pymoo_zdt

from benchmarks.problems.catalogue import (
    BI_OBJECTIVE,
    bi_objective,
    problem,
    reference_front,
)
from benchmarks.problems.uf import UF
from benchmarks.problems.zdt import ZDT

Array = NDArray[np.float64]


@pytest.mark.parametrize("name", ZDT)
def test_zdt_agrees_with_pymoo(name: str) -> None:
    ours = problem(name, 2)
    theirs = getattr(pymoo_zdt, name.upper())(n_var=ours.d)
    X = np.random.default_rng(0).random((100, ours.d))
    expected = theirs.evaluate(theirs.xl + X * (theirs.xu - theirs.xl))
    np.testing.assert_allclose(ours.evaluate(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["dtlz1", "dtlz2", "dtlz3", "dtlz5", "dtlz6", "dtlz7"])
def test_dtlz_with_two_objectives_agrees_with_pymoo(name: str) -> None:
    ours = bi_objective(name)
    theirs = getattr(pymoo_dtlz, name.upper())(n_var=ours.d, n_obj=2)
    X = np.random.default_rng(0).random((100, ours.d))
    np.testing.assert_allclose(ours.evaluate(X), theirs.evaluate(X), rtol=1e-9)


@pytest.mark.parametrize("name", [*(f"zdt{i}" for i in (1, 2, 4, 6)), "dtlz2"])
def test_reference_curves_lie_on_pymoo_fronts(name: str) -> None:
    front = (
        pymoo_dtlz.DTLZ2(n_var=11, n_obj=2).pareto_front(
            np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
        )
        if name == "dtlz2"
        else getattr(pymoo_zdt, name.upper())().pareto_front()
    )
    assert moocore.igd(reference_front(name, 2), ref=front) < 2e-4


def test_reference_curve_of_zdt3_has_five_pieces() -> None:
    R = reference_front("zdt3", 2)
    assert np.count_nonzero(np.diff(np.sort(R[:, 0])) > 0.01) == 4
    theirs = pymoo_zdt.ZDT3().pareto_front(n_points=500)
    assert moocore.igd(R, ref=theirs) < 1e-3


def test_variants_of_dtlz_have_a_tenth_of_the_waves() -> None:
    """At distance 0.5 in one variable cos(20 pi / 2) = 1, cos(2 pi / 2) = -1."""
    X = np.full((1, 6), 0.5)
    X[0, 5] = 1.0
    g, less = 100 * 0.25, 100 * (0.25 + 2.0)
    assert problem("dtlz1", 2, d=6).evaluate(X)[0] == pytest.approx(
        [(1 + g) / 4, (1 + g) / 4]
    )
    assert problem("dtlz1a", 2, d=6).evaluate(X)[0] == pytest.approx(
        [(1 + less) / 4, (1 + less) / 4]
    )
    assert problem("dtlz3a", 2, d=6).evaluate(X)[0] == pytest.approx(
        (1 + less) * np.sqrt([0.5, 0.5])
    )


def _optimal(name: str, d: int, x: Array) -> Array:
    """Points of the unit cube on the Pareto set at x_1 = x (n,)."""
    j = np.arange(2, d + 1)
    a = x[:, None]
    phase = 6 * np.pi * a + j * np.pi / d
    if name == "uf2":
        wave = 0.3 * a**2 * np.cos(24 * np.pi * a + 4 * j * np.pi / d) + 0.6 * a
        Z = wave * np.where(j % 2 == 1, np.cos(phase), np.sin(phase))
    elif name == "uf3":
        Z = a ** (0.5 * (1 + 3 * (j - 2) / (d - 2)))
    else:
        Z = np.sin(phase)
    low, high = {"uf3": (0, 1), "uf4": (-2, 2)}.get(name, (-1, 1))
    return np.column_stack([x, (Z - low) / (high - low)])


@pytest.mark.parametrize("name", UF)
def test_pareto_sets_of_uf_give_the_reference_curves(name: str) -> None:
    ours = bi_objective(name)
    power = 5 if name == "uf7" else 1  # its f_1 is the fifth root of x_1
    x = np.linspace(0.0, 1.0, 2001) ** power
    F = ours.evaluate(_optimal(name, ours.d, x))
    R = reference_front(name, 2)
    front = F[moocore.is_nondominated(F)]
    assert moocore.igd(R, ref=front) < 1e-3
    assert moocore.igd(front, ref=R) < 2e-2
    # No point of the cube is below the curve
    X = np.random.default_rng(1).random((2000, ours.d))
    assert (R[:, None] > ours.evaluate(X)[None] + 1e-12).all(axis=2).sum() == 0


def test_values_of_uf_by_hand() -> None:
    """d = 3, x = (0, 0, 0): J_1 = {3} with sin(pi) = 0, J_2 = {2} with y = -sin(2 pi/3)."""
    y = -np.sqrt(0.75)
    centre = np.array([[0.0, 0.5, 0.5]])
    h = np.sqrt(0.75) / (1 + np.exp(2 * np.sqrt(0.75)))
    rugged = 4 * 0.75 - 2 * np.cos(20 * np.pi * y / np.sqrt(2)) + 2
    expected = {
        "uf1": [0.0, 1 + 2 * 0.75],
        "uf2": [0.0, 1.0],
        "uf4": [0.0, 1 + 2 * h],
        "uf5": [0.0, 1 + 2 * (1.5 - np.cos(4 * np.pi * y) + 1)],
        "uf6": [0.0, 1 + 2 * rugged],
        "uf7": [0.0, 1 + 2 * 0.75],
    }
    for name, values in expected.items():
        F = problem(name, 2, d=3).evaluate(centre)
        assert F[0] == pytest.approx(values, abs=1e-12), name
    # x = (0.25, 0.5, 0.125): exponents 0.5 and 2, so y = 0 and 0.125 - 0.0625
    wave = np.cos(20 * np.pi * 0.0625 / np.sqrt(3))
    F = problem("uf3", 2, d=3).evaluate(np.array([[0.25, 0.5, 0.125]]))
    first = 0.25 + 2 * (4 * 0.0625**2 - 2 * wave + 2)
    assert F[0] == pytest.approx([first, 0.5])


def test_sizes_of_the_bi_objective_table() -> None:
    assert {bi_objective(name).n for name in BI_OBJECTIVE} == {100}
    assert len(BI_OBJECTIVE) == 16
    sizes = [bi_objective(name).d for name in ("dtlz1a", "dtlz3a", "dtlz7", "uf3")]
    assert sizes == [6, 11, 21, 30]


def test_two_objective_problems_refuse_three() -> None:
    with pytest.raises(ValueError, match="uf1 has 2 objectives, not 3"):
        problem("uf1", 3)
    with pytest.raises(ValueError, match="no problem 'zdt1'; there are dtlz1"):
        bi_objective("zdt1")


def test_igd_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "benchmarks.problems.catalogue.reference_front",
        lambda *_: np.array([[0.0, 1.0], [1.0, 0.0]]),
    )
    # The second row is dominated; the first is 0.5 and sqrt(0.25 + 1) away
    F = np.array([[0.5, 1.0], [0.6, 1.1]])
    expected = (0.5 + np.sqrt(0.25 + 1.0)) / 2
    assert problem("zdt1", 2).igd(F) == pytest.approx(expected)
