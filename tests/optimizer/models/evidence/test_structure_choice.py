"""The choice of structure and data by leave-one-out density, its schedule and its
record.
"""

import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence import structure_choice
from app.optimizer.models.evidence.hyperparameters import Structure
from app.optimizer.models.evidence.structure_choice import (
    MARGIN,
    WARPED_PENALTY,
    Candidate,
    Choice,
    Fitting,
    Options,
    challenger,
    choose_model,
    score,
)
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.snapshot import Data


def smooth(X: Floats) -> Floats:
    result: Floats = np.sin(4 * X[:, 0]) + X[:, 1] ** 2
    return result


def rough(X: Floats) -> Floats:
    result: Floats = np.abs(X[:, 0] - 0.4) + np.abs(X[:, 1] - 0.6)
    return result


def told(
    n: int = 40, stream: int = 0, function: Callable[[Floats], Floats] = smooth
) -> Told:
    rng = np.random.default_rng(n)
    X, S = rng.random((n, 2)), rng.random((stream, 2))
    nothing = np.empty((0, 2))
    return Told(
        Data(X, function(X)),
        Data(nothing, np.empty(0)),
        np.empty(0, dtype=np.int64),
        Data(S, function(S)),
    )


def first(data: Told) -> tuple[Candidate, Choice]:
    return choose_model(data, None, 1, np.random.default_rng(0))


def test_smooth_values_get_a_smooth_kernel_and_rough_ones_a_rougher() -> None:
    assert first(told(function=smooth))[1].structure is Structure.GAUSSIAN
    assert first(told(function=rough))[1].structure is not Structure.GAUSSIAN


def test_first_step_fits_every_structure() -> None:
    _, choice = first(told())
    assert [fitted.structure for fitted in choice.fitted] == list(Structure)


def test_stream_is_used_if_it_helps_at_the_full_samples() -> None:
    assert first(told(30, stream=60))[1].stream
    assert not first(told(30, stream=0))[1].stream


def test_stream_that_contradicts_the_full_samples_is_left_out() -> None:
    rng = np.random.default_rng(0)
    data = told(30, stream=60)
    noise = Data(data.stream.X, data.stream.y + rng.normal(size=60))
    _, choice = first(Told(data.full, data.extra, data.extra_steps, noise))
    assert not choice.stream


def test_score_is_the_mean_density_of_full_samples_less_what_a_warp_costs() -> None:
    fitting = Fitting(told(), np.random.default_rng(0), Options())
    for structure in Structure:
        candidate = fitting.candidate(structure, False, None)
        density = candidate.posterior.leave_one_out().log_density
        penalty = WARPED_PENALTY if structure is Structure.WARPED_MATERN else 0.0
        assert candidate.score == pytest.approx(density.mean() - penalty)
        assert score(candidate.posterior, 5) == pytest.approx(
            density[:5].mean() - penalty
        )


def test_one_challenge_in_four_turns_and_every_rival_in_turn() -> None:
    choice = Choice(Structure.GAUSSIAN, False, ())
    rivals = [challenger(choice, True, turn) for turn in range(40)]
    assert [turn for turn, rival in enumerate(rivals) if rival is not None] == list(
        range(0, 40, 4)
    )
    tried = {rival for rival in rivals if rival is not None}
    assert tried == {
        (Structure.MATERN, False),
        (Structure.MATERN, True),
        (Structure.GAUSSIAN, True),
        (Structure.WARPED_MATERN, False),
        (Structure.WARPED_MATERN, True),
    }
    without = {challenger(choice, False, turn) for turn in range(0, 40, 4)}
    assert without == {(Structure.MATERN, False), (Structure.WARPED_MATERN, False)}


@pytest.mark.parametrize(
    ("lead", "adopted"), [(2 * MARGIN, True), (0.5 * MARGIN, False), (-1.0, False)]
)
def test_challenger_must_be_better_by_the_margin(
    monkeypatch: pytest.MonkeyPatch, lead: float, adopted: bool
) -> None:
    _, before = first(told())
    assert before.structure is Structure.GAUSSIAN
    scores = {
        Structure.GAUSSIAN: 1.0,
        Structure.MATERN: 1.0 + lead,
        Structure.WARPED_MATERN: 1.0 + lead,
    }
    monkeypatch.setattr(
        structure_choice,
        "score",
        lambda posterior, _: scores[posterior.hyperparameters.structure],
    )
    candidate, after = choose_model(told(), before, 4, np.random.default_rng(0))
    assert (after.structure is not Structure.GAUSSIAN) == adopted
    assert candidate.structure is after.structure
    quiet, _ = choose_model(told(), before, 5, np.random.default_rng(0))
    assert quiet.structure is Structure.GAUSSIAN


def test_fits_after_the_first_are_warm_and_recorded() -> None:
    _, before = first(told(40))
    candidate, after = choose_model(told(43), before, 5, np.random.default_rng(0))
    assert candidate.posterior.evaluations <= 5
    assert after.start(after.structure) == candidate.posterior.hyperparameters
    assert after.start(Structure.MATERN) == before.start(Structure.MATERN)
    _, challenged = choose_model(told(43), before, 4, np.random.default_rng(0))
    changed = [
        structure
        for structure in Structure
        if challenged.start(structure) != before.start(structure)
    ]
    assert len(changed) == 2


def test_replay_from_the_record_is_the_same_to_the_last_bit() -> None:
    _, before = first(told(40, stream=30))
    restored = Choice.from_json(json.loads(json.dumps(before.as_json())))
    assert restored == before
    T = np.random.default_rng(1).random((20, 2))
    for turn in (4, 5, 8):
        one, choice = choose_model(
            told(45, stream=30), before, turn, np.random.default_rng(turn)
        )
        two, again = choose_model(
            told(45, stream=30), restored, turn, np.random.default_rng(turn)
        )
        assert choice == again
        assert_array_equal(
            one.posterior.mean_and_std(T)[1], two.posterior.mean_and_std(T)[1]
        )


def test_choice_with_a_stream_goes_on_without_one() -> None:
    candidate, choice = choose_model(
        told(30), Choice(Structure.MATERN, True, ()), 5, np.random.default_rng(0)
    )
    assert not candidate.stream
    assert not choice.stream
    assert candidate.posterior.evaluations > 5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_or_constant_values_have_a_model(n: int) -> None:
    for function in (smooth, lambda X: np.full(len(X), 3.0)):
        candidate, choice = first(told(n, function=function))
        again, _ = choose_model(
            told(n, function=function), choice, 4, np.random.default_rng(0)
        )
        T = np.random.default_rng(1).random((5, 2))
        assert np.isfinite(candidate.posterior.mean_and_std(T)).all()
        assert np.isfinite(again.posterior.mean_and_std(T)).all()


def test_groups_and_fixed_nugget_reach_the_fit() -> None:
    options = Options(groups=np.array([0, 0]), eta=0.01)
    candidate, choice = choose_model(
        told(20), None, 1, np.random.default_rng(0), options
    )
    assert candidate.posterior.at.lengths[0] == candidate.posterior.at.lengths[1]
    assert candidate.posterior.eta == pytest.approx(0.01)
    assert {len(fitted.values) for fitted in choice.fitted} == {3, 5}
