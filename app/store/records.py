"""Rows of studies, objectives, samples, jobs, attempts and steps become domain records."""

from typing import Any

from app.domain.jobs import Attempt, Job
from app.domain.samples import Evaluation, Sample
from app.domain.steps import NO_OBJECTIVE, Step, StepInputs
from app.domain.studies import Objective, Study
from app.domain.workers import FAILURE_COUNTS, Worker
from counterpoise.wire.codes import (
    Ending,
    FailureKind,
    JobState,
    Outcome,
    Phase,
    StepKind,
    StepState,
    StudyState,
)
from counterpoise.wire.specification import Specification


def study_from_row(row: Any, spec: Specification) -> Study:
    return Study(
        id=row.id,
        name=row.name,
        spec=spec,
        seed=row.seed,
        phase=Phase(row.phase),
        state=StudyState(row.state),
        budget=row.budget,
        sequence=row.sequence,
        planned_full=row.planned_full,
        settled_full=row.settled_full,
        withdrawn=row.withdrawn,
        step=row.step,
        slow_slots=row.slow_slots,
        lookahead=row.lookahead,
        imported=row.imported,
        imported_complete=row.imported_complete,
        cancel_running=row.cancel_running,
        created_at=row.created_at,
        finished_at=row.finished_at,
        ending=Ending(row.ending) if row.ending is not None else None,
    )


def objective_from_row(row: Any) -> Objective:
    return Objective(
        id=row.id,
        study=row.study_id,
        position=row.position,
        name=row.name,
        same_run_as=row.same_run_as,
        lease_s=row.lease_s,
        timeout_s=row.timeout_s,
        ratio=row.ratio,
        cheap=row.cheap,
        created=row.created,
        waiting=row.waiting,
        done=row.done,
        infeasible=row.infeasible,
        failed=row.failed,
        superseded=row.superseded,
        open_full=row.open_full,
        generation=row.generation,
    )


def job_from_row(row: Any) -> Job:
    return Job(
        id=row.id,
        study=row.study_id,
        objective=row.objective_id,
        sample=row.sample_id,
        cheap_only=row.cheap_only,
        step=row.step,
        state=JobState(row.state),
        lease=row.lease,
        leased_at=row.leased_at,
        expires_at=row.expires_at,
        ready_at=row.ready_at,
        attempts=row.attempts,
        errors=row.errors,
        losses=row.losses,
        sample_open=row.sample_open,
        sample_waiting=row.sample_waiting,
        sample_planned=bool(row.sample_planned),
        sample_infeasible=bool(row.sample_infeasible),
    )


def attempt_from_row(row: Any) -> Attempt:
    return Attempt(
        job=row.job_id,
        number=row.number,
        lease=row.attempt_lease,
        worker=row.worker_id,
        leased_at=row.leased_at,
        ended_at=row.ended_at,
        outcome=Outcome(row.outcome) if row.outcome is not None else None,
        value=row.value,
        failure=_failure(row.failure),
        message=row.message,
        duration_s=row.duration_s,
        details=row.details,
        age_s=row.age_s,
    )


def step_from_row(row: Any) -> Step:
    return Step(
        id=row.id,
        study=row.study_id,
        kind=StepKind(row.kind),
        objective=row.objective,
        number=row.number,
        state=StepState(row.state),
        due_seq=row.due_seq,
        due_at=row.due_at,
        inputs=StepInputs.from_json(row.inputs),
        claim=row.claim,
        claim_expires_at=row.claim_expires_at,
        faults=row.faults,
        fault=row.fault,
        retry_at=row.retry_at,
        done_at=row.done_at,
        record=row.record,
    )


def sample_from_row(row: Any) -> Sample:
    is_proposed = row.kind is not None
    return Sample(
        id=row.id,
        x=row.x,
        full=row.full,
        open=row.open,
        given_up=row.given_up,
        infeasible=row.infeasible,
        imported_seq=row.imported_seq,
        kind=StepKind(row.kind) if is_proposed else None,
        number=row.number if is_proposed else 0,
        objective=row.objective if is_proposed else NO_OBJECTIVE,
        promoted_in=row.promoted_in,
        excluded=row.excluded,
    )


def evaluation_from_row(row: Any) -> Evaluation:
    return Evaluation(
        seq=row.seq,
        sample=row.sample_id,
        objective=row.objective_id,
        value=row.value,
        failure=_failure(row.failure),
        at=row.at,
    )


def worker_from_row(row: Any) -> Worker:
    return Worker(
        id=row.id,
        name=row.name,
        first_seen_at=row.first_seen_at,
        last_seen_at=row.last_seen_at,
        studies=row.studies,
        objectives=row.objectives,
        slots=row.slots,
        drained=row.drained,
        done=row.done,
        failures={kind: getattr(row, kind) for kind in FAILURE_COUNTS},
        busy_s=row.busy_s,
        shared_at=row.shared_at,
        left_at=row.left_at,
    )


def _failure(kind: str | None) -> FailureKind | None:
    return FailureKind(kind) if kind is not None else None
