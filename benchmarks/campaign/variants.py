"""The strategy `counterpoise` with a part left out or a constant changed: columns of the
campaigns `parts` and `constants`, not strategies for studies.

For fewer than 8 objectives: with more, `counterpoise` has other settings.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem
from app.optimizer.search.design import initial_design
from app.optimizer.strategies.counterpoise.settings import (
    DEFAULTS,
    CounterpoiseSettings,
)
from app.optimizer.strategies.counterpoise.step import COUNTERPOISE, PromotionStep
from app.optimizer.strategies.initial_phase import (
    InitialPhase,
    StreamState,
    initial_counts,
)
from app.optimizer.strategies.strategy import Strategy

PROBABILITIES = ("one_to_bound", "near_to_bound", "moved", "evolved_share")
# Constants that have no effect on the runs of the campaign, and why
WITHOUT_EFFECT = {
    "smallest_population": "counts with fewer than 50 directions only",
    "fresh_share": "is 0",
    "caution": "counts with limits only",
    "most_caution": "counts with limits only",
    "model_rows": "counts with `models: paper` only",
    "tuned_rows": "counts with `models: paper` only",
}


def with_settings(settings: CounterpoiseSettings) -> Strategy:
    return replace(COUNTERPOISE, step=PromotionStep(settings))


def own_hypercubes(
    problem: Problem, state: StreamState, rng: Generator
) -> tuple[Floats, ...]:
    """The whole initial phase with a Latin hypercube for each cheap objective."""
    taken = state.taken
    points = []
    for count in initial_counts(problem, state.n):
        own = initial_design(problem, int(count), rng, known=taken)
        taken = np.vstack([taken, own])
        points.append(own)
    return tuple(points)


# `common`: it is still a run with a pool
OWN_POINTS = InitialPhase(common=True, generation=own_hypercubes)

PARTS: dict[str, Strategy] = {
    "no-promotion": with_settings(replace(DEFAULTS, promotion=False)),
    "no-common-points": replace(
        with_settings(replace(DEFAULTS, common_points=False)), initial=OWN_POINTS
    ),
    "no-bound-moves": with_settings(
        replace(DEFAULTS, one_to_bound=0.0, near_to_bound=0.0)
    ),
    "no-greedy-gain": with_settings(replace(DEFAULTS, by_gain=False)),
    "no-co-model": with_settings(replace(DEFAULTS, co_model="never")),
    "kriging": replace(COUNTERPOISE, models="paper"),
    "no-evolved-extras": with_settings(replace(DEFAULTS, evolved_share=0.0)),
}


@dataclass(frozen=True, slots=True)
class Constant:
    name: str
    value: float

    @property
    def half(self) -> float:
        return self._near(self.value / 2)

    @property
    def double(self) -> float:
        return self._near(self.value * 2)

    @property
    def half_column(self) -> str:
        return f"{self.name}/2"

    @property
    def double_column(self) -> str:
        return f"{self.name}*2"

    def _near(self, value: float) -> float:
        """A value that the constant may have."""
        if isinstance(self.value, int):
            return round(value)
        return min(value, 1.0) if self.name in PROBABILITIES else value


def constants() -> tuple[Constant, ...]:
    """All numbers of the settings, truth values excluded, that have an effect."""
    found = []
    for field in fields(CounterpoiseSettings):
        value = getattr(DEFAULTS, field.name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and field.name not in WITHOUT_EFFECT:
            found.append(Constant(field.name, value))
    return tuple(found)


def _changed(name: str, value: float) -> Strategy:
    changes: dict[str, object] = {name: value}
    return with_settings(replace(DEFAULTS, **changes))  # type: ignore[arg-type]


CONSTANTS = constants()
HALVED = {
    constant.half_column: _changed(constant.name, constant.half)
    for constant in CONSTANTS
}
DOUBLED = {
    constant.double_column: _changed(constant.name, constant.double)
    for constant in CONSTANTS
}
VARIANTS = PARTS | HALVED | DOUBLED
