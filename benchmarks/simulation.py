"""The test problems with heterogeneous workers in virtual time."""

from collections.abc import Iterable

from app.domain.ratios import ratios_of_times
from app.optimizer.strategies.strategy import Strategy
from app.simulation import study
from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.problems.catalogue import Instance


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
    *,
    wait: bool = False,
    n: int | None = None,
    budget: int = 300,
) -> Report:
    """Scored by IGD+.

    With `wait`, r = 1 for all: everybody waits for the slowest, nothing is evaluated
    apart.
    """
    problem = instance.declare((1.0,) * instance.m if wait else ratios(pools))
    return study.simulate(
        problem,
        lambda x, j: float(instance.evaluate(x[None])[0, j]),
        instance.igd_plus,
        pools,
        strategy,
        seed,
        n=n or instance.n,
        budget=budget,
    )


def reached(report: Report, igd_plus: float) -> float | None:
    """When the front was first at least as good."""
    return next((time for time, score in report.history if score <= igd_plus), None)
