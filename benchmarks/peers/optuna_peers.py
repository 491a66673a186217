"""Optuna's samplers."""

from time import process_time
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from benchmarks.problems.catalogue import Instance

Array = NDArray[np.float64]


def tpe(
    instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=len(X))
    return _run(instance, X, budget, sampler)


def gaussian_process(
    instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    """Needs torch."""
    sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=len(X))
    return _run(instance, X, budget, sampler)


def _run(
    instance: Instance, X: Array, budget: int, sampler: Any
) -> tuple[Array, list[float]]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{k}" for k in range(instance.d)]
    unit = optuna.distributions.FloatDistribution(0.0, 1.0)
    space: dict[str, optuna.distributions.BaseDistribution] = dict.fromkeys(names, unit)
    study = optuna.create_study(directions=["minimize"] * instance.m, sampler=sampler)
    F = instance.evaluate(X)  # (n, m)
    for x, f in zip(X, F, strict=True):
        params = dict(zip(names, x.tolist(), strict=True))
        trial = optuna.trial.create_trial(
            params=params, distributions=space, values=f.tolist()
        )
        study.add_trial(trial)
    seconds = []
    while len(F) < budget:
        before = process_time()
        asked = study.ask(space)
        seconds.append(process_time() - before)
        x = np.array([[asked.params[name] for name in names]])
        f = instance.evaluate(x)
        study.tell(asked, f[0].tolist())
        F = np.vstack([F, f])
    return F, seconds
