"""A job's transitions. Each is compare-and-set; all but leasing happen under the study's lock.

Lock order: study, then jobs by id. Leasing locks no study.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from app.errors import StateChanged
from app.store.among import among
from app.store.clock import database_now
from app.store.ledger import Change, Ending, JobRow, Ledger
from app.store.samples import give_up
from app.store.tables import READY, attempts, events, jobs, objectives, sample_values, samples, studies

LONGEST_BACKOFF_S = 300.0
UNSETTLED = ("ready", "leased")
# Counters of an objective.
KEPT = ("done", "failed", "superseded", "open_full", "expired", "late", "duplicate")


def _one(rows: list[dict[str, Any]]) -> Any:
    """A list is executemany, which costs psycopg a pipeline; a single one need not."""
    return rows if len(rows) > 1 else rows[0]


def lock_study(connection: Connection, study: int) -> Row[Any] | None:
    """The study's row, locked; None if it is gone."""
    return connection.execute(_LOCK_STUDY, {"study": study}).one_or_none()


_LOCK_STUDY = select(studies).where(studies.c.id == bindparam("study")).with_for_update()


def lock_jobs(connection: Connection, ids: Sequence[int]) -> dict[int, JobRow]:
    return {row.id: job_row(row) for row in connection.execute(_LOCK_JOBS, {"ids": ids})}


_LOCK_JOBS = select(jobs).where(among(jobs.c.id, "ids")).order_by(jobs.c.id).with_for_update()


def job_row(row: Row[Any]) -> JobRow:
    return JobRow(
        id=row.id,
        objective=row.objective_id,
        sample=row.sample_id,
        cheap_only=row.cheap_only,
        step=row.step,
        state=row.state,
        lease=row.lease,
        attempts=row.attempts,
        errors=row.errors,
        losses=row.losses,
    )


def write(connection: Connection, study: Row[Any], ledger: Ledger, also: Mapping[int, Sequence[int]]) -> Row[Any]:
    """Write a ledger of a study whose row was just locked; answers the row as it is now.

    `also`: the objectives that come with each objective's run.
    """
    _change_jobs(connection, ledger.changes)
    cut_short = {one.job.sample for one in ledger.changes if one.state == "superseded" and not one.job.cheap_only}
    give_up(connection, study.id, sorted(cut_short))
    _end_attempts(connection, ledger.endings)
    _record(connection, study, ledger)
    settled = _count(connection, ledger, also)
    numbers = len(ledger.results) + len(ledger.events)
    if not numbers and not settled:
        return study
    grown = {"one": study.id, "numbers": numbers, "settled": settled}
    return connection.execute(_GROW_STUDY, grown).one()


_GROW_STUDY = (
    update(studies)
    .where(studies.c.id == bindparam("one"))
    .values(
        sequence=studies.c.sequence + bindparam("numbers"), settled_full=studies.c.settled_full + bindparam("settled")
    )
    .returning(*studies.c)
)


def _change_jobs(connection: Connection, changes: Sequence[Change]) -> None:
    """Those that change alike in one statement."""
    alike: dict[tuple[Any, ...], list[int]] = {}
    for one in changes:
        key = (
            one.job.state,
            one.job.attempts,
            one.state,
            one.lease,
            one.lease_s,
            one.backoff_s,
            one.errors,
            one.losses,
        )
        alike.setdefault(key, []).append(one.job.id)
    changed = 0
    for key, ids in alike.items():
        changed += connection.execute(_CHANGE_JOBS, dict(zip(_SAID, key, strict=True), ids=ids)).rowcount
    if changed != len(changes):  # cannot be under the locks; if it is, nothing of this may be written
        raise StateChanged(f"{len(changes) - changed} jobs changed while they were being settled")


_SAID = ("was", "was_attempts", "becomes", "holds", "for_s", "after_s", "now_errors", "now_losses")
_CHANGE_JOBS = (
    update(jobs)
    .where(
        among(jobs.c.id, "ids"),
        jobs.c.state == bindparam("was"),
        jobs.c.attempts == bindparam("was_attempts"),
    )
    .values(
        state=bindparam("becomes"),
        lease=bindparam("holds"),
        expires_at=database_now() + bindparam("for_s"),  # null without a lease
        ready_at=database_now() + bindparam("after_s"),
        errors=bindparam("now_errors"),
        losses=bindparam("now_losses"),
    )
)

_END_ATTEMPT = (
    update(attempts)
    .where(attempts.c.lease == bindparam("token"))
    .values(
        ended_at=bindparam("over") * database_now(),  # null while it runs
        outcome=bindparam("how"),
        value=bindparam("told"),
        failure=bindparam("kind"),
        message=bindparam("words"),
        duration_s=bindparam("took"),
        details=bindparam("more"),
    )
)


def _end_attempts(connection: Connection, endings: Sequence[Ending]) -> None:
    if endings:
        connection.execute(
            _END_ATTEMPT,
            _one(
                [
                    {
                        "token": one.lease,
                        "over": None if one.outcome is None else 1.0,
                        "how": one.outcome,
                        "told": one.value,
                        "kind": one.failure,
                        "words": one.message,
                        "took": one.duration_s,
                        "more": one.details,
                    }
                    for one in endings
                ]
            ),
        )


