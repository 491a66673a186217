"""Heartbeats: workers keep the leases of what they evaluate."""

from collections.abc import Mapping, Sequence

from app.domain.jobs import Attempt, Job
from app.domain.studies import Objective, Study, co_objectives_of
from app.domain.times import iso
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet
from app.fault_points import point
from app.store.database import Connection, Database
from app.store.studies.studies import objectives_of, studies_to_cancel
from app.store.work.apply_changes import apply
from app.store.work.attempt_counts import count_attempts
from app.store.work.attempts import LeaseOwner, lease_owners, read_attempts
from app.store.work.lease_deadlines import extend_leases
from app.store.work.row_locks import lock_jobs, lock_study
from app.store.work.signs_of_life import record_sign_of_life
from counterpoise.wire.codes import CancelReason
from counterpoise.wire.work import Alive

DETAILS = {
    CancelReason.TIMEOUT: "timeout_s is over",
    CancelReason.STUDY_STOPPED: "the study was stopped",
    CancelReason.STUDY_DELETED: "its study was deleted",
    CancelReason.LEASE_UNKNOWN: "this lease was never issued, or its study was deleted",
    CancelReason.LEASE_ENDED: "this lease has ended",
    CancelReason.LEASE_EXPIRED: "the lease expired; a later attempt has ended, and the job waits for another",
    CancelReason.LEASED_TO_ANOTHER: "the lease expired and another worker has the job",
    CancelReason.VALUE_KNOWN: "another worker's value came first",
    CancelReason.JOB_FAILED: "the job has failed for good",
    CancelReason.SUPERSEDED: "the value is no longer needed; it would still be recorded",
    CancelReason.SAMPLE_INFEASIBLE: "another run has found the point infeasible",
    CancelReason.CANCELLED: "an engineer cancelled the job",
}


def heartbeat(database: Database, leases: Sequence[str]) -> list[Alive]:
    """Extend current leases, revive expired ones whose job is free, and return for the
    others why they are lost.
    """
    responses = database.write(_extend, leases)
    lost = [lease for lease in leases if lease not in responses]
    if lost:  # in a transaction of its own, which locks studies before jobs
        responses |= database.write(_revive, lost)
    return [responses[lease] for lease in leases]


def _extend(connection: Connection, leases: Sequence[str]) -> dict[str, Alive]:
    owners = lease_owners(connection, leases)
    deadlines = extend_leases(
        connection, {lease: owner.job for lease, owner in owners.items()}
    )
    stopped = studies_to_cancel(connection, {owner.study for owner in owners.values()})
    record_sign_of_life(connection, owners)
    responses = {}
    for lease, deadline in deadlines.items():
        reason = None
        if deadline.timed_out:
            reason = CancelReason.TIMEOUT
        elif owners[lease].study in stopped:
            reason = CancelReason.STUDY_STOPPED
        elif owners[lease].sample_infeasible:
            reason = CancelReason.SAMPLE_INFEASIBLE
        responses[lease] = _kept(lease, deadline.expires_at, reason)
    return responses


def _kept(lease: str, expires_at: float, cancel: CancelReason | None = None) -> Alive:
    detail = DETAILS[cancel] if cancel is not None else None
    return Alive(
        lease=lease,
        expires_at=iso(expires_at),
        cancel=cancel is not None,
        reason=cancel,
        detail=detail,
    )


def _lost(lease: str, reason: CancelReason, *, cancel: bool = True) -> Alive:
    return Alive(
        lease=lease,
        expires_at=None,
        cancel=cancel,
        reason=reason,
        detail=DETAILS[reason],
    )


def _revive(connection: Connection, leases: Sequence[str]) -> dict[str, Alive]:
    owners = lease_owners(connection, leases)
    responses = {lease: _lost(lease, CancelReason.LEASE_UNKNOWN) for lease in leases}
    revived: dict[str, Attempt | None] = {}
    for study_id in sorted({owner.study for owner in owners.values()}):
        own = {
            lease: owner for lease, owner in owners.items() if owner.study == study_id
        }
        study = lock_study(connection, study_id)
        if study is None:
            responses |= {
                lease: _lost(lease, CancelReason.STUDY_DELETED) for lease in own
            }
        else:
            responses |= _revive_in_study(connection, study, own, revived)
    count_attempts(connection, revived)
    point("revive.written")
    return responses


def _revive_in_study(
    connection: Connection,
    study: Study,
    owners: Mapping[str, LeaseOwner],
    revived: dict[str, Attempt | None],
) -> dict[str, Alive]:
    objectives = {
        objective.id: objective for objective in objectives_of(connection, study.id)
    }
    jobs = lock_jobs(connection, [owner.job for owner in owners.values()])
    attempts = read_attempts(connection, owners)
    of_leases = {
        lease: (jobs[owner.job], attempts[lease]) for lease, owner in owners.items()
    }
    changes = _revivals(of_leases, objectives)
    apply(connection, study, changes, co_objectives_of(list(objectives.values())))
    revived |= {lease: attempts[lease] for lease in changes.ended_leases}
    deadlines = extend_leases(
        connection, {lease: owners[lease].job for lease in changes.ended_leases}
    )
    responses = {}
    for lease, (job, attempt) in of_leases.items():
        if lease in deadlines:
            responses[lease] = _kept(lease, deadlines[lease].expires_at)
        else:
            timeout_s = objectives[job.objective].timeout_s
            is_wanted = job_rules.is_wanted(job, attempt, timeout_s)
            reason = job_rules.loss_reason(job, attempt, timeout_s)
            cancel = study.cancel_running or not is_wanted
            responses[lease] = _lost(lease, reason, cancel=cancel)
    return responses


def _revivals(
    of_leases: Mapping[str, tuple[Job, Attempt]], objectives: Mapping[int, Objective]
) -> ChangeSet:
    """Each job goes back to the lease of its last attempt, if that may be revived."""
    changes = ChangeSet()
    taken: set[int] = set()
    for lease, (job, attempt) in of_leases.items():
        objective = objectives[job.objective]
        if job.id not in taken and job_rules.may_revive(
            job, attempt, objective.timeout_s
        ):
            job_rules.revive(changes, job, lease, objective.lease_s)
            taken.add(job.id)
    return changes
