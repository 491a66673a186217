"""Heartbeats and releases: what workers say while they work."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping

from app.domain.changes import Change, Ending, JobRow, Ledger
from app.domain.job_rules import released
from app.domain.timestamps import iso
from app.fault_points import point
from app.service.work.tell import Ended, limits_of, note_ended
from app.store.database import Database
from app.store.studies.studies import cancelling, guests, objectives_of
from app.store.wakeups import notify
from app.store.work.apply import write
from app.store.work.attempts import owners, read_attempts
from app.store.work.lease_deadlines import prolong
from app.store.work.row_locks import lock_jobs, lock_study
from app.store.work.workers import count_attempts, hear_workers
from counterpoise.wire.codes import CancelReason, JobState, Outcome
from counterpoise.wire.work import Alive


def heartbeat(database: Database, leases: Sequence[str]) -> list[Alive]:
    """Prolong what is current, revive what expired and nobody else has, and say of the rest why it is lost."""
    answers = database.write(lambda connection: _prolong(connection, leases))
    lost = [lease for lease in leases if lease not in answers]
    if lost:  # in a transaction of its own, which locks the study before the jobs
        answers |= database.write(lambda connection: _revive_all(connection, lost))
    return [answers[lease] for lease in leases]


def _prolong(connection: Connection, leases: Sequence[str]) -> dict[str, Alive]:
    known = owners(connection, leases)
    current = prolong(connection, {lease: job for lease, (job, _) in known.items()})
    stopped = cancelling(connection, {study for _, study in known.values()})
    hear_workers(connection, known)
    answers = {}
    for lease, (deadline, timed_out) in current.items():
        reason = None
        if timed_out:
            reason = CancelReason.TIMEOUT
        elif known[lease][1] in stopped:
            reason = CancelReason.STUDY_STOPPED
        answers[lease] = _alive(lease, deadline, reason)
    return answers


DETAILS = {
    CancelReason.TIMEOUT: "timeout_s is over",
    CancelReason.STUDY_STOPPED: "the study was stopped",
    CancelReason.STUDY_DELETED: "its study was deleted",
    CancelReason.LEASE_UNKNOWN: "this lease was never issued, or its study was deleted",
    CancelReason.LEASE_ENDED: "this lease has ended",
    CancelReason.LEASE_EXPIRED: "the lease expired, and so did a later one",
    CancelReason.LEASED_TO_ANOTHER: "the lease expired and another worker has the job",
    CancelReason.VALUE_KNOWN: "another worker's value came first",
    CancelReason.JOB_FAILED: "the job has failed for good",
    CancelReason.SUPERSEDED: "the value is no longer needed; if it is known, tell it",
}


def _alive(lease: str, deadline: float, cancel: CancelReason | None = None) -> Alive:
    detail = DETAILS[cancel] if cancel is not None else None
    return Alive(lease=lease, expires_at=iso(deadline), cancel=cancel is not None, reason=cancel, detail=detail)


def _revive_all(connection: Connection, leases: Sequence[str]) -> dict[str, Alive]:
    known = owners(connection, leases)
    answers = {lease: _lost(lease, CancelReason.LEASE_UNKNOWN) for lease in leases}
    revived: Ended = {}
    for study in sorted({study for _, study in known.values()}):
        mine = [lease for lease in leases if lease in known and known[lease][1] == study]
        answers |= _revive(connection, study, mine, known, revived)
    count_attempts(connection, revived)
    point("revive.written")
    return answers


def _revive(
    connection: Connection,
    study_id: int,
    leases: Sequence[str],
    known: dict[str, tuple[int, int]],
    reopened: Ended,
) -> dict[str, Alive]:
    study = lock_study(connection, study_id)
    if study is None:
        return {lease: _lost(lease, CancelReason.STUDY_DELETED) for lease in leases}
    rows = objectives_of(connection, study_id)
    patience = {row.id: row.lease_s for row in rows}
    timeouts = {row.id: row.timeout_s for row in rows}
    jobs = lock_jobs(connection, [known[lease][0] for lease in leases])
    attempts = read_attempts(connection, leases)
    ledger = Ledger()
    revived: list[int] = []
    for lease in leases:
        job = jobs[known[lease][0]]
        if _may_revive(job, attempts[lease], revived, timeouts[job.objective]):
            losses = max(job.losses - 1, 0)
            ledger.changes.append(
                Change(job, "leased", lease=lease, lease_s=patience[job.objective], errors=job.errors, losses=losses)
            )
            ledger.endings.append(Ending(lease, None))
            revived.append(job.id)
    write(connection, study, ledger, guests(rows))
    note_ended(reopened, ledger, attempts)
    again = (
        prolong(connection, {ending.lease: known[ending.lease][0] for ending in ledger.endings})
        if ledger.endings
        else {}
    )
    stopped = study_id in cancelling(connection, {study_id})
    answers = {}
    for lease in leases:
        job, attempt = jobs[known[lease][0]], attempts[lease]
        wanted = not stopped and _is_wanted(job, attempt, timeouts[job.objective])
        lost = _lost(lease, _why_lost(job, attempt), cancel=not wanted)
        answers[lease] = _alive(lease, again[lease][0]) if lease in again else lost
    return answers


def _may_revive(job: JobRow, attempt: RowMapping, revived: Sequence[int], timeout_s: float | None) -> bool:
    """An expired lease lives again while nobody else holds the job; the newest attempt comes first."""
    return (
        _is_wanted(job, attempt, timeout_s)
        and job.state == "ready"
        and attempt["number"] == job.attempts
        and job.id not in revived
    )


def _is_wanted(job: JobRow, attempt: RowMapping, timeout_s: float | None) -> bool:
    """While the value is missing, whoever was cut off may go on: hours of work outweigh a fresh start."""
    in_time = timeout_s is None or attempt["age_s"] < timeout_s
    return in_time and attempt["outcome"] == "expired" and job.state in ("ready", "leased", "failed")


def _why_lost(job: JobRow, attempt: RowMapping) -> CancelReason:
    if attempt["outcome"] not in (None, Outcome.EXPIRED):
        return CancelReason.LEASE_ENDED
    return _LOST_BECAUSE[JobState(job.state)]


_LOST_BECAUSE = {
    JobState.DONE: CancelReason.VALUE_KNOWN,
    JobState.LEASED: CancelReason.LEASED_TO_ANOTHER,
    JobState.FAILED: CancelReason.JOB_FAILED,
    JobState.SUPERSEDED: CancelReason.SUPERSEDED,
    JobState.READY: CancelReason.LEASE_EXPIRED,
}


def _lost(lease: str, reason: CancelReason, *, cancel: bool = True) -> Alive:
    return Alive(lease=lease, expires_at=None, cancel=cancel, reason=reason, detail=DETAILS[reason])


def release(database: Database, leases: Sequence[str]) -> list[str]:
    return database.write(lambda connection: release_all(connection, leases))


def release_all(connection: Connection, leases: Sequence[str]) -> list[str]:
    """Give jobs back that will not be evaluated; counts nothing against them."""
    known = owners(connection, leases)
    done: list[str] = []
    for study_id in sorted({study for _, study in known.values()}):
        study = lock_study(connection, study_id)
        if study is not None:
            mine = {lease: job for lease, (job, owner) in known.items() if owner == study_id}
            done += _release_study(connection, study, mine)
    count_attempts(connection, dict.fromkeys(done))
    return done


def _release_study(connection: Connection, study: Row[Any], mine: dict[str, int]) -> list[str]:
    jobs = lock_jobs(connection, list(mine.values()))
    held = [lease for lease, job in mine.items() if jobs[job].lease == lease]
    limits = limits_of(study)
    ledger = Ledger(
        changes=[released(jobs[mine[lease]], limits) for lease in held],
        endings=[Ending(lease, "released") for lease in held],
    )
    write(connection, study, ledger, guests(objectives_of(connection, study.id)))
    if held:
        notify(connection)
    return held
