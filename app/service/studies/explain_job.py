"""Why a job is in its state: what happened to it, which workers had it, and what it
waits for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.jobs import Job
from app.domain.samples import Evaluation
from app.domain.studies import ENDING_DETAILS, Objective, Study, co_objectives_of
from app.domain.times import iso
from app.domain.workers import WorkerPool, pool_of
from app.errors import JobUnknown
from app.service.studies.explain_promotion import promotion_of
from app.store.database import Connection, Database
from app.store.sql.clock import database_time
from app.store.studies.evaluations import evaluations_of
from app.store.studies.jobs import find_job, queue_head
from app.store.studies.samples import find_sample
from app.store.studies.studies import find_study_by_id, objectives_of
from app.store.work.attempts import AttemptOfWorker, last_attempts
from app.store.work.live_workers import held_leases, live_workers
from counterpoise.wire.codes import FailureKind, JobState, Outcome
from counterpoise.wire.failure_message import summary
from counterpoise.wire.views import AttemptStory, JobStory

MOST_AHEAD = 1000
MOST_ATTEMPTS = 100
MESSAGE_TAIL = 10_000  # characters: all that the workers of this package send
MOST_REASON = 400  # of them in a sentence


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known about a job."""

    job: Job
    study: Study
    objective: Objective
    attempts: Sequence[AttemptOfWorker]
    evaluations: Sequence[Evaluation]
    ahead: int | None  # jobs before it in its queue
    pool: WorkerPool | None  # of a ready job
    broken: Sequence[str]  # limits that values of its sample break, as sentences
    now: float


def explain_job(database: Database, job_id: int) -> JobStory:
    with database.read() as connection:
        job = find_job(connection, job_id)
        if job is None:
            raise JobUnknown(
                f"there is no job {job_id}; `counterpoise study` and GET /studies/NAME/jobs list them"
            )
        study = find_study_by_id(connection, job.study)
        objectives = {
            objective.id: objective for objective in objectives_of(connection, study.id)
        }
        sample = find_sample(connection, job.sample)
        facts = _facts(connection, job, study, objectives)
        values = [
            evaluation.value
            for evaluation in facts.evaluations
            if evaluation.value is not None
        ]
        value = values[0] if values else None
        promotion = promotion_of(connection, study, sample, facts.objective, value)
    also = co_objectives_of(list(objectives.values()))[job.objective]
    variables = [variable.name for variable in study.spec.variables]
    return JobStory(
        job=job.id,
        study=study.name,
        sample=job.sample,
        step=sample.step(study.spec.output_names),
        objective=facts.objective.name,
        also=[objectives[other].name for other in also],
        cheap_only=job.cheap_only,
        x=dict(zip(variables, sample.x, strict=True)),
        state=job.state,
        value=value,
        ahead=facts.ahead,
        why=_REASONS[job.state](facts),
        attempts=[_attempt_story(attempt) for attempt in facts.attempts],
        promotion=promotion,
    )


def _facts(
    connection: Connection, job: Job, study: Study, objectives: Mapping[int, Objective]
) -> _Facts:
    objective = objectives[job.objective]
    is_ready = job.state is JobState.READY
    evaluations = evaluations_of(connection, [job.sample])
    return _Facts(
        job=job,
        study=study,
        objective=objective,
        attempts=last_attempts(connection, job.id, MOST_ATTEMPTS),
        evaluations=[
            evaluation
            for evaluation in evaluations
            if evaluation.objective == objective.id
        ],
        ahead=_ahead(connection, job) if is_ready and job.ready_at is None else None,
        pool=_pool(connection, study, objective) if is_ready else None,
        broken=_broken_limits(study, objectives, evaluations),
        now=database_time(connection),
    )


