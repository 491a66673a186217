"""Kriging as a scikit-learn regressor, for pipelines, cross-validation and comparisons.

Strategies use `Kriging` itself: importing scikit-learn takes longer than a small step,
and its checks of the input longer than the mean of 100 rows.
"""

from typing import Literal, Self, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging


class KrigingRegressor(RegressorMixin, Kriging, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        rows, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return super().fit(rows, values)

    @overload
    def predict(
        self, X: npt.ArrayLike, return_std: Literal[False] = False
    ) -> Floats: ...
    @overload
    def predict(
        self, X: npt.ArrayLike, return_std: Literal[True]
    ) -> tuple[Floats, Floats]: ...
    def predict(
        self, X: npt.ArrayLike, return_std: bool = False
    ) -> Floats | tuple[Floats, Floats]:
        """The mean, and the standard deviation of a value at X without noise."""
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return self.mean_and_std(rows) if return_std else self.mean(rows)
