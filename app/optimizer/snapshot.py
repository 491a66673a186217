"""Everything that a step can read of a study, on the unit cube and minimised.

| symbol  | here            | meaning                                                                   |
|---------|-----------------|---------------------------------------------------------------------------|
| N_iter  | `step`          | number of the search step, from 1                                         |
| FE      | `settled`       | full samples settled, failures included, imported ones excluded           |
| FE_max  | `budget`        | full samples in all                                                       |
| u       | `batch`         | full samples to propose now                                               |
| D       | `X`, `F`        | full samples complete on all objectives                                   |
| D_j^a   | `extra[j]`      | cheap-only samples of objective j; `extra_steps[j]` are their steps       |
| D_j^c'  | `frozen[j]`     | values of the stream of cheap objective j, told before search began       |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.samples import Samples, no_samples

# What a fit recorded for the next one, as JSON keeps it
WarmStart = Mapping[str, Any]

# Stands for none, whatever the numbers of variables and objectives
NO_SAMPLES = no_samples(0, 0)
LARGEST = 1e100  # of a value: squares in the models must not overflow
# of a standard deviation, or it counts as 0: its square, times 1e-8 for eps, must not
# underflow
SMALLEST = 1e-140


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The values of one objective."""

    X: Floats  # (n, d)
    y: Floats  # (n,)

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.y.shape != (len(self.X),):
            raise ValueError(
                f"points of shape {self.X.shape} do not fit values of shape {self.y.shape}"
            )
        if not (np.isfinite(self.X).all() and _usable(self.y)):
            raise ValueError(
                f"points must be finite, values between {-LARGEST:g} and {LARGEST:g}"
            )

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """What two models predicted of one objective before full samples were told, and
    what was told; newest last.
    """

    told: Floats  # (k,)
    plain: Floats  # (k,): by the model on x
    co: Floats  # (k,): by the model on x and the cheap values

    def __post_init__(self) -> None:
        if (
            not self.told.shape
            == self.plain.shape
            == self.co.shape
            == (len(self.told),)
        ):
            raise ValueError("told, plain and co need one number for each sample")


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Each tuple has one entry per objective of the problem; left empty it means:
    nothing for any of them.
    """

    step: int
    settled: int
    budget: int
    batch: int
    X: Floats  # (n, d)
    F: Floats  # (n, m)
    partial: tuple[Data, ...] = ()  # values of incomplete full samples
    extra: tuple[Data, ...] = ()
    extra_steps: tuple[
        Ints, ...
    ] = ()  # (n_j,): the step that proposed it; of a late value of a stream, when it came
    infeasible: tuple[
        Floats, ...
    ] = ()  # (n_i, d): points that a run of objective i reported as infeasible
    frozen: tuple[Data | None, ...] = ()
    pending: tuple[Floats, ...] = ()  # (n_i, d): proposed, not yet told
    taken: tuple[
        Floats, ...
    ] = ()  # (n_i, d): every point ever proposed for objective i, full ones included
    theta: tuple[
        Floats | None, ...
    ] = ()  # (d,): hyperparameters of the step before, where the fit starts
    frozen_theta: tuple[
        Floats | None, ...
    ] = ()  # (d,): if given, the frozen model is factorised, not fitted
    # cheap-only samples that can be promoted: none of their runs has failed
    pool: Samples = NO_SAMPLES
    # Full samples not yet settled, with the values told so far
    running: Samples = NO_SAMPLES
    forecasts: tuple[Forecasts, ...] = ()
    # The step before's `Proposal.warm_starts`, plain JSON
    warm_starts: tuple[WarmStart | None, ...] = ()
    # (n,): the step that asked for each row of X, 0 for the design and imported samples;
    # None: not known, all 0
    full_steps: Ints | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.F.ndim != 2 or len(self.X) != len(self.F):
            raise ValueError(
                f"X of shape {self.X.shape} does not fit F of shape {self.F.shape}"
            )
        if not (np.isfinite(self.X).all() and _usable(self.F)):
            raise ValueError(
                f"X must be finite, F between {-LARGEST:g} and {LARGEST:g}"
            )
        if self.step < 1 or self.budget < 1 or self.settled < 0 or self.batch < 0:
            raise ValueError("step and budget begin at 1, settled and batch at 0")
        self._fill_defaults()
        self._check_full_steps()
        self._check_points()
        self._check_thetas()
        self._check_samples("pool")
        self._check_samples("running")
        if any(
            len(steps) != len(data)
            for steps, data in zip(self.extra_steps, self.extra, strict=True)
        ):
            raise ValueError(
                "extra_steps needs one step number for each value of extra"
            )

    def awaited(self, i: int) -> Floats:
        """Points whose value of objective i is still to come, each once, (k, d)."""
        missing = self.running.X[~self.running.known[:, i]]
        X = np.vstack([self.pending[i], missing])
        _, first = np.unique(X, axis=0, return_index=True)
        return X[np.sort(first)]

    def incomplete(self, i: int) -> Data:
        """Values of objective i that incomplete full samples have, running ones
        included.
        """
        told = self.running.known[:, i]
        partial = self.partial[i]
        return Data(
            np.vstack([partial.X, self.running.X[told]]),
            np.append(partial.y, self.running.F[told, i]),
        )

    def _fill_defaults(self) -> None:
        d, m = self.X.shape[1], self.F.shape[1]
        no_points, no_values = np.empty((0, d)), np.empty(0)
        self._default("partial", (Data(no_points, no_values),) * m)
        self._default("extra", (Data(no_points, no_values),) * m)
        self._default(
            "extra_steps",
            tuple(np.zeros(len(data), dtype=np.int64) for data in self.extra),
        )
        for name in ("infeasible", "pending", "taken"):
            self._default(name, (no_points,) * m)
        for name in ("frozen", "theta", "frozen_theta", "warm_starts"):
            self._default(name, (None,) * m)
        self._default("forecasts", (Forecasts(no_values, no_values, no_values),) * m)

    def _check_full_steps(self) -> None:
        steps = self.full_steps
        if steps is not None and steps.shape != (len(self.X),):
            raise ValueError("full_steps needs one step number for each row of X")

    @property
    def steps_of_full(self) -> Ints:
        """`full_steps`, or 0 for each row of X."""
        if self.full_steps is None:
            return np.zeros(len(self.X), dtype=np.int64)
        return self.full_steps

    @property
    def newest(self) -> Bools:
        """Which rows of X the last step asked for that has any, (n,); none if all are
        of the design.
        """
        steps = self.steps_of_full
        return np.asarray((steps > 0) & (steps == steps.max(initial=0)))

    @property
    def has_infeasible(self) -> bool:
        return any(len(X) > 0 for X in self.infeasible)

    def _check_points(self) -> None:
        d = self.X.shape[1]
        data_sets = (*self.partial, *self.extra, *self.frozen)
        points = [data.X for data in data_sets if data is not None]
        for X in (*points, *self.infeasible, *self.pending, *self.taken):
            if X.ndim != 2 or X.shape[1] != d:
                raise ValueError(
                    f"every point needs {d} coordinates, as those of X have"
                )

    def _check_thetas(self) -> None:
        d = self.X.shape[1]
        for theta in (*self.theta, *self.frozen_theta):
            if theta is not None and theta.shape != (d,):
                raise ValueError(
                    f"theta and frozen_theta need {d} numbers for each objective"
                )

    def _check_samples(self, name: str) -> None:
        d, m = self.X.shape[1], self.F.shape[1]
        samples = getattr(self, name)
        if samples is NO_SAMPLES:
            object.__setattr__(self, name, no_samples(d, m))
        elif samples.X.shape[1] != d or samples.F.shape[1] != m:
            raise ValueError(
                f"{name} needs points of {d} coordinates and values of {m} objectives"
            )

    def _default(self, name: str, value: tuple[object, ...]) -> None:
        given = getattr(self, name)
        if not given:
            object.__setattr__(self, name, value)
        elif len(given) != len(value):
            raise ValueError(
                f"{name} has {len(given)} entries for {len(value)} objectives"
            )


def _usable(values: Floats) -> bool:
    return bool((np.abs(values) <= LARGEST).all())