def _broken_limits(
    study: Study, objectives: Mapping[int, Objective], evaluations: Sequence[Evaluation]
) -> list[str]:
    broken = []
    for evaluation in evaluations:
        output = study.spec.outputs[objectives[evaluation.objective].position]
        value = evaluation.value
        if value is not None and not output.keeps_limits(value):
            is_below = output.lower is not None and value < output.lower
            limit = "lower" if is_below else "upper"
            number = output.lower if is_below else output.upper
            broken.append(f"{output.name} is {value:.6g}, its {limit} limit {number:g}")
    return broken


def _ahead(connection: Connection, job: Job) -> int:
    """Jobs before it in its queue; reads no more than it counts."""
    queue = queue_head(connection, job.objective, MOST_AHEAD)
    return queue.index(job.id) if job.id in queue else MOST_AHEAD


def _pool(connection: Connection, study: Study, objective: Objective) -> WorkerPool:
    held = held_leases(connection)
    workers = live_workers(connection, held)
    return pool_of(workers, held, study.name, objective.name)


def _attempt_story(of_worker: AttemptOfWorker) -> AttemptStory:
    attempt = of_worker.attempt
    return AttemptStory(
        number=attempt.number,
        worker=of_worker.worker,
        leased_at=iso(attempt.leased_at),
        ended_at=iso(attempt.ended_at),
        outcome=attempt.outcome,
        value=attempt.value,
        failure=attempt.failure,
        message=attempt.message[-MESSAGE_TAIL:] if attempt.message else None,
        duration_s=attempt.duration_s,
    )


def _why_ready(facts: _Facts) -> list[str]:
    job, study = facts.job, facts.study
    reasons = []
    if facts.attempts:
        last = facts.attempts[-1]
        ended = last.attempt.failure or last.attempt.outcome
        reasons.append(
            f"attempt {last.attempt.number}, with worker {last.worker}, ended: {ended}"
        )
        reasons += _reported(facts)
    if study.is_paused:
        reasons.append(
            f"the study is paused; `counterpoise study resume {study.name}` lets it go on"
        )
    if job.ready_at is not None:
        reasons.append(
            f"it backs off until {iso(job.ready_at)}, because it was lost {_times(job.losses)}"
        )
    if facts.ahead is not None:
        reasons.append(_place_in_queue(facts.ahead, facts.objective.name))
    if facts.pool is not None:
        reasons += _why_not_taken(facts.objective.name, facts.pool)
    return reasons


def _place_in_queue(ahead: int, objective: str) -> str:
    if ahead == 0:
        return f"it is the next in the queue of {objective}"
    if ahead >= MOST_AHEAD:
        return f"{MOST_AHEAD} or more jobs are before it in the queue of {objective}"
    jobs = "1 job is" if ahead == 1 else f"{ahead} jobs are"
    return f"{jobs} before it in the queue of {objective}"


def _why_not_taken(objective: str, pool: WorkerPool) -> list[str]:
    reasons = []
    if pool.drained:
        drained = ", ".join(worker.name for worker in pool.drained[:3])
        reasons.append(f"drained, so that they do not ask for it: {drained}")
    if not pool.able:
        return [
            *reasons,
            f"no live worker takes {objective}; start one, or see `counterpoise workers`",
        ]
    count = len(pool.able)
    workers = f"{count} live worker{'' if count == 1 else 's'}"
    if not pool.has_free_slots:
        return [
            *reasons,
            f"all {pool.slots} slots of {workers} for {objective} are busy",
        ]
    free = pool.slots - pool.busy
    available = f"{workers} for {objective} with {free} free of {pool.slots} slots"
    return [*reasons, f"{available}: one of the next asks gets it"]


