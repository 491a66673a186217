import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pymoo.util.ref_dirs import get_reference_directions

from app.optimizer.search.reference_vectors import (
    layers,
    reference_vectors,
    simplex,
    simplex_lattice,
)


def rows(A: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(row) for row in np.round(A, 12)}


@pytest.mark.parametrize(("m", "H"), [(2, 7), (3, 12), (5, 4), (10, 2)])
def test_one_layer_is_das_and_dennis_lattice(m: int, H: int) -> None:
    W = simplex(m, H)
    assert_allclose(W.sum(axis=1), 1.0)
    assert len(rows(W)) == len(W)
    assert rows(W) == rows(get_reference_directions("das-dennis", m, n_partitions=H))


def test_two_layers_are_das_and_dennis_with_the_inner_one_halved() -> None:
    outer = get_reference_directions("das-dennis", 5, n_partitions=4)
    inner = get_reference_directions("das-dennis", 5, n_partitions=2, scaling=0.5)
    W = np.vstack([outer, inner])
    assert rows(simplex_lattice(5, (4, 2))) == rows(W)


@pytest.mark.parametrize(
    ("m", "small", "large"),
    [
        (2, 100, 100),
        (3, 91, 105),
        (4, 84, 120),
        (5, 85, 126),
        (6, 77, 132),
        (10, 65, 275),
    ],
)
def test_sizes_of_the_lattices(m: int, small: int, large: int) -> None:
    assert len(reference_vectors(m)) == small
    assert len(reference_vectors(m, "large")) == large
    assert_allclose(np.linalg.norm(reference_vectors(m, "large"), axis=1), 1.0)


def test_layers_of_the_small_lattice() -> None:
    assert [layers(m, 100) for m in (3, 5, 10)] == [(12, 0), (4, 2), (2, 1)]


def test_one_objective_has_no_directions() -> None:
    with pytest.raises(ValueError, match="two objectives"):
        reference_vectors(1)


@pytest.mark.parametrize("m", [11, 50, 400])
def test_many_objectives_still_have_a_vector_each(m: int) -> None:
    for lattice in ("small", "large"):
        V = reference_vectors(m, lattice)
        assert V.shape[1] == m
        assert_array_equal(V.max(axis=0), 1.0)
