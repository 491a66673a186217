"""How well models predict smooth functions, beside scikit-learn's regressor; behind
`counterpoise bench accuracy`.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.structure_choice import choose_model
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.standardise import standardise
from app.optimizer.snapshot import Data
from benchmarks.problems.smooth_functions import SMOOTH_FUNCTIONS, SmoothFunction

Row = dict[str, Any]
TESTED = 2000  # points


def run(
    names: Sequence[str] = tuple(SMOOTH_FUNCTIONS),
    size: int = 545,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    rows: list[Row] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in names:
            figures = measure(SMOOTH_FUNCTIONS[name], size, seed)
            rows.append({"function": name, "n": size, "seed": seed} | figures)
            progress()
    return rows


def measure(function: SmoothFunction, n: int, seed: int) -> Row:
    """Root mean squared errors as shares of the deviation of the values, and CPU time
    of the fits.
    """
    X = qmc.LatinHypercube(function.d, rng=np.random.default_rng(seed)).random(n)
    new = np.random.default_rng(seed + 1).random((TESTED, function.d))
    y, expected = function(X), function(new)
    row: Row = {"d": function.d}
    for model, fit in (
        ("evidence", _evidence),
        ("kriging", _kriging),
        ("scikit_learn", _scikit_learn),
    ):
        begin = process_time()
        predicted = fit(X, y, new)
        row[f"{model}_s"] = process_time() - begin
        error = float(np.sqrt(np.mean((predicted - expected) ** 2)))
        row[f"{model}_rmse"] = error / float(expected.std())
    return row


def _evidence(X: Floats, y: Floats, new: Floats) -> Floats:
    nothing = Data(X[:0], y[:0])
    told = Told(Data(X, y), nothing, np.empty(0, dtype=np.int64), nothing)
    chosen, _ = choose_model(told, None, 0, np.random.default_rng(0))
    return chosen.posterior.mean(new)


def _kriging(X: Floats, y: Floats, new: Floats) -> Floats:
    return Kriging().fit(X, y).mean(new)


def _scikit_learn(X: Floats, y: Floats, new: Floats) -> Floats:
    values, mean, deviation = standardise(y)
    kernel = ConstantKernel(1.0) * RBF(np.ones(X.shape[1]), (0.01, 200.0))
    noise = WhiteKernel(1e-6, (1e-12, 1.0))
    model = GaussianProcessRegressor(kernel + noise, alpha=0.0).fit(X, values)
    return np.asarray(mean + deviation * model.predict(new))


def table(rows: Iterable[Row]) -> Table:
    result = Table(
        title="root mean squared error as a share of the values' deviation; CPU seconds of the fit"
    )
    for heading in ("function", "d", "n", "evidence", "Kriging", "scikit-learn"):
        result.add_column(heading)
    for row in rows:
        figures = [
            f"{row[f'{model}_rmse']:.2g} ({row[f'{model}_s']:.1f} s)"
            for model in ("evidence", "kriging", "scikit_learn")
        ]
        result.add_row(str(row["function"]), str(row["d"]), str(row["n"]), *figures)
    return result
