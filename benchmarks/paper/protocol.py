"""One run as the paper does it: whole generations and whole batches are waited for,
only full samples are counted.

D = (X, F) full samples · D_j^c' what the stream of cheap objective j found · FE =
len(X)
"""

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray

from app.domain.stepping import LAMBDA
from app.optimizer.models.fit_models import FrozenModels
from app.optimizer.models.surrogate import Truth
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.strategy import STRATEGIES, Strategy
from benchmarks.paper.counterpoise_run import optimise_by_promotion
from benchmarks.paper.results import Outcome, Settings, Spec
from benchmarks.problems.catalogue import Instance, problem
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
BATCH = 3  # u
# The runs on file were made with stream j seeded as the service seeds that of objective
# j - 1. Without this shift every stream, and so every result, is another one.
STREAM_SHIFT = -1
# Runs one strategy: instance, r_c, seed and budget -> values of all full samples
# (budget, m), CPU time of every step. r_j * budget evaluations of objective j are
# allowed; `evaluations.Evaluations` counts them.
Driver = Callable[[Instance, int, int, int], tuple[Array, list[float]]]
DRIVERS: dict[str, Driver] = {"counterpoise": optimise_by_promotion}
NAMES = (*STRATEGIES, *DRIVERS)


def run(spec: Spec, code: str = "") -> Outcome:
    instance = problem(spec.problem, spec.m)
    before = process_time()
    F, seconds = driver(spec)(instance, spec.rc, spec.seed, spec.budget)
    cpu_s = process_time() - before
    first, rest = sum(seconds[:1]), seconds[1:]
    usual, longest = (median(rest), round(max(rest), 4)) if rest else (0.0, None)
    return Outcome(
        spec=spec,
        igd_plus=instance.igd_plus(F),
        cpu_s=round(cpu_s, 3),
        first_step_s=round(first, 4),
        step_s=round(usual, 4),
        code=code,
        longest_step_s=longest,
        hypervolume=round(instance.hypervolume(F), 6),
    )


def driver(spec: Spec) -> Driver:
    """What runs the strategy of this spec: a driver of its own, or the steps of
    [SBP-BO].
    """
    if spec.strategy in DRIVERS:
        return DRIVERS[spec.strategy]
    strategy = choose(spec.strategy, spec.settings)
    return lambda instance, rc, seed, budget: optimise(
        instance, rc, strategy, seed, budget
    )


def choose(name: str, settings: Settings) -> Strategy:
    return replace(
        STRATEGIES[name],
        scaling=settings.scaling,
        lattice=settings.lattice,
        keep_extra=settings.keep_extra,
    )


def optimise(
    instance: Instance, rc: int, strategy: Strategy, seed: int, budget: int = 300
) -> tuple[Array, list[float]]:
    """All values of full samples (budget, m), and the CPU time of every step."""
    declared, snapshot = begin(instance, rc, seed, budget)
    truth = truths(instance, declared)
    frozen: FrozenModels = ()
    seconds = []
    while len(snapshot.X) < budget:
        rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        before = process_time()
        proposal = propose(
            declared, snapshot, strategy, rng, truth=truth, frozen=frozen
        )
        frozen = proposal.models.frozen
        seconds.append(process_time() - before)
        snapshot = tell(instance, snapshot, proposal)
    return snapshot.F, seconds


def begin(
    instance: Instance, rc: int, seed: int, budget: int = 300
) -> tuple[Problem, Snapshot]:
    """r = (r_c, …, r_c, 1); the design and the streams are evaluated."""
    declared = instance.declare((*[float(rc)] * (instance.m - 1), 1.0))
    # (n, d)
    X = initial_design(
        declared,
        min(instance.n, budget),
        generator(seed, StepKind.INITIAL, NO_OBJECTIVE, 0),
    )
    F = instance.evaluate(X)  # (n, m)
    frozen = _streams(instance, declared, X, F, seed)
    return declared, Snapshot(
        1, len(X), budget, min(BATCH, budget - len(X)), X, F, frozen=frozen
    )


def tell(instance: Instance, snapshot: Snapshot, proposal: Proposal) -> Snapshot:
    """The snapshot of the step after, once all that was proposed has been evaluated."""
    X, F = (
        np.vstack([snapshot.X, proposal.full]),
        np.vstack([snapshot.F, instance.evaluate(proposal.full)]),
    )
    extra, steps = [], []
    for j, new in enumerate(proposal.cheap):
        old = snapshot.extra[j]
        extra.append(
            Data(
                np.vstack([old.X, new]), np.append(old.y, instance.evaluate(new)[:, j])
            )
        )
        steps.append(
            np.append(snapshot.extra_steps[j], np.full(len(new), snapshot.step))
        )
    return replace(
        snapshot,
        step=snapshot.step + 1,
        settled=len(X),
        batch=min(BATCH, snapshot.budget - len(X)),
        X=X,
        F=F,
        extra=tuple(extra),
        extra_steps=tuple(steps),
        theta=proposal.theta,
        frozen_theta=proposal.frozen_theta,
    )


def _streams(
    instance: Instance, declared: Problem, X: Array, F: Array, seed: int
) -> tuple[Data | None, ...]:
    """D_j^c' of every cheap objective: n * r_j evaluations, the design's own included."""
    frozen: list[Data | None] = [None] * declared.m
    for j in declared.cheap:
        data, number = Data(X, F[:, j]), 1
        total = len(X) * int(declared.ratios[j])
        while len(data) < total:
            rng = generator(seed, StepKind.STREAM, j + STREAM_SHIFT, number)
            size = min(LAMBDA, total - len(data))
            children = next_generation(
                declared, data, np.arange(len(data)), size, rng, data.X
            )
            data = Data(
                np.vstack([data.X, children]),
                np.append(data.y, instance.evaluate(children)[:, j]),
            )
            number += 1
        frozen[j] = data
    return tuple(frozen)


def truths(instance: Instance, declared: Problem) -> dict[int, Truth]:
    """The cheap objectives themselves, by number."""
    return {j: _column(instance, j) for j in declared.cheap}


def _column(instance: Instance, j: int) -> Truth:
    return lambda X: instance.evaluate(X)[:, j]