def _why_leased(facts: _Facts) -> list[str]:
    job, last = facts.job, facts.attempts[-1]
    leased_at = last.attempt.leased_at
    reasons = [
        f"worker {last.worker} has had it since {iso(leased_at)}, as attempt {last.attempt.number}"
    ]
    deadline = iso(job.expires_at)
    if job.expires_at is not None and job.expires_at < facts.now:
        reasons.append(
            f"its lease expired at {deadline}; without a heartbeat another worker gets the job in a moment"
        )
    else:
        reasons.append(
            f"its lease runs until {deadline}, and longer with every heartbeat"
        )
    if facts.objective.timeout_s is not None:
        latest = iso(leased_at + facts.objective.timeout_s)
        reasons.append(
            f"heartbeats extend it until {latest} at most: timeout_s is over then"
        )
    return reasons


def _why_done(facts: _Facts) -> list[str]:
    evaluation = next(
        evaluation for evaluation in facts.evaluations if evaluation.value is not None
    )
    at = iso(evaluation.at)
    for of_worker in facts.attempts:
        attempt = of_worker.attempt
        if attempt.outcome in (Outcome.DONE, Outcome.LATE):
            late = (
                ", after its lease had expired"
                if attempt.outcome is Outcome.LATE
                else ""
            )
            told = f"worker {of_worker.worker} told its value at {at}, in attempt {attempt.number}{late}"
            return [told, *_infeasible_sample(facts)]
    imported = f"its value was not told by a worker, but imported at {at}"
    return [imported, *_infeasible_sample(facts)]


def _infeasible_sample(facts: _Facts) -> list[str]:
    return [f"the sample is infeasible: {broken}" for broken in facts.broken]


def _why_failed(facts: _Facts) -> list[str]:
    job = facts.job
    kind = facts.evaluations[-1].failure if facts.evaluations else None
    again = f"`counterpoise study retry {facts.study.name}` runs it again"
    if _was_cancelled(facts):
        return [f"it was cancelled by hand; {again}"]
    if kind is FailureKind.ERROR:
        often = f"the simulation failed {_times(job.errors)}, as often as max_attempts allows; {again}"
        return [often, *_reported(facts)]
    return [f"it was lost {_times(job.losses)}, as often as max_losses allows; {again}"]


def _reported(facts: _Facts) -> list[str]:
    """What went wrong at last, in one line."""
    for of_worker in reversed(facts.attempts):
        if text := summary(of_worker.attempt.message or ""):
            number, reason = of_worker.attempt.number, text[:MOST_REASON]
            return [f"worker {of_worker.worker} reported of attempt {number}: {reason}"]
    return []


def _was_cancelled(facts: _Facts) -> bool:
    last = facts.attempts[-1].attempt if facts.attempts else None
    return last is not None and last.outcome is Outcome.CANCELLED


def _why_infeasible(facts: _Facts) -> list[str]:
    name = facts.study.name
    return [
        "the run reported the point as infeasible: a result, which is not retried;"
        f" `counterpoise study retry {name} --infeasible` runs it again all the same"
    ]


def _why_waiting(facts: _Facts) -> list[str]:
    return [
        f"{facts.objective.name} is slow: it waits until the sample's cheap runs are settled,"
        " because they may rule the point out"
    ]


def _why_superseded(facts: _Facts) -> list[str]:
    job, study = facts.job, facts.study
    if facts.broken:
        reason = f"the sample is infeasible: {'; '.join(facts.broken)}"
    elif job.sample_infeasible:
        reason = "another run of the sample reported the point as infeasible"
    elif job.is_outdated(study.step):
        reason = f"the search went on to step {job.step + 1} before a worker took it"
    elif study.is_stopped:
        reason = "the study was stopped before a worker took it"
    elif study.ending is not None:
        reason = f"it is no longer needed: {ENDING_DETAILS[study.ending]}"
    else:
        reason = "it is no longer needed: the search went on"
    return [f"{reason}; a value would still be used"]


_REASONS = {
    JobState.WAITING: _why_waiting,
    JobState.READY: _why_ready,
    JobState.LEASED: _why_leased,
    JobState.DONE: _why_done,
    JobState.INFEASIBLE: _why_infeasible,
    JobState.FAILED: _why_failed,
    JobState.SUPERSEDED: _why_superseded,
}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
