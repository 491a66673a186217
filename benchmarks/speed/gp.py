"""How fast a likelihood and a fit are, beside scikit-learn's and LAPACK alone; behind
`counterpoise bench gp`.
"""

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Sequence
from statistics import median

import numpy as np
from rich.table import Table
from scipy.linalg import lapack
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import EPS, Likelihood, correlate_lower
from app.optimizer.models.kriging.maximise_likelihood import BOUNDS, START
from app.optimizer.models.kriging.standardise import standardise

Row = dict[str, float | int | None]
D = 10
TOLERANCE = 2.0  # how much worse than scikit-learn's a log-likelihood may be


def run(
    sizes: Sequence[int] = (134, 545, 1090),
    datasets: int = 10,
    peer_up_to: int = 545,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """One row per size, medians over the data sets; scikit-learn up to `peer_up_to`
    points, as beyond it takes minutes.

    `progress` is told how many data sets are done, and of how many.
    """
    rows = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, n in enumerate(sizes):
            measured = []
            for seed in range(datasets):
                measured.append(measure(*data_set(n, seed), peer=n <= peer_up_to))
                if progress is not None:
                    progress(number * datasets + seed + 1, len(sizes) * datasets)
            rows.append({"n": n, "d": D, "datasets": datasets} | summarise(measured))
    return rows


def summarise(measured: Sequence[Row]) -> Row:
    """Medians; but of the likelihoods, how many are no worse than scikit-learn's by
    more than the tolerance.
    """
    gains = [row["gain"] for row in measured if row["gain"] is not None]
    summary: Row = {}
    for name in measured[0]:
        if name != "gain":
            summary[name] = _median([row[name] for row in measured])
    return summary | {
        "no_worse": sum(gain >= -TOLERANCE for gain in gains) if gains else None
    }


def measure(X: Floats, y: Floats, *, peer: bool) -> Row:
    """CPU times in milliseconds, and their ratios, of one standardised data set."""
    likelihood, log_theta = Likelihood(X, y), np.full(D, np.log(START))
    repeats = max(3, 3000 // len(y))
    evaluation = _milliseconds(lambda: likelihood(log_theta), repeats)
    matrices = [_correlation(X) for _ in range(repeats)]
    floor = _milliseconds(lambda: _invert(matrices.pop()), repeats)
    model = Kriging()
    fit = _milliseconds(lambda: model.fit(X, y), 1)
    row: Row = {
        "evaluation_ms": evaluation,
        "lapack_ms": floor,
        "lapack_ratio": evaluation / floor,
        "fit_ms": fit,
        "evaluations": model.n_evaluations_,
        "memory_n2": _peak_memory(lambda: Kriging().fit(X, y)) / (8 * len(y) ** 2),
    }
    return row | (_peer(X, y, model, evaluation, fit) if peer else dict.fromkeys(PEER))


PEER = ("peer_evaluation_ms", "evaluation_ratio", "peer_fit_ms", "fit_ratio", "gain")


def _peer(X: Floats, y: Floats, model: Kriging, evaluation: float, fit: float) -> Row:
    """The same of scikit-learn, with the same kernel, start and bounds; it has sigma2
    as one more parameter.
    """
    lengths = tuple(1.0 / np.sqrt(2.0 * np.array(BOUNDS[::-1])))
    kernel = ConstantKernel(1.0) * (
        RBF(np.full(D, 1.0 / np.sqrt(2.0 * START)), lengths) + WhiteKernel(EPS, "fixed")
    )
    unfitted = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    theta = unfitted.kernel_.theta
    peer_evaluation = _milliseconds(
        lambda: unfitted.log_marginal_likelihood(theta, True, clone_kernel=False), 3
    )
    peer = GaussianProcessRegressor(kernel, alpha=0.0)
    peer_fit = _milliseconds(lambda: peer.fit(X, y), 1)
    gain = float(model.log_likelihood_ - peer.log_marginal_likelihood_value_)
    return dict(
        zip(
            PEER,
            (
                peer_evaluation,
                peer_evaluation / evaluation,
                peer_fit,
                peer_fit / fit,
                gain,
            ),
            strict=True,
        )
    )


def table(rows: Iterable[Row]) -> Table:
    """What `run` measured, for the terminal."""
    columns = {
        "n": "n",
        "evaluation_ms": "evaluation (ms)",
        "lapack_ratio": "to potrf + potri",
        "evaluation_ratio": "scikit-learn's to it",
        "fit_ms": "cold fit (ms)",
        "fit_ratio": "scikit-learn's to it ",
        "evaluations": "evaluations",
        "no_worse": "likelihood no worse",
        "memory_n2": "peak memory (n*n)",
    }
    result = Table(*columns.values(), title="Kriging, CPU time on one core, medians")
    for row in rows:
        result.add_row(
            *("-" if row[name] is None else f"{row[name]:.4g}" for name in columns)
        )
    return result


def data_set(n: int, seed: int) -> tuple[Floats, Floats]:
    """A Latin hypercube and one of eight kinds of smooth function on it, standardised."""
    rng = np.random.default_rng(seed)
    X: Floats = qmc.LatinHypercube(D, rng=rng).random(n)  # (n, D)
    y = FUNCTIONS[seed % len(FUNCTIONS)](X, rng)
    return standardise(X)[0], standardise(y)[0]


def _dtlz1(X: Floats, _: np.random.Generator) -> Floats:
    tail = X[:, 2:] - 0.5
    g = 100 * (tail.shape[1] + (tail**2 - np.cos(20 * np.pi * tail)).sum(axis=1))
    result: Floats = 0.5 * X[:, 0] * X[:, 1] * (1 + g)
    return result


def _dtlz2(X: Floats, _: np.random.Generator) -> Floats:
    g = ((X[:, 2:] - 0.5) ** 2).sum(axis=1)
    result: Floats = (1 + g) * np.cos(X[:, 0] * np.pi / 2) * np.cos(X[:, 1] * np.pi / 2)
    return result


def _dtlz7(X: Floats, _: np.random.Generator) -> Floats:
    g = 1 + 9 * X[:, 2:].mean(axis=1)
    head = X[:, :2] / (1 + g[:, None])
    result: Floats = (1 + g) * (
        3 - (head * (1 + np.sin(3 * np.pi * X[:, :2]))).sum(axis=1)
    )
    return result


def _wfg4(X: Floats, _: np.random.Generator) -> Floats:
    away = np.abs(X - 0.35) / (2 * (np.floor(0.35 - X) + 0.35))
    t = (1 + np.cos(122 * np.pi * (0.5 - away)) + 40 * away**2) / 12
    result: Floats = t[:, 2:].mean(axis=1) + 2 * np.sin(t[:, 0] * np.pi / 2) * np.sin(
        t[:, 1] * np.pi / 2
    )
    return result


def _wfg9(X: Floats, _: np.random.Generator) -> Floats:
    means = np.cumsum(X[:, ::-1], axis=1)[:, ::-1] / np.arange(D, 0, -1)
    t = X ** (0.02 + 2 * means)
    result: Floats = t[:, 2:].mean(axis=1) + 2 * np.sin(t[:, 0] * np.pi / 2) * np.cos(
        t[:, 1] * np.pi / 2
    )
    return result


def _random_process(X: Floats, rng: np.random.Generator) -> Floats:
    """A sum of 500 random waves: a draw from a Gaussian process with random lengths."""
    frequencies = rng.normal(size=(D, 500)) * np.sqrt(
        2 * 10 ** rng.uniform(-2, 0.5, size=(D, 1))
    )
    result: Floats = np.cos(
        X @ frequencies + rng.uniform(0, 2 * np.pi, 500)
    ) @ rng.normal(size=500)
    return result


FUNCTIONS = (
    _dtlz1,
    _dtlz2,
    _dtlz7,
    _wfg4,
    _wfg9,
    _random_process,
    _random_process,
    _random_process,
)


def _correlation(X: Floats) -> Floats:
    R = np.zeros((len(X), len(X)), order="F")
    correlate_lower(X * np.sqrt(START), R)
    np.fill_diagonal(R, 1.0 + EPS)
    return R


def _invert(R: Floats) -> None:
    L = lapack.dpotrf(R, lower=1, clean=0, overwrite_a=1)[0]
    lapack.dpotri(L, lower=1, overwrite_c=1)


def _milliseconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return 1e3 * median(times)


def _peak_memory(work: Callable[[], object]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


def _median(column: Sequence[float | None]) -> float | None:
    values = [value for value in column if value is not None]
    return median(values) if values else None
