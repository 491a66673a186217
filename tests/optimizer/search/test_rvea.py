from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pymoo.algorithms.moo.rvea import APDSurvival, calc_gamma
from pymoo.core.population import Population

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Variable
from app.optimizer.search import rvea
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import adapt, evolve, offspring, select, separation

AXES = np.eye(2)


def test_selection_computed_by_hand() -> None:
    """Row 4 is nearest to the first axis, row 2 to the second; the ideal point is (0,
    0), from rows 2 and 4.
    """
    F = np.array([[3.0, 3.1], [5.0, 1.0], [0.0, 2.0], [1.0, 4.0], [4.0, 0.0]])
    assert_array_equal(select(F, AXES, 0.0), [4, 2])
    # Rows 0, 2 and 3 belong to the second axis: |f'| = 4.314, 2 and 4.123. With row 2
    # further out, distance decides …
    F[2] = [0.0, 4.4]
    assert_array_equal(select(F, AXES, 0.0), [4, 3])
    # … and at theta = 1 the angle does: APD = (1 + 2 angle / (pi / 2)) |f'| is 4.4 for
    # row 2 and 5.41 for row 3.
    assert_array_equal(select(F, AXES, 1.0), [4, 2])


@pytest.mark.parametrize("m", [3, 5, 10])
@pytest.mark.parametrize("generation", [1, 10, 20])
def test_selection_is_pymoos(m: int, generation: int) -> None:
    """They agree for m > 2; at m = 2 pymoo drops the factor m."""
    F = (
        np.random.default_rng(m * generation).random((120, m)) * np.arange(1, m + 1)
        + 2.0
    )
    V0 = reference_vectors(m)
    pymoo = APDSurvival(V0)
    population = Population.new(F=F, index=np.arange(120))
    survivors = pymoo._do(
        SimpleNamespace(n_obj=m), population, None, n_gen=generation, n_max_gen=20
    )
    assert_array_equal(select(F, V0, (generation / 20) ** 2), survivors.get("index"))


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.0, 1.0))
def test_permuting_rows_permutes_the_selection(seed: int, n: int, theta: float) -> None:
    rng = np.random.default_rng(seed)
    F, V = rng.random((n, 3)), reference_vectors(3)
    order = rng.permutation(n)
    assert_array_equal(order[select(F[order], V, theta)], select(F, V, theta))


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_no_vector_has_two_survivors_and_none_beats_its_own(
    seed: int, theta: float
) -> None:
    F = np.random.default_rng(seed).random((50, 3))
    V = reference_vectors(3)
    moved = F - F.min(axis=0)
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    # The ideal point has no angle
    angles = np.arccos(np.clip(moved @ V.T / np.maximum(length, 1e-300), -1.0, 1.0))
    penalised = (1.0 + 3.0 * theta * angles / separation(V)) * length
    best: dict[int, int] = {}
    for row, vector in enumerate(angles.argmin(axis=1).tolist()):
        if (
            vector not in best
            or penalised[row, vector] < penalised[best[vector], vector]
        ):
            best[vector] = row
    assert_array_equal(select(F, V, theta), [best[vector] for vector in sorted(best)])


def test_equal_and_single_rows_are_selected_once() -> None:
    assert_array_equal(select(np.ones((4, 3)), reference_vectors(3), 0.5), [0])
    assert_array_equal(select(np.ones((1, 3)), reference_vectors(3), 1.0), [0])


def test_separation_is_the_angle_to_the_nearest_other_vector() -> None:
    V = reference_vectors(3)
    assert_allclose(separation(V), calc_gamma(V), atol=1e-9)
    assert_allclose(separation(AXES), np.pi / 2)


def test_adapted_vectors_computed_by_hand() -> None:
    V = adapt(np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([4.0, 3.0]))
    assert_allclose(V, [[2**-0.5, 2**-0.5], [1.0, 0.0]])


@pytest.mark.parametrize(
    "spread", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-300]]
)
def test_an_objective_without_range_leaves_usable_vectors(spread: list[float]) -> None:
    V = adapt(reference_vectors(3), np.array(spread))
    assert_allclose(np.linalg.norm(V, axis=1), 1.0)
    assert (separation(V) > 0.0).all()


FLOATS = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(4))


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_one_child_per_individual(n: int) -> None:
    X = np.random.default_rng(n).random((n, 4))
    assert offspring(FLOATS, X, np.random.default_rng(0)).shape == (n, 4)


def sphere_front(X: Floats) -> Floats:
    """DTLZ2 with two objectives: the front is the unit circle, where x_1 … x_3 = 0.5."""
    g = ((X[:, 1:] - 0.5) ** 2).sum(axis=1)
    return np.stack(
        [(1 + g) * np.cos(X[:, 0] * np.pi / 2), (1 + g) * np.sin(X[:, 0] * np.pi / 2)],
        axis=1,
    )


def test_evolution_approaches_the_front_and_predicts_only_offspring() -> None:
    predicted = []

    def predict(X: Floats) -> Floats:
        predicted.append(len(X))
        return sphere_front(X)

    V0 = reference_vectors(2)
    start = np.random.default_rng(1).random((60, 4))
    X, F = evolve(FLOATS, predict, start, V0, V0, 60, np.random.default_rng(2))
    assert_allclose(F, sphere_front(X))
    assert len(predicted) == 61
    assert max(predicted) <= 100
    assert np.linalg.norm(F, axis=1).mean() < 1.01
    assert np.linalg.norm(sphere_front(start), axis=1).mean() > 1.2
    assert len(F) > 40  # spread along the front


def test_the_weight_of_the_angle_grows_with_the_square_of_the_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights: list[float] = []

    def select_and_note(
        F: Floats, V: Floats, theta: float, violation: Floats | None = None
    ) -> Ints:
        weights.append(theta)
        return select(F, V, theta, violation)

    monkeypatch.setattr(rvea, "select", select_and_note)
    V0 = reference_vectors(2)
    evolve(
        FLOATS,
        sphere_front,
        np.random.default_rng(5).random((9, 4)),
        V0,
        V0,
        4,
        np.random.default_rng(6),
    )
    assert weights == [1 / 16, 4 / 16, 9 / 16, 1.0]


def test_vectors_are_adapted_after_a_tenth_of_the_generations() -> None:
    """With the same start, the two runs must part only after generation ceil(0.1
    w_max).
    """
    V0 = reference_vectors(2)
    adapted = adapt(V0, np.array([1.0, 50.0]))
    start = np.random.default_rng(3).random((60, 4))

    def calls(V: Floats) -> list[Floats]:
        seen: list[Floats] = []

        def predict(X: Floats) -> Floats:
            seen.append(X)
            return sphere_front(X)

        evolve(FLOATS, predict, start, V0, V, 20, np.random.default_rng(4))
        return seen

    same = [
        np.array_equal(a, b) for a, b in zip(calls(V0), calls(adapted), strict=True)
    ]
    # The children of generations 1 to 3 are bred before the first selection with
    # adapted vectors, that of generation 3.
    assert same[:4] == [True] * 4
    assert not same[4]
