"""One run of a test problem with heterogeneous workers in virtual time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.planning.ratios import ratios_of_times
from app.optimizer.strategies.strategy import Strategy
from app.simulation import study
from app.simulation.pools import Pool
from app.simulation.study import BATCH, Report
from benchmarks.problems.catalogue import Instance


@dataclass(frozen=True, slots=True)
class Mode:
    """How a study plans; with `wait`, r = 1 for all: everybody waits for the slowest,
    and nothing is evaluated apart.
    """

    name: str
    overlap: int | Literal["auto"] = 0
    batch: int | Literal["auto"] = BATCH
    wait: bool = False


def ratios(pools: Iterable[Pool]) -> tuple[float, ...]:
    """r_i = floor(t_max / t_i), as the service takes it."""
    return tuple(
        ratios_of_times(dict(enumerate(pool.latency for pool in pools))).values()
    )


def simulate(
    instance: Instance,
    pools: tuple[Pool, ...],
    strategy: Strategy,
    seed: int,
    mode: Mode,
    *,
    n: int | None = None,
    budget: int = 300,
    planning_s: float | None = 0.0,
) -> Report:
    """Scored by IGD+."""
    problem = instance.declare((1.0,) * instance.m if mode.wait else ratios(pools))
    return study.simulate(
        problem,
        lambda x, j: float(instance.evaluate(x[None])[0, j]),
        instance.igd_plus,
        pools,
        strategy,
        seed,
        n=n or instance.n,
        budget=budget,
        batch=mode.batch,
        overlap=mode.overlap,
        planning_s=planning_s,
    )


def reached(history: Iterable[Sequence[float]], igd_plus: float) -> float | None:
    """When the front was first at least as good; `history`: pairs of time and score."""
    return next((time for time, score in history if score <= igd_plus), None)
