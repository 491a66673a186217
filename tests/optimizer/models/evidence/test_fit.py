"""A fit: its limits, its guard, warm starts, and data of every odd shape."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence import fit as fit_module
from app.optimizer.models.evidence.fit import GUARD_ETAS, fit, minimise
from app.optimizer.models.evidence.hyperparameters import (
    Hyperparameters,
    Structure,
    make_prior,
    own_groups,
)
from app.optimizer.models.evidence.objective_fit import (
    EvidenceTask,
    declared_nugget,
    fit_objective,
)
from app.optimizer.models.evidence.penalised_likelihood import PenalisedLikelihood
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.snapshot import Data

STRUCTURES = list(Structure)
Function = Callable[[Floats], Floats]


def smooth(X: Floats) -> Floats:
    result: Floats = np.sin(4 * X[:, 0]) + X[:, -1] ** 2 + X[:, 0] * X[:, -1]
    return result


def fitted(
    structure: Structure, n: int, d: int, function: Function = smooth, **options: object
) -> Posterior:
    X = np.random.default_rng(n).random((n, d))
    return fit(structure, X, function(X), np.random.default_rng(0), **options)  # type: ignore[arg-type]


def error(posterior: Posterior, function: Function = smooth) -> float:
    """Root mean square, over the standard deviation."""
    T = np.random.default_rng(99).random((200, posterior.X.shape[1]))
    truth = function(T)
    return float(np.sqrt(np.mean((posterior.mean(T) - truth) ** 2)) / truth.std())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_smooth_function_is_learnt(structure: Structure) -> None:
    assert error(fitted(structure, 60, 3)) < 0.02


@pytest.mark.parametrize("structure", STRUCTURES)
def test_at_most_forty_evaluations_cold_and_five_warm(
    structure: Structure, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    evaluate = PenalisedLikelihood.__call__

    def counted(self: PenalisedLikelihood, p: Floats) -> tuple[float, Floats]:
        nonlocal calls
        calls += 1
        return evaluate(self, p)

    monkeypatch.setattr(PenalisedLikelihood, "__call__", counted)
    cold = fitted(structure, 50, 4)
    assert calls == cold.evaluations
    assert 10 < calls <= 40
    calls = 0
    warm = fitted(structure, 51, 4, start=cold.hyperparameters)
    assert calls == warm.evaluations
    assert 1 < calls <= 5


def test_fit_returns_the_best_point_seen() -> None:
    X = np.random.default_rng(0).random((40, 3))
    y = smooth(X) - smooth(X).mean()
    likelihood = PenalisedLikelihood(
        Structure.MATERN, X, y, make_prior(Structure.MATERN, 3), own_groups(3)
    )
    values = [
        minimise(likelihood, likelihood.prior.start, most).value
        for most in range(1, 30)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0] - 10
    found = minimise(likelihood, likelihood.prior.start, 29)
    assert likelihood.value(found.p) == pytest.approx(found.value)


def test_first_step_is_at_most_one_in_every_hyperparameter() -> None:
    X = np.random.default_rng(0).random((100, 3))
    y = 1e3 * (smooth(X) - smooth(X).mean())
    likelihood = PenalisedLikelihood(
        Structure.GAUSSIAN, X, y, make_prior(Structure.GAUSSIAN, 3), own_groups(3)
    )
    start = likelihood.prior.start
    _, gradient = likelihood(start)
    assert np.abs(gradient).max() > 1.0
    second = minimise(likelihood, start, 2).p
    assert 0.0 < np.abs(second - start).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("structure", STRUCTURES)
def test_warm_start_from_a_record_is_the_same_to_the_last_bit(
    structure: Structure,
) -> None:
    cold = fitted(structure, 40, 3)
    record = json.dumps(cold.hyperparameters.as_json())
    restored = Hyperparameters.from_json(json.loads(record))
    first = fitted(structure, 45, 3, start=cold.hyperparameters)
    again = fitted(structure, 45, 3, start=restored)
    assert first.hyperparameters == again.hyperparameters
    T = np.random.default_rng(1).random((20, 3))
    assert_array_equal(first.mean(T), again.mean(T))
    assert_array_equal(first.mean_and_std(T)[1], again.mean_and_std(T)[1])


def test_start_of_another_structure_is_refused() -> None:
    cold = fitted(Structure.MATERN, 20, 2)
    with pytest.raises(ValueError, match="matern"):
        fitted(Structure.GAUSSIAN, 20, 2, start=cold.hyperparameters)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("value", [0.0, 7.0, -1e90])
def test_constant_values_are_predicted_exactly(
    structure: Structure, value: float
) -> None:
    posterior = fitted(structure, 20, 3, lambda X: np.full(len(X), value))
    T = np.random.default_rng(1).random((10, 3))
    mean, std = posterior.mean_and_std(T)
    assert posterior.constant
    assert posterior.evaluations == 0
    assert_array_equal(mean, mean[0])
    assert mean[0] == pytest.approx(value, rel=1e-15)
    assert (std > 0).all()
    assert (std <= 1e-9).all()
    warm = fitted(
        structure,
        20,
        3,
        lambda X: np.full(len(X), value),
        start=posterior.hyperparameters,
    )
    assert warm.hyperparameters == posterior.hyperparameters


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    ("n", "d"), [(1, 1), (1, 4), (2, 2), (3, 10), (12, 50), (30, 1)]
)
def test_few_rows_and_many_variables(structure: Structure, n: int, d: int) -> None:
    posterior = fitted(structure, n, d)
    mean, std = posterior.mean_and_std(np.random.default_rng(1).random((10, d)))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    assert np.isfinite(posterior.leave_one_out().mean).all() == (n > 1)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    ("factor", "offset"), [(1e-120, 0.0), (1e95, 0.0), (-3e-6, 5e-6), (1e6, -2e7)]
)
def test_units_of_the_values_do_not_matter(
    structure: Structure, factor: float, offset: float
) -> None:
    plain = fitted(structure, 30, 3)
    other = fitted(structure, 30, 3, lambda X: factor * smooth(X) + offset)
    T = np.random.default_rng(1).random((10, 3))
    mean, std = plain.mean_and_std(T)
    other_mean, other_std = other.mean_and_std(T)
    assert_allclose(other_mean, factor * mean + offset, rtol=1e-5)
    assert_allclose(other_std, abs(factor) * std, rtol=1e-3)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_repeated_rows_with_contradicting_values(structure: Structure) -> None:
    X = np.repeat(np.random.default_rng(0).random((15, 2)), 2, axis=0)
    y = smooth(X) + np.tile([-0.1, 0.1], 15)
    posterior = fit(structure, X, y, np.random.default_rng(0))
    assert 0.05 < np.sqrt(posterior.sigma2 * posterior.eta) < 0.2
    assert np.abs(posterior.mean(X) - smooth(X)).max() < 0.2


@pytest.mark.parametrize("structure", STRUCTURES)
def test_lattice_inputs(structure: Structure) -> None:
    X = (np.random.default_rng(0).integers(0, 4, size=(40, 3)) + 0.5) / 4
    posterior = fit(structure, X, smooth(X), np.random.default_rng(0))
    assert_allclose(posterior.mean(X), smooth(X), atol=0.02)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_indicator_coordinates_share_their_hyperparameters(
    structure: Structure,
) -> None:
    rng = np.random.default_rng(0)
    category = rng.integers(0, 3, size=60)
    X = np.column_stack([rng.random(60), np.eye(3)[category]])
    y = np.sin(4 * X[:, 0]) + np.array([0.0, 1.0, -2.0])[category]
    posterior = fit(structure, X, y, rng, groups=np.array([0, 1, 1, 1]))
    assert len(np.unique(posterior.at.lengths)) == 2
    assert len(np.unique(posterior.at.weights)) == 2
    assert_allclose(posterior.mean(X), y, atol=0.02)


def noisy(X: Floats) -> Floats:
    return smooth(X) + 0.1 * np.random.default_rng(5).normal(size=len(X))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_noise_is_found(structure: Structure) -> None:
    posterior = fitted(structure, 120, 2, noisy)
    noise = np.sqrt(posterior.sigma2 * posterior.eta)
    assert 0.05 < noise < 0.2
    assert error(posterior) < 0.1


def test_fixed_nugget_stays() -> None:
    posterior = fitted(Structure.MATERN, 40, 2, noisy, eta=0.05)
    assert posterior.eta == pytest.approx(0.05, rel=1e-12)
    assert posterior.hyperparameters.eta == pytest.approx(0.05, rel=1e-12)


def test_hyperparameters_come_from_part_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fit_module, "MOST_TUNED", 30)
    X = np.random.default_rng(0).random((80, 2))
    first = fit(Structure.MATERN, X, smooth(X), np.random.default_rng(0))
    again = fit(Structure.MATERN, X, smooth(X), np.random.default_rng(0))
    other = fit(Structure.MATERN, X, smooth(X), np.random.default_rng(1))
    assert len(first.y) == 80
    assert first.hyperparameters == again.hyperparameters
    assert first.hyperparameters != other.hyperparameters


def test_guard_raises_the_nugget_when_other_rows_contradict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten rows are far off; the rows that the hyperparameters come from are all sound."""
    monkeypatch.setattr(fit_module, "MOST_TUNED", 90)
    X = np.random.default_rng(0).random((100, 2))
    y = smooth(X)
    tuned = np.random.default_rng(0).choice(100, 90, replace=False)
    others = np.setdiff1d(np.arange(100), tuned)
    y[others] += np.tile([-1.0, 1.0], 5)
    guarded = fit(Structure.MATERN, X, y, np.random.default_rng(0))
    assert guarded.hyperparameters.eta == pytest.approx(
        min(GUARD_ETAS, key=lambda e: abs(e - guarded.eta))
    )
    monkeypatch.setattr(fit_module, "GUARD", np.inf)
    unguarded = fit(Structure.MATERN, X, y, np.random.default_rng(0))
    assert unguarded.eta < guarded.eta
    assert unguarded.sigma2 > 3 * guarded.sigma2


def test_declared_noise_fixes_the_nugget_as_a_share_of_the_variance() -> None:
    X = np.array([[0.1], [0.3], [0.6], [0.9]])
    nothing = Data(X[:0], np.empty(0))
    # Values of mean 0 and standard deviation 2
    y = np.array([2.0, -2.0, 2.0, -2.0])
    told = Told(Data(X, y), nothing, np.empty(0, dtype=np.int64), nothing)
    assert declared_nugget(0.2, told) == pytest.approx(0.01)
    assert declared_nugget(100.0, told) == pytest.approx(0.3)  # its largest value
    assert declared_nugget(None, told) is None
    assert declared_nugget(0.0, told) is None
    task = EvidenceTask(told, X[:0], 0.0, None, 1, 1, (0,), noise=0.2)
    assert fit_objective(task).fitted.eta == pytest.approx(0.01)
