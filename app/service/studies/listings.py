"""Lists of what a study has, page by page, in the user's units."""

from collections.abc import Mapping, Sequence

from app.domain.jobs import Job
from app.domain.samples import Sample
from app.domain.studies import Study
from app.domain.times import iso
from app.errors import ObjectiveUnknown
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.studies.evaluations import evaluations_of
from app.store.studies.jobs import LastAttempt, last_attempt_of_each, page_of_jobs
from app.store.studies.samples import page_of_samples
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from app.store.work.attempts import AttemptOfWorker, attempts_at
from counterpoise.wire.codes import JobState
from counterpoise.wire.failure_message import summary
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import (
    AttemptView,
    JobView,
    SampleView,
    StepView,
)


def list_samples(
    database: Database, name: str, after: int, limit: int, full: bool | None
) -> list[tuple[int, SampleView]]:
    with database.read() as connection:
        study = require_study(connection, name)
        samples = page_of_samples(connection, study.id, after, limit, full)
        return [
            (view.sample, view) for view in sample_views(connection, study, samples)
        ]


def sample_views(
    connection: Connection, study: Study, samples: Sequence[Sample]
) -> list[SampleView]:
    names = {
        objective.id: objective.name
        for objective in objectives_of(connection, study.id)
    }
    variables = [variable.name for variable in study.spec.variables]
    values: dict[int, dict[str, float]] = {sample.id: {} for sample in samples}
    failures: dict[int, dict[str, str]] = {sample.id: {} for sample in samples}
    for evaluation in evaluations_of(connection, list(values)):
        objective = names[evaluation.objective]
        if evaluation.value is not None:
            values[evaluation.sample][objective] = evaluation.value
            failures[evaluation.sample].pop(objective, None)
        elif evaluation.failure is not None:
            failures[evaluation.sample][objective] = evaluation.failure
    broken = {sample: study.spec.broken_limits(own) for sample, own in values.items()}
    return [
        SampleView(
            sample=sample.id,
            step=sample.step(study.spec.output_names),
            full=sample.full,
            x=dict(zip(variables, sample.x, strict=True)),
            values=values[sample.id],
            failures=failures[sample.id],
            open=sample.open,
            infeasible=sample.infeasible or bool(broken[sample.id]),
            broken_limits=broken[sample.id],
            withdrawn=sample.is_withdrawn,
            promoted=sample.promoted_in,
            excluded=sample.excluded,
        )
        for sample in samples
    ]


def list_jobs(
    database: Database,
    name: str,
    after: int,
    limit: int,
    objective: str | None,
    state: JobState | None,
    *,
    newest_first: bool = False,
) -> list[tuple[int, JobView]]:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        ids = {output.name: output.id for output in objectives}
        if objective is not None and objective not in ids:
            raise ObjectiveUnknown(
                f"objective {objective!r} is not in study {name!r}{did_you_mean(objective, ids)}"
            )
        wanted = ids[objective] if objective is not None else None
        jobs = page_of_jobs(
            connection,
            study.id,
            after,
            limit,
            wanted,
            state,
            newest_first=newest_first,
        )
        attempts = last_attempt_of_each(connection, [job.id for job in jobs])
        values = _values(connection, jobs)
    names = {id_: name for name, id_ in ids.items()}
    return [
        (job.id, _job_view(job, names, values, attempts.get(job.id))) for job in jobs
    ]


def _values(
    connection: Connection, jobs: Sequence[Job]
) -> dict[tuple[int, int], float]:
    """By sample and objective."""
    found = {}
    for evaluation in evaluations_of(connection, [job.sample for job in jobs]):
        if evaluation.value is not None:
            found[evaluation.sample, evaluation.objective] = evaluation.value
    return found


def _job_view(
    job: Job,
    names: Mapping[int, str],
    values: Mapping[tuple[int, int], float],
    attempt: LastAttempt | None,
) -> JobView:
    return JobView(
        job=job.id,
        sample=job.sample,
        objective=names[job.objective],
        state=job.state,
        value=values.get((job.sample, job.objective)),
        attempts=job.attempts,
        cheap_only=job.cheap_only,
        worker=attempt.worker if attempt else None,
        expires_at=iso(job.expires_at),
        failure=attempt.failure if attempt else None,
        message=summary(attempt.message) if attempt and attempt.message else None,
    )


def list_attempts(
    database: Database, name: str, after: int, limit: int
) -> list[tuple[int, AttemptView]]:
    """All attempts of at most `limit` jobs; a job without any is listed once."""
    with database.read() as connection:
        study = require_study(connection, name)
        names = {
            objective.id: objective.name
            for objective in objectives_of(connection, study.id)
        }
        jobs = page_of_jobs(connection, study.id, after, limit)
        attempts = attempts_at(connection, [job.id for job in jobs])
    views = []
    for job in jobs:
        objective = names[job.objective]
        views += [
            (job.id, _attempt_view(job, objective, attempt))
            for attempt in attempts.get(job.id, [None])
        ]
    return views


def _attempt_view(
    job: Job, objective: str, of_worker: AttemptOfWorker | None
) -> AttemptView:
    attempt = of_worker.attempt if of_worker else None
    return AttemptView(
        job=job.id,
        sample=job.sample,
        objective=objective,
        cheap_only=job.cheap_only,
        state=job.state,
        attempt=attempt.number if attempt else None,
        worker=of_worker.worker if of_worker else None,
        leased_at=iso(attempt.leased_at if attempt else None),
        ended_at=iso(attempt.ended_at if attempt else None),
        outcome=attempt.outcome if attempt else None,
        value=attempt.value if attempt else None,
        failure=attempt.failure if attempt else None,
        message=attempt.message if attempt else None,
        duration_s=attempt.duration_s if attempt else None,
        details=attempt.details if attempt else None,
    )


def list_steps(
    database: Database, name: str, after: int, limit: int
) -> list[tuple[int, StepView]]:
    with database.read() as connection:
        study = require_study(connection, name)
        steps = steps_of(connection, study.id, after=after, limit=limit)
    names = study.spec.output_names
    views = []
    for step in steps:
        view = StepView(
            step=step.name(names),
            kind=step.kind,
            objective=names[step.objective] if step.objective >= 0 else None,
            number=step.number,
            state=step.state,
            due_seq=step.due_seq,
            due_at=iso(step.due_at),
            done_at=iso(step.done_at),
            faults=step.faults,
            fault=step.fault,
            record=step.record,
        )
        views.append((step.id, view))
    return views
