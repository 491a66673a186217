"""A study with heterogeneous workers in virtual time, driven by the rules that drive
the service.

`due` decides what happens next, `propose` what to evaluate. A step reads what is known
when it becomes due; its samples appear when its planning time is over.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from time import process_time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.domain.planning.stepping import (
    Finish,
    Generation,
    Nothing,
    Progress,
    SearchStep,
    Stream,
    due,
    planned_ahead,
    supersedes,
)
from app.optimizer.arrays import Ints
from app.optimizer.models.fit_task import FrozenModels
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data, Snapshot, WarmStart
from app.optimizer.strategies.initial_phase import initial_points
from app.optimizer.strategies.strategy import Strategy
from app.optimizer.strategies.waiting import NO_STREAMS
from app.simulation.pools import TIMER_END, Cluster, Job, Pool
from app.simulation.samples import Samples
from counterpoise.wire.codes import JobState, Phase, StepKind

Array = NDArray[np.float64]
# A point of the unit cube (d,) and an objective's number -> minimised value
Evaluate = Callable[[Array, int], float]
Score = Callable[[Array], float]  # of the complete samples' values, (n, m)
# With the seed: durations and failures; no step draws random numbers from it
POOL_STREAM = (3, 0, 0)
BATCH = 3  # u


@dataclass(frozen=True, slots=True)
class Report:
    makespan: float
    busy: tuple[float, ...]  # share of each pool's worker time until the makespan
    # The same in the search phase, until the pool's last attempt was started
    busy_in_search: tuple[float, ...]
    evaluations: tuple[int, ...]  # values told per objective
    failed: int  # jobs failed for good
    steps: int
    score: float
    # (virtual time, score) at every step and at the end
    history: tuple[tuple[float, float], ...]
    values: Array = field(compare=False)  # of the complete samples, (n, m)


def simulate(
    problem: Problem,
    evaluate: Evaluate,
    score: Score,
    pools: tuple[Pool, ...],
    strategy: Strategy,
    seed: int,
    *,
    n: int,
    budget: int,
    batch: int | Literal["auto"] = BATCH,
    overlap: int | Literal["auto"] = 0,
    planning_s: float | None = 0.0,
) -> Report:
    """One pool per objective; where the problem's ratios are all 1, every worker waits
    for the slowest objective.

    `batch` and `overlap` as in a specification. `planning_s`: of each step, in the unit
    of the latencies; None: the CPU time that the step takes here, in seconds.
    """
    if len(pools) != problem.m:
        raise ValueError(
            f"the problem has {problem.m} objectives, there are {len(pools)} pools"
        )
    cluster = Cluster(pools, np.random.default_rng([seed, *POOL_STREAM]))
    study = Study(
        problem=problem,
        evaluate=evaluate,
        score=score,
        strategy=strategy,
        cluster=cluster,
        seed=seed,
        n=min(n, budget),
        budget=budget,
        batch=batch if isinstance(batch, int) else None,
        declared_overlap=overlap if isinstance(overlap, int) else None,
        planning_s=planning_s,
    )
    return study.run()


@dataclass(slots=True)
class Study:
    problem: Problem
    evaluate: Evaluate
    score: Score
    strategy: Strategy
    cluster: Cluster
    seed: int
    n: int
    budget: int
    batch: int | None
    declared_overlap: int | None = 0  # None: follows the slots
    planning_s: float | None = 0.0
    samples: Samples = field(init=False)
    step: int = 0
    lookahead: int = 0
    planned: Proposal | None = None  # of the step that is being planned
    pool: list[int] = field(default_factory=list)  # samples that it may promote
    search_began: tuple[float, tuple[float, ...]] | None = None  # time, busy until then
    has_read_all: bool = True  # the step that is being planned: no full sample runs
    found_no_point: bool = False  # the last step
    finished: bool = False
    # The last one of each stream that has not ended
    generations: dict[int, int] = field(init=False)
    frozen: list[list[int]] = field(init=False)  # samples of each frozen data set
    # (sample, objective): the step at that time
    told_in: dict[tuple[int, int], int] = field(default_factory=dict)
    models: FrozenModels = ()
    theta: tuple[Array | None, ...] = ()
    frozen_theta: tuple[Array | None, ...] = ()
    warm_starts: tuple[WarmStart | None, ...] = ()
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.samples = Samples(self.problem.width, self.problem.m)
        streams = self.problem.cheap if self._has_streams else ()
        self.generations = dict.fromkeys(streams, 0)
        self.frozen = [[] for _ in range(self.problem.m)]

    def run(self) -> Report:
        design = initial_design(
            self.problem,
            self.n,
            generator(self.seed, StepKind.INITIAL, NO_OBJECTIVE, 0),
        )
        self._plan(design, range(self.problem.m), full=True)
        if self.strategy.initial.common:
            rng = generator(self.seed, StepKind.STREAM, NO_OBJECTIVE, 0)
            self._plan_cheap(initial_points(self.problem, self.n, design, rng))
        while not self.finished and (job := self.cluster.finish()):
            if job is TIMER_END:
                self._commit()
                self._decide()
            elif job.state is not JobState.READY:
                self.told_in[job.sample, job.objective] = self.step
                self.samples.settle(
                    job, self._evaluate(job) if job.state is JobState.DONE else None
                )
                self._decide()
        return self._report()

    def _evaluate(self, job: Job) -> float:
        return self.evaluate(self.samples.all[job.sample].x, job.objective)

    def _decide(self) -> None:
        """Applies what is due until nothing is, or a step is being planned."""
        while self.planned is None and not isinstance(
            decision := due(self._progress()), Nothing
        ):
            match decision:
                case Generation(objective, number, size):
                    self._breed(objective, number, size)
                case SearchStep(number, size):
                    self._search(number, size)
                case Finish():
                    if supersedes(decision):
                        self.samples.supersede_cheap_only()
                    self.finished = True
                    self._score()

    def _progress(self) -> Progress:
        streams = (
            tuple(self._stream(j) for j in self.generations) if self.step == 0 else ()
        )
        return Progress(
            phase=self._phase(),
            n=self.n,
            budget=self.budget,
            planned=len(self.samples.full()),
            unsettled_full=self.samples.unsettled_full,
            step=self.step,
            batch=self.batch,
            ratios=self.problem.ratios,
            cheap=self.problem.cheap,
            streams=streams,
            overlap=self._overlap(),
            slots=self._followed_slots() + self.lookahead,
            found_no_point=self.found_no_point,
        )

    def _overlap(self) -> int:
        if self.declared_overlap is not None:
            return self.declared_overlap
        return max(self._followed_slots() - 1, 0) + self.lookahead

    def _followed_slots(self) -> int:
        """As in the service: 0 where overlap and batch are both declared."""
        is_declared = self.declared_overlap is not None and self.batch is not None
        return 0 if is_declared else self._slow_slots()

    def _slow_slots(self) -> int:
        return sum(self.cluster.pools[j].workers for j in self._slow())

    def _slow(self) -> list[int]:
        return [j for j in range(self.problem.m) if j not in self.problem.cheap]

    def _phase(self) -> Phase:
        if self.finished:
            return Phase.FINISHED
        return Phase.SEARCH if self.step else Phase.INITIAL

    @property
    def _has_streams(self) -> bool:
        """Whether each cheap objective has a search of its own beside the design."""
        initial = self.strategy.initial
        return initial is not NO_STREAMS and not initial.common

    def _stream(self, j: int) -> Stream:
        generation = self.generations[j]
        unsettled = self.samples.unsettled_jobs[j, generation == 0]
        return Stream(j, generation, len(self.samples.asked(j)), unsettled)

    def _breed(self, j: int, number: int, size: int) -> None:
        told = self.samples.told(j)
        X = next_generation(
            self.problem,
            self.samples.data(told, j),
            np.array(told),
            size,
            generator(self.seed, StepKind.STREAM, j, number),
            self.samples.points(self.samples.asked(j)),
        )
        self._plan(X, [j], full=False)
        self.generations[j] = number
        if len(X) == 0:
            del self.generations[j]  # there is nothing left of its space

    def _search(self, number: int, size: int) -> None:
        self._score()
        if self.step == 0 and self._has_streams:
            self.frozen = [
                self.samples.told(j) if j in self.problem.cheap else []
                for j in range(self.problem.m)
            ]
        rng = generator(self.seed, StepKind.SEARCH, NO_OBJECTIVE, number)
        self.pool = self.samples.pool()
        snapshot = self._snapshot(number, size)
        self.has_read_all = self.samples.unsettled_full == 0
        if self.search_began is None:
            self.search_began = (self.cluster.now, self.cluster.busy())
        began = process_time()
        self.planned = propose(
            self.problem, snapshot, self.strategy, rng, frozen=self.models
        )
        took_s = process_time() - began if self.planning_s is None else self.planning_s
        slowest = max(pool.latency for pool in self.cluster.pools)
        if self.declared_overlap is None:
            self.lookahead = planned_ahead(self._slow_slots(), took_s, slowest)
        self.step = number
        if took_s > 0.0:
            self.cluster.set_timer(took_s)
        else:
            self._commit()

    def _commit(self) -> None:
        """The samples of the planned step appear."""
        proposal, self.planned = self.planned, None
        assert proposal is not None  # noqa: S101
        for number in proposal.promoted:
            for job in self.samples.promote(self.pool[number], self.step):
                self.cluster.add(job)
        if supersedes(SearchStep(self.step, len(proposal.full))):
            self.samples.supersede_cheap_only()
        self.models = proposal.models.frozen
        self.theta, self.frozen_theta = proposal.theta, proposal.frozen_theta
        self.warm_starts = proposal.warm_starts
        self.found_no_point = len(proposal.full) + len(proposal.promoted) == 0
        # There is no new point, nor will there be
        self.finished = self.found_no_point and self.has_read_all
        self._plan(proposal.full, range(self.problem.m), full=True)
        self._plan_cheap(proposal.cheap)

    def _snapshot(self, number: int, size: int) -> Snapshot:
        samples, objectives = self.samples, range(self.problem.m)
        full, complete = samples.full(), samples.complete()
        running = samples.running()
        partial = [
            sorted(set(full).intersection(samples.told(j)).difference(complete))
            for j in objectives
        ]
        extra = [
            sorted(set(samples.told(j)).difference(full, self.frozen[j]))
            for j in objectives
        ]
        return Snapshot(
            number,
            len(full) - len(running),
            self.budget,
            size,
            samples.points(complete),
            samples.values(complete),
            full_steps=np.array(
                [samples.all[i].step for i in complete], dtype=np.int64
            ),
            partial=tuple(samples.data(partial[j], j) for j in objectives),
            extra=tuple(samples.data(extra[j], j) for j in objectives),
            extra_steps=tuple(self._extra_steps(extra[j], j) for j in objectives),
            frozen=tuple(self._frozen(j) for j in objectives),
            pending=tuple(samples.unknown(running, j) for j in objectives),
            running=samples.partly_known(running),
            pool=samples.partly_known(self.pool),
            taken=tuple(samples.points(samples.asked(j)) for j in objectives),
            theta=self.theta,
            frozen_theta=self.frozen_theta,
            warm_starts=self.warm_starts,
        )

    def _extra_steps(self, ids: list[int], j: int) -> Ints:
        """The step that asked for each; for a stream's late value, the one in which it
        came.
        """
        return np.array(
            [self.samples.all[i].step or self.told_in[i, j] for i in ids],
            dtype=np.int64,
        )

    def _frozen(self, j: int) -> Data | None:
        return self.samples.data(self.frozen[j], j) if self.frozen[j] else None

    def _plan(self, X: Array, objectives: Iterable[int], *, full: bool) -> None:
        for job in self.samples.add(X, objectives, full=full, step=self.step):
            self.cluster.add(job)

    def _plan_cheap(self, points: Sequence[Array]) -> None:
        for job in self.samples.add_cheap(points, step=self.step):
            self.cluster.add(job)

    def _score(self) -> None:
        if complete := self.samples.complete():
            self.history.append(
                (self.cluster.now, self.score(self.samples.values(complete)))
            )

    def _busy_in_search(self) -> tuple[float, ...]:
        """Attempts that are still under way at a pool's last start count until then, as
        all slots are busy at that moment.
        """
        if self.search_began is None:
            return (0.0,) * self.problem.m
        began, before = self.search_began
        shares = []
        for j, pool in enumerate(self.cluster.pools):
            span = self.cluster.last_start[j] - began
            busy = self.cluster.busy_at_last_start[j] - before[j]
            shares.append(busy / (pool.workers * span) if span > 0 else 0.0)
        return tuple(shares)

    def _report(self) -> Report:
        jobs = list(self.samples.jobs())
        done = Counter(job.objective for job in jobs if job.state is JobState.DONE)
        return Report(
            self.cluster.now,
            self.cluster.busy_share(),
            self._busy_in_search(),
            tuple(done[j] for j in range(self.problem.m)),
            sum(job.state is JobState.FAILED for job in jobs),
            self.step,
            self.history[-1][1] if self.history else nan,  # not one complete sample
            tuple(self.history),
            self.samples.values(self.samples.complete()),
        )