def _record(connection: Connection, study: Row[Any], ledger: Ledger) -> None:
    """Number the results, then the other events, from where the study's sequence stands."""
    numbered = list(enumerate(ledger.results, study.sequence + 1))
    if numbered:
        connection.execute(
            _INSERT_VALUES,
            _one(
                [
                    {
                        "study_id": study.id,
                        "seq": seq,
                        "sample_id": one.sample,
                        "objective_id": one.objective,
                        "value": one.value,
                        "failure": one.failure,
                        "duration_s": one.duration_s,
                    }
                    for seq, one in numbered
                ]
            ),
        )
    happened = [
        ("failed" if one.failure else "done", {"sample": one.sample, "objective": one.objective})
        for one in ledger.results
    ]
    rows = [
        {"study_id": study.id, "seq": seq, "kind": kind, "body": body}
        for seq, (kind, body) in enumerate([*happened, *ledger.events], study.sequence + 1)
    ]
    if rows:
        connection.execute(_INSERT_EVENTS, _one(rows))


_INSERT_VALUES = insert(sample_values).values(at=database_now())
_INSERT_EVENTS = insert(events).values(at=database_now())


def _count(connection: Connection, ledger: Ledger, also: Mapping[int, Sequence[int]]) -> int:
    """Keep the counters of objectives and samples; answers by how many the settled full samples grow."""
    deltas: dict[int, Counter[str]] = {}
    opened: Counter[int] = Counter()
    for one in ledger.changes:
        job, more = one.job, (one.state in UNSETTLED) - (one.job.state in UNSETTLED)
        guests = also.get(job.objective, [])
        opened[job.sample] += more * (1 + len(guests))
        delta = deltas.setdefault(job.objective, Counter())
        delta["open_full"] += 0 if job.cheap_only else more
        delta[job.state] -= 1
        delta[one.state] += 1
        for guest in guests:  # what it left behind; where it arrives, done or failed, its own result says
            delta = deltas.setdefault(guest, Counter())
            delta[job.state] -= job.state in ("failed", "superseded")
            delta[one.state] += one.state == "superseded"
    guests_of_all = {guest for guests in also.values() for guest in guests}
    for result in ledger.results:
        if result.of_job and result.objective in guests_of_all:
            deltas.setdefault(result.objective, Counter())["failed" if result.failure else "done"] += 1
    for objective, mishap in ledger.mishaps:
        deltas.setdefault(objective, Counter())[mishap] += 1
    _count_objectives(connection, deltas)
    return _count_samples(connection, {sample: by for sample, by in opened.items() if by})


def _count_objectives(connection: Connection, deltas: dict[int, Counter[str]]) -> None:
    moved = {objective: delta for objective, delta in deltas.items() if any(delta[name] for name in KEPT)}
    if moved:
        connection.execute(
            _COUNT_OBJECTIVE,
            _one([{"one": o, **{f"by_{name}": moved[o][name] for name in KEPT}} for o in sorted(moved)]),
        )


_COUNT_OBJECTIVE = (
    update(objectives)
    .where(objectives.c.id == bindparam("one"))
    .values({name: objectives.c[name] + bindparam(f"by_{name}") for name in KEPT})
)


def _count_samples(connection: Connection, opened: dict[int, int]) -> int:
    """Open or close objectives of samples; answers by how many the settled full samples grow."""
    grown = 0
    for by in sorted(set(opened.values())):
        ids = [sample for sample, more in opened.items() if more == by]
        rows = connection.execute(_OPEN_SAMPLES, {"ids": ids, "by": by})
        planned = [row for row in rows if row.counts and row.imported_seq is None]
        # Settled now, or settled before and now open again.
        grown += sum(row.open == 0 if by < 0 else -(row.open == by) for row in planned)
    return grown


_OPEN_SAMPLES = (
    update(samples)
    .where(among(samples.c.id, "ids"))
    .values(open=samples.c.open + bindparam("by"))
    # Not `imported_seq IS NULL`: inside RETURNING, SQLite 3.40 takes that for false.
    .returning((samples.c.full & ~samples.c.given_up).label("counts"), samples.c.imported_seq, samples.c.open)
)


def ready_jobs(connection: Connection, study: int, *, only_cheap: bool) -> list[JobRow]:
    """The study's ready jobs, locked: those at the queues' heads and those that back off."""
    queues = select(objectives.c.id).where(objectives.c.study_id == study)
    found: list[JobRow] = []
    # One index each. Back-offs first: once locked they cannot ripen and slip from one look into the other.
    for waiting in (jobs.c.ready_at.is_not(None), jobs.c.ready_at.is_(None)):
        query = select(jobs).where(jobs.c.objective_id.in_(queues), jobs.c.state == READY, waiting)
        query = query.where(jobs.c.cheap_only) if only_cheap else query
        found += [job_row(row) for row in connection.execute(query.order_by(jobs.c.id).with_for_update())]
    return found


def failed_jobs(connection: Connection, study: int, queues: Sequence[int]) -> list[JobRow]:
    """The study's failed jobs of these objectives, locked. Reads all its jobs: for people, not for workers."""
    query = select(jobs).where(jobs.c.study_id == study, jobs.c.objective_id.in_(queues), jobs.c.state == "failed")
    return [job_row(row) for row in connection.execute(query.order_by(jobs.c.id).with_for_update())]


def ripen(connection: Connection) -> int:
    """Put jobs whose back-off is over at the queues' disposal; answers how many."""
    # Or further away than any back-off: then a clock was set back.
    past = (jobs.c.ready_at <= database_now()) | (jobs.c.ready_at > database_now() + LONGEST_BACKOFF_S + 1.0)
    over = (jobs.c.state == READY, jobs.c.ready_at.is_not(None), past)
    found = select(jobs.c.id).where(*over).with_for_update(skip_locked=True).cte("found")  # waits for nobody
    return connection.execute(update(jobs).where(jobs.c.id.in_(select(found))).values(ready_at=None)).rowcount
