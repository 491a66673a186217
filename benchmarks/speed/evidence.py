"""CPU time of the models by evidence beside LAPACK alone: likelihood with gradient,
fits, predictions.

Example: python -m benchmarks.speed.evidence --size 250 --size 500
"""

import argparse
import json
import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.hyperparameters import (
    Structure,
    make_prior,
    own_groups,
)
from app.optimizer.models.evidence.penalised_likelihood import PenalisedLikelihood
from benchmarks.speed.gp import D, data_set

Row = dict[str, float | int | str]
ROUNDS = 40
PREDICTED = 100


def measure(structure: Structure, n: int, seed: int) -> Row:
    """Medians in milliseconds.

    Both are measured in turn, so that other processes disturb them alike.
    """
    X, y = _unit_cube(n, seed)
    prior = make_prior(structure, D)
    likelihood = PenalisedLikelihood(structure, X, y, prior, own_groups(D))
    R = _kernel_matrix(likelihood)
    ours, floor = [], []
    for _ in range(ROUNDS):
        ours.append(_milliseconds(lambda: likelihood(prior.start)))
        copy = R.copy(order="F")
        floor.append(_milliseconds(lambda copy=copy: _invert(copy)))  # type: ignore[misc]
    rng = np.random.default_rng(seed)
    cold = fit(structure, X, y, rng)
    points = rng.random((PREDICTED, D))
    return {
        "structure": structure.value,
        "n": n,
        "d": D,
        "evaluation_ms": median(ours),
        "lapack_ms": median(floor),
        "lapack_ratio": median(ours) / median(floor),
        "least_ratio": min(ours) / min(floor),
        "cold_fit_ms": _milliseconds(lambda: fit(structure, X, y, rng)),
        "warm_fit_ms": _milliseconds(
            lambda: fit(structure, X, y, rng, start=cold.hyperparameters)
        ),
        "mean_ms": median(_milliseconds(lambda: cold.mean(points)) for _ in range(10)),
        "mean_and_std_ms": median(
            _milliseconds(lambda: cold.mean_and_std(points)) for _ in range(10)
        ),
        "memory_n2": _peak_memory(lambda: _one_evaluation(structure, X, y))
        / (8 * n**2),
    }


def _unit_cube(n: int, seed: int) -> tuple[Floats, Floats]:
    X, y = data_set(n, seed)  # standardised
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / (high - low), y


def _kernel_matrix(likelihood: PenalisedLikelihood) -> Floats:
    likelihood(likelihood.prior.start)
    n = len(likelihood.y)
    R = np.zeros((n, n), order="F")
    likelihood.kernel.copy_to(R)
    np.fill_diagonal(R, 1.0 + 1e-6)
    return R


def _one_evaluation(structure: Structure, X: Floats, y: Floats) -> None:
    prior = make_prior(structure, D)
    PenalisedLikelihood(structure, X, y, prior, own_groups(D))(prior.start)


def _invert(R: Floats) -> None:
    L = lapack.dpotrf(R, lower=1, clean=0, overwrite_a=1)[0]
    lapack.dpotri(L, lower=1, overwrite_c=1)


def _milliseconds(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return 1e3 * (process_time() - begin)


def _peak_memory(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="CPU time of the models by evidence, as JSON lines."
    )
    parser.add_argument(
        "--size", type=int, action="append", help="training rows; 250 unless given"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with threadpool_limits(limits=1):
        for n in arguments.size or [250]:
            for structure in Structure:
                sys.stdout.write(
                    json.dumps(measure(structure, n, arguments.seed)) + "\n"
                )


if __name__ == "__main__":
    main()
