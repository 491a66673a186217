"""Expiry: leases without a sign of life return their jobs; back-offs that are over end. Run by planners."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.changes import Ending, JobRow, Ledger
from app.domain.job_rules import lost
from app.fault_points import point
from app.service.planning.schedule import make_due_what_is, settled_together
from app.service.work.tell import failures, limits_of
from app.store.database import Database
from app.store.studies.studies import find_study_by_id, guests, objectives_of
from app.store.wakeups import notify
from app.store.work.apply import ripen, write
from app.store.work.lease_deadlines import (
    any_stale,
    forget_stale,
    note_kept,
    overdue,
    shorten_impossible,
    still_overdue,
)
from app.store.work.row_locks import lock_jobs, lock_study
from app.store.work.workers import count_attempts

AT_ONCE = 500


def expire(database: Database) -> int:
    """One round; answers how many leases ended. After an outage nothing expires for one lease time."""
    ended = 0
    faults: dict[int, Exception] = {}  # by study
    while True:
        with database.read() as connection:
            found = overdue(connection, AT_ONCE, without=faults)
        point("expire.found")
        by_study: dict[int, list[int]] = {}
        for job, study in found:
            by_study.setdefault(study, []).append(job)
        before = len(faults)
        for study, ids in sorted(by_study.items()):
            try:
                ended += database.write(lambda connection, s=study, ids=ids: expire_jobs(connection, s, ids))  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001  the other studies' leases expire all the same
                faults[study] = error
        if len(faults) == before:
            break  # else once more without those, however many leases of theirs are over
    if faults:
        raise next(iter(faults.values()))
    return ended


def tidy(database: Database) -> None:
    """End back-offs that are over, and deadlines that a clock set back has made impossible; note what is kept."""

    def work(connection: Connection) -> None:
        shorten_impossible(connection)
        note_kept(connection)
        if ripen(connection):
            notify(connection)

    database.write(work)
    with database.read() as connection:
        stale = any_stale(connection)
    if stale:
        database.write(forget_stale)


def expire_jobs(connection: Connection, study_id: int, ids: list[int]) -> int:
    if lock_study(connection, study_id) is None:
        return 0
    jobs = lock_jobs(connection, ids)
    over = [jobs[job] for job in sorted(still_overdue(connection, ids))]
    ended: list[str] = []
    while len(ended) < len(over):
        ended += _expire_together(connection, find_study_by_id(connection, study_id), over[len(ended) :])
    count_attempts(connection, dict.fromkeys(ended))
    point("expire.written")
    return len(ended)


def _expire_together(connection: Connection, study: Row[Any], over: Sequence[JobRow]) -> list[str]:
    """As many of them as may be settled at once; answers the leases that ended."""
    rows = objectives_of(connection, study.id)
    also = guests(rows)
    ledger = Ledger()
    for job in over[: settled_together(study, rows, over)[0]]:
        change = lost(job, limits_of(study))
        ledger.changes.append(change)
        ledger.endings.append(Ending(job.lease or "", "expired"))
        ledger.mishaps.append((job.objective, "expired"))
        if change.state == "failed":
            ledger.results += failures(job, "lost", also)
    write(connection, study, ledger, also)
    notify(connection)
    if ledger.results:
        make_due_what_is(connection, find_study_by_id(connection, study.id))
    return [ending.lease for ending in ledger.endings]
