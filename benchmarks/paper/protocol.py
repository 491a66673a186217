"""One run as the paper does it: whole generations and whole batches are waited for,
only full samples are counted.

D = (X, F) full samples · D_j^c' what the stream of cheap objective j found · FE =
len(X)
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray

from app.domain.planning.stepping import LAMBDA
from app.optimizer.models.fit_task import FrozenModels
from app.optimizer.models.surrogate import Truth
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.strategy import Strategy
from app.optimizer.strategies.waiting import NO_STREAMS
from benchmarks.paper.counterpoise_run import optimise_by_promotion
from benchmarks.paper.evaluations import ratios
from benchmarks.paper.results import Outcome, Settings, Spec
from benchmarks.problems.catalogue import Instance, problem
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
BATCH = 3  # u
TRACE_EVERY = 10
# The runs on file were made with stream j seeded as the service seeds that of objective
# j - 1. Without this shift every stream, and so every result, is another one.
STREAM_SHIFT = -1
# r_c, or the ratios of all objectives
Ratios = int | tuple[float, ...]
# Values of all full samples (budget, m), and the CPU time of every step
Run = tuple[Array, list[float]]


def run(
    spec: Spec, code: str = "", strategies: Mapping[str, Strategy] = STRATEGIES
) -> Outcome:
    instance = instance_of(spec)
    before = process_time()
    F, seconds = optimise(
        instance,
        spec.ratios or spec.rc,
        choose(spec.strategy, spec.settings, strategies),
        spec.seed,
        spec.budget,
    )
    return outcome(spec, instance, F, seconds, process_time() - before, code)


def instance_of(spec: Spec) -> Instance:
    instance = problem(spec.problem, spec.m, spec.d or None)
    return replace(instance, n=spec.n) if spec.n else instance


def outcome(
    spec: Spec,
    instance: Instance,
    F: Array,
    seconds: list[float],
    cpu_s: float,
    code: str = "",
) -> Outcome:
    """The scores of a run whose full samples have the values F (budget, m)."""
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
        igd=round(instance.igd(F), 6) if spec.m == 2 else None,
        trace=tuple(trace(instance, F)),
    )


def trace(instance: Instance, F: Array) -> Iterator[tuple[int, float]]:
    """IGD+ after the design, and after every ten full samples."""
    first = min(instance.n, len(F))
    for count in (*range(first, len(F), TRACE_EVERY), len(F)):
        yield count, round(instance.igd_plus(F[:count]), 6)


def choose(
    name: str, settings: Settings, strategies: Mapping[str, Strategy] = STRATEGIES
) -> Strategy:
    return replace(
        strategies[name],
        scaling=settings.scaling,
        lattice=settings.lattice,
        keep_extra=settings.keep_extra,
        models=settings.models,
    )


def optimise(
    instance: Instance, rc: Ratios, strategy: Strategy, seed: int, budget: int = 300
) -> Run:
    """r_j * budget evaluations of objective j are made."""
    if strategy.initial.common:
        return optimise_by_promotion(instance, rc, strategy, seed, budget)
    return optimise_with_streams(instance, rc, strategy, seed, budget)


def optimise_with_streams(
    instance: Instance, rc: Ratios, strategy: Strategy, seed: int, budget: int = 300
) -> Run:
    """The initial phase of [SBP-BO]: a genetic algorithm for each cheap objective."""
    streams = strategy.initial is not NO_STREAMS
    declared, snapshot = begin(instance, rc, seed, budget, streams=streams)
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
    instance: Instance,
    rc: Ratios,
    seed: int,
    budget: int = 300,
    *,
    streams: bool = True,
) -> tuple[Problem, Snapshot]:
    """The design is evaluated, and the streams unless the strategy waits."""
    declared = instance.declare(ratios(instance, rc))
    # (n, d)
    X = initial_design(
        declared,
        min(instance.n, budget),
        generator(seed, StepKind.INITIAL, NO_OBJECTIVE, 0),
    )
    F = instance.evaluate(X)  # (n, m)
    frozen = _streams(instance, declared, X, F, seed) if streams else ()
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
        full_steps=np.append(
            snapshot.steps_of_full, np.full(len(proposal.full), snapshot.step)
        ),
        extra=tuple(extra),
        extra_steps=tuple(steps),
        theta=proposal.theta,
        frozen_theta=proposal.frozen_theta,
        warm_starts=proposal.warm_starts,
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
