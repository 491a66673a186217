"""A study as the stepping rule sees it, and how many settled jobs one step may read."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from app.domain.jobs import Job
from app.domain.planning.ratios import declared_ratios
from app.domain.planning.stepping import (
    COMMON_LAMBDA,
    LAMBDA,
    Nothing,
    Progress,
    Stream,
    due,
    may_plan,
)
from app.domain.studies import Objective, Study, co_objectives_of
from counterpoise.wire.codes import Phase

# Strategies that evaluate all cheap objectives at the same points in the initial phase.
# Named here as well as in `app.optimizer.strategies`, because the domain imports no
# numerical code; a test compares the two.
COMMON_POINTS = frozenset(
    {"counterpoise", "brood-interleaving", "speculative-interleaving"}
)
NO_JOBS: Mapping[int, int] = MappingProxyType({})


def progress_of(
    study: Study,
    objectives: Sequence[Objective],
    ratios: Sequence[float],
    streaming: Collection[int],
    settling: Mapping[int, int] = NO_JOBS,
) -> Progress:
    """`streaming`: positions of objectives whose next generation is due already.

    `settling`: jobs that are about to be settled, by objective.
    """
    threshold = study.spec.cheap_threshold
    cheap = [
        objective
        for objective, ratio in zip(objectives, ratios, strict=True)
        if ratio > threshold
    ]
    has_common_points = study.spec.strategy in COMMON_POINTS
    if has_common_points:
        streams = _common_stream(objectives, cheap, ratios, streaming)
    else:
        streams = [run for run in cheap if _has_stream(run, streaming)]
    return Progress(
        phase=study.phase,
        n=study.planned_full,
        budget=study.budget,
        planned=study.planned_full,
        unsettled_full=study.unsettled_full,
        step=study.step,
        batch=study.spec.batch_size if isinstance(study.spec.batch_size, int) else None,
        ratios=tuple(ratios),
        cheap=tuple(objective.position for objective in cheap),
        streams=tuple(
            _stream(objective, settling.get(objective.id, 0)) for objective in streams
        ),
        overlap=study.overlap,
        lam=COMMON_LAMBDA if has_common_points else LAMBDA,
        slots=study.slow_slots + study.lookahead,
    )


def _common_stream(
    objectives: Sequence[Objective],
    cheap: Sequence[Objective],
    ratios: Sequence[float],
    streaming: Collection[int],
) -> list[Objective]:
    """The objective that holds the common stream of all cheap ones: the one in which it
    has begun, or before that each of those with the largest ratio.
    """
    if streaming:
        return []
    begun = [objective for objective in objectives if objective.generation != 0]
    largest = max((ratios[objective.position] for objective in cheap), default=0.0)
    leading = begun or [run for run in cheap if ratios[run.position] == largest]
    return [run for run in leading if run in cheap and _has_stream(run, streaming)]


def _has_stream(objective: Objective, streaming: Collection[int]) -> bool:
    has_ended = objective.generation < 0
    return objective.has_jobs and not has_ended and objective.position not in streaming


def _stream(objective: Objective, settling: int) -> Stream:
    return Stream(
        objective=objective.position,
        generation=objective.generation,
        planned=objective.created,
        unsettled=objective.unsettled_in_stream - settling,
    )


def largest_ratios(study: Study, objectives: Sequence[Objective]) -> list[float]:
    """The ratios with which most is due: the declared ones, else the largest possible
    ones, because measuring them would cost queries.
    """
    declared = declared_ratios(study.spec)
    return declared or [study.spec.max_ratio] * len(objectives)


def prefix_until_due(
    study: Study,
    objectives: Sequence[Objective],
    jobs: Sequence[Job],
    ruled_out: Collection[int] = (),
) -> tuple[int, bool]:
    """How many of these jobs may be settled in one go, and whether a step may be due
    afterwards.

    `ruled_out`: samples that a report on one of these jobs rules out.

    A step reads exactly what was known when it became due. If that can happen in the
    middle of a list, the list is split there; otherwise what a step reads would depend
    on which tells happened to arrive together.
    """

    def may_be_due_after(count: int) -> bool:
        return _may_become_due(study, objectives, jobs[:count], ruled_out)

    if not may_be_due_after(len(jobs)):
        return len(jobs), False
    return 1 + bisect_left(range(1, len(jobs)), True, key=may_be_due_after), True


def _may_become_due(
    study: Study,
    objectives: Sequence[Objective],
    jobs: Sequence[Job],
    ruled_out: Collection[int],
) -> bool:
    """Whether settling these jobs, or some of them, can make a step due.

    Evaluated before anything is written.
    """
    if study.is_finished:
        return False
    settled = _samples_settled_by(jobs, objectives, ruled_out)
    if settled and may_plan(study.phase, study.unsettled_full - settled, study.overlap):
        return True
    if study.phase is not Phase.INITIAL:
        return False
    # Settling jobs can only make generations due, never the reverse: nothing at the end
    # means nothing before.
    settling = Counter(job.objective for job in jobs)
    progress = progress_of(
        study, objectives, largest_ratios(study, objectives), (), settling
    )
    return not isinstance(due(progress), Nothing)


def _samples_settled_by(
    jobs: Sequence[Job], objectives: Sequence[Objective], ruled_out: Collection[int]
) -> int:
    """An upper bound of the number of full samples without open outputs after these
    jobs.
    """
    co_objectives = co_objectives_of(objectives)
    outputs: Counter[int] = Counter()
    open_before: dict[int, int] = {}
    for job in jobs:
        if not job.cheap_only:
            outputs[job.sample] += 1 + len(co_objectives[job.objective])
            open_before[job.sample] = job.sample_open
    return sum(
        sample in ruled_out or outputs[sample] >= open_before[sample]
        for sample in outputs
    )
