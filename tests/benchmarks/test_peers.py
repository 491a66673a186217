"""Other libraries: the same design first, then as many full samples as are allowed."""

import numpy as np
import pytest

from benchmarks.paper.results import Spec
from benchmarks.peers.catalogue import COUPLED, NEEDS_TORCH, run
from benchmarks.problems.catalogue import problem


@pytest.mark.parametrize("name", [name for name in COUPLED if name not in NEEDS_TORCH])
def test_a_peer_begins_with_the_design_and_keeps_the_budget(name: str) -> None:
    instance = problem("dtlz2", 3, d=4)
    X = np.random.default_rng(0).random((20, 4))
    F, seconds = COUPLED[name](instance, X, 47, 0)
    assert F.shape == (47, 3)
    np.testing.assert_allclose(F[:20], instance.evaluate(X))
    assert seconds
    again, _ = COUPLED[name](instance, X, 47, 0)
    np.testing.assert_array_equal(F, again)


def test_a_peer_is_scored_like_a_strategy() -> None:
    outcome = run(Spec("dtlz2", 2, 5, "pymoo-nsga3", 0, budget=130))
    assert outcome.trace[0][0] == 109
    assert outcome.igd is not None
