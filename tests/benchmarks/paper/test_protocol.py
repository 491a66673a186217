"""A short run as the paper does it."""

import numpy as np
import pytest

from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from benchmarks.paper import protocol
from benchmarks.paper.protocol import begin, choose, optimise, tell
from benchmarks.paper.results import Settings, Spec
from benchmarks.problems.catalogue import problem
from counterpoise.wire.codes import StepKind

DTLZ2 = problem("dtlz2", 3)
PAPER = choose("sbp-bo", Settings())


def test_the_initial_phase_evaluates_cheap_objectives_r_times_as_often() -> None:
    declared, snapshot = begin(DTLZ2, 5, seed=0)
    assert declared.ratios == (5.0, 5.0, 1.0)
    assert snapshot.X.shape == (109, 10)
    np.testing.assert_allclose(snapshot.F, DTLZ2.evaluate(snapshot.X))
    assert [None if data is None else len(data) for data in snapshot.frozen] == [
        545,
        545,
        None,
    ]
    for j in (0, 1):
        data = snapshot.frozen[j]
        assert data is not None
        assert len(np.unique(data.X, axis=0)) == 545
        np.testing.assert_array_equal(data.X[:109], snapshot.X)
        assert data.y[109:].mean() < 0.6 * data.y[:109].mean()  # the stream minimises


def test_every_generation_of_a_stream_descends_from_the_one_before() -> None:
    """A variable that was neither crossed nor mutated is a parent's to the last bit."""
    data = begin(DTLZ2, 5, seed=0)[1].frozen[1]
    assert data is not None
    for start in (
        159,
        209,
    ):  # later there are mu points at the minimum, 0, and the oldest of them stay parents
        # Made there
        own = np.setdiff1d(
            data.X[start - 50 : start], [*data.X[: start - 50].ravel(), 0.0, 1.0]
        )
        best = np.argsort(data.y[:start], kind="stable")[:50]
        inherited = np.isin(data.X[start : start + 50], own)
        assert inherited.any()
        assert np.isin(data.X[start : start + 50][inherited], data.X[best]).all()


def test_a_step_asks_for_u_full_and_u_times_r_minus_1_cheap_samples_and_is_told_all() -> (
    None
):
    declared, first = begin(DTLZ2, 5, seed=0, budget=111)
    proposal = propose(
        declared, first, PAPER, generator(0, StepKind.SEARCH, NO_OBJECTIVE, 1)
    )
    assert len(proposal.full) == 2  # what is left
    assert [len(X) for X in proposal.cheap] == [8, 8, 0]
    assert [model is None for model in proposal.models.frozen] == [False, False, True]
    second = tell(DTLZ2, first, proposal)
    assert (second.step, second.settled, second.batch) == (2, 111, 0)
    np.testing.assert_allclose(second.F[-2:], DTLZ2.evaluate(proposal.full))
    np.testing.assert_allclose(
        second.extra[1].y, DTLZ2.evaluate(proposal.cheap[1])[:, 1]
    )
    assert second.extra_steps[0].tolist() == [1] * 8
    assert second.theta[2] is not None
    assert second.frozen_theta[2] is None


def test_frozen_models_of_the_step_before_do_not_change_a_step() -> None:
    declared, first = begin(DTLZ2, 5, seed=1)
    before = propose(
        declared, first, PAPER, generator(1, StepKind.SEARCH, NO_OBJECTIVE, 1)
    )
    second = tell(DTLZ2, first, before)
    kept, fitted = (
        propose(
            declared,
            second,
            PAPER,
            generator(1, StepKind.SEARCH, NO_OBJECTIVE, 2),
            frozen=frozen,
        )
        for frozen in (before.models.frozen, ())
    )
    np.testing.assert_array_equal(kept.full, fitted.full)


@pytest.mark.parametrize("strategy", ["sbp-bo", "sbp-nogpc"])
def test_a_run_ends_at_its_budget_and_depends_on_its_seed_only(strategy: str) -> None:
    chosen = choose(strategy, Settings())
    F, seconds = optimise(DTLZ2, 2, chosen, seed=3, budget=115)
    assert F.shape == (115, 3)
    assert len(seconds) == 2
    np.testing.assert_array_equal(F, optimise(DTLZ2, 2, chosen, seed=3, budget=115)[0])
    assert not np.array_equal(F, optimise(DTLZ2, 2, chosen, seed=4, budget=115)[0])


def test_settings_reach_the_strategy() -> None:
    chosen = choose("bo-aaf", Settings("range", "large", "all"))
    assert (chosen.scaling, chosen.lattice, chosen.keep_extra) == (
        "range",
        "large",
        "all",
    )
    assert (PAPER.scaling, PAPER.lattice, PAPER.keep_extra) == (
        "paper",
        "small",
        "last",
    )


def test_a_run_records_its_first_step_apart_from_the_median_and_the_longest_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        protocol,
        "optimise",
        lambda *_: (DTLZ2.evaluate(np.eye(10)), [9.0, 0.2, 0.7, 0.3]),
    )
    outcome = protocol.run(Spec("dtlz2", 3, 5, "sbp-bo", 0))
    assert (outcome.first_step_s, outcome.step_s, outcome.longest_step_s) == (
        9.0,
        0.3,
        0.7,
    )


def test_a_budget_that_the_design_uses_up_has_no_step() -> None:
    outcome = protocol.run(Spec("dtlz2", 3, 1, "sbp-bo", 0, budget=20))
    assert (outcome.first_step_s, outcome.step_s, outcome.longest_step_s) == (
        0.0,
        0.0,
        None,
    )
