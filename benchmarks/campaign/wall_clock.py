"""One run in virtual time: workers of every objective, planning time included, with the
settings that a study has unless it declares others.
"""

from dataclasses import replace
from time import process_time

from app.simulation.pools import Pool
from app.simulation.study import simulate
from benchmarks.paper.protocol import choose, instance_of
from benchmarks.paper.results import Outcome, Spec
from counterpoise.wire.specification import Specification

SLOW_S = 60.0  # of an expensive evaluation
LOG_SIGMA = 0.3  # of the logarithm of durations
# Of an attempt, where workers are faulty
FAILURE, VANISH = 0.05, 0.02
MAX_RATIO = float(Specification.model_fields["max_ratio"].default)


def run(spec: Spec, code: str = "") -> Outcome:
    """`spec.rc` is the ratio of durations; a study counts at most `max_ratio`."""
    instance = instance_of(spec)
    ratio = min(float(spec.rc), MAX_RATIO)
    problem = instance.declare((*[ratio] * (spec.m - 1), 1.0))
    before = process_time()
    report = simulate(
        problem,
        lambda x, j: float(instance.evaluate(x[None])[0, j]),
        instance.hypervolume,
        pools_of(spec),
        choose(spec.strategy, spec.settings),
        spec.seed,
        n=min(instance.n, spec.budget),
        budget=spec.budget,
        overlap="auto",
        planning_s=None,
    )
    cpu_s = process_time() - before
    timeline = tuple((round(at, 2), round(score, 6)) for at, score in report.history)
    return Outcome(
        spec,
        instance.igd_plus(report.values),
        round(cpu_s, 3),
        0.0,
        round(cpu_s / max(report.steps, 1), 4),
        code,
        hypervolume=timeline[-1][1] if timeline else 0.0,
        timeline=timeline,
    )


def pools_of(spec: Spec) -> tuple[Pool, ...]:
    slow = Pool(SLOW_S, spec.slots, log_sigma=LOG_SIGMA)
    if spec.faulty:
        slow = replace(slow, failure=FAILURE, vanish=VANISH)
    cheap = replace(slow, latency=SLOW_S / spec.rc)
    return (*[cheap] * (spec.m - 1), slow)


def end_of(outcome: Outcome) -> float:
    """Seconds of virtual time until the budget was used up."""
    return outcome.timeline[-1][0] if outcome.timeline else 0.0
