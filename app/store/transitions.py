"""A job's transitions. Each is compare-and-set; all but leasing happen under the study's lock.

Lock order: studies by id, then jobs by study and id. Leasing locks no study.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Row,
    RowMapping,
    String,
    Update,
    bindparam,
    func,
    literal_column,
    select,
    update,
)

from app.errors import StateChanged
from app.store.among import among
from app.store.attempts import with_leases
from app.store.clock import database_now
from app.store.ledger import Change, Ending, JobRow, Ledger
from app.store.rows import ForEach, Given, Together, from_json, insert_each, update_each
from app.store.samples import give_up
from app.store.tables import READY, attempts, events, jobs, objectives, sample_values, samples, studies

LONGEST_BACKOFF_S = 300.0
UNSETTLED = ("ready", "leased")
# Counters of an objective.
KEPT = ("done", "failed", "superseded", "open_full", "expired", "late", "duplicate")


def lock_study(connection: Connection, study: int) -> Row[Any] | None:
    """The study's row, locked; None if it is gone."""
    return lock_studies(connection, [study]).get(study)


def lock_studies(connection: Connection, ids: Sequence[int]) -> dict[int, Row[Any]]:
    """The studies' rows, locked, in the order of their ids; those that are gone are left out."""
    return {row.id: row for row in connection.execute(_LOCK_STUDIES, {"ids": ids})}


_LOCK_STUDIES = select(studies).where(among(studies.c.id, "ids")).order_by(studies.c.id).with_for_update()


def lock_studies_of(connection: Connection, leases: Sequence[str]) -> dict[int, Row[Any]]:
    """What a tell must know of the studies to whose jobs these leases were issued, locked as above."""
    return {row.id: row for row in connection.execute(_LOCK_STUDIES_OF, {"leases": leases})}


_told = with_leases("told")
_LOCK_STUDIES_OF = (
    select(
        *(studies.c[name] for name in ("id", "spec", "budget", "phase", "ending", "step", "sequence")),
        *(studies.c[name] for name in ("planned_full", "settled_full")),
    )
    .where(studies.c.id.in_(select(jobs.c.study_id).join(_told, _told.c.job_id == jobs.c.id)))
    .order_by(studies.c.id)
    .with_for_update(of=studies)
)


def lock_jobs_of(connection: Connection, leases: Sequence[str]) -> dict[str, tuple[JobRow, RowMapping]]:
    """The job of each of these leases, locked, and the attempt; to be read under the lock of the studies.

    `open` of the latter: on how many objectives the sample is not settled.
    """
    rows = connection.execute(_LOCK_JOBS_OF, {"leases": leases}).all()
    return {row.token: (job_row(row), row._mapping) for row in rows}


def lock_jobs(connection: Connection, ids: Sequence[int]) -> dict[int, JobRow]:
    return {row.id: job_row(row) for row in connection.execute(_LOCK_JOBS, {"ids": ids})}


_LOCK_JOBS = select(jobs).where(among(jobs.c.id, "ids")).order_by(jobs.c.study_id, jobs.c.id).with_for_update()


_LOCK_JOBS_OF = (
    select(
        *(jobs.c[name] for name in ("id", "study_id", "objective_id", "sample_id", "cheap_only", "step", "state")),
        *(jobs.c[name] for name in ("lease", "attempts", "errors", "losses")),
        _told.c.lease.label("token"),
        *(_told.c[name] for name in ("worker_id", "leased_at", "ended_at", "outcome", "value", "failure")),
        *(_told.c[name] for name in ("details", "age_s")),
        samples.c.open,
    )
    .join(_told, _told.c.job_id == jobs.c.id)
    .join(samples, samples.c.id == jobs.c.sample_id)
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_open_jobs(connection: Connection, study: int) -> None:
    """Lock all jobs of a study that are ready or leased, in the order of all."""
    query = select(jobs.c.id).where(jobs.c.study_id == study, jobs.c.state.in_(UNSETTLED))
    connection.execute(query.order_by(jobs.c.id).with_for_update())


def job_row(row: Any) -> JobRow:
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


Also = Mapping[int, Sequence[int]]  # the objectives that come with each objective's run


def write(connection: Connection, study: Row[Any], ledger: Ledger, also: Also) -> None:
    write_all(connection, [(study, ledger)], also)


def write_all(connection: Connection, ledgers: Sequence[tuple[Row[Any], Ledger]], also: Also) -> None:
    """Write the ledgers of studies whose rows were just locked: as many statements as for one."""
    changes = [change for _, ledger in ledgers for change in ledger.changes]
    for study, ledger in ledgers:
        cut_short = {one.job.sample for one in ledger.changes if one.state == "superseded" and not one.job.cheap_only}
        give_up(connection, study.id, sorted(cut_short))
    opened = [row for study, ledger in ledgers for row in _opened(study.id, ledger.changes, also)]
    results = [row for study, ledger in ledgers for row in _results(study, ledger)]
    happened = [row for study, ledger in ledgers for row in _happened(study, ledger)]
    grown = [
        {"one": study.id, "numbers": len(ledger.results) + len(ledger.events)}
        for study, ledger in ledgers
        if ledger.results or ledger.events or ledger.changes
    ]
    if connection.dialect.name == "sqlite":  # elsewhere the statement itself counts them
        settled = _settled(connection, opened)
        grown = [{**row, "settled": settled[row["one"]]} for row in grown]
    written = _WRITE.execute(
        connection,
        samples=opened,
        jobs=[_changed(change) for change in changes],
        attempts=[_ended(ending) for _, ledger in ledgers for ending in ledger.endings],
        results=results,
        events=happened,
        objectives=_counted(_counts([ledger for _, ledger in ledgers], also)),
        studies=grown,
    )
    if written != len(changes):  # cannot be under the locks; if it is, nothing of this may be written
        raise StateChanged(f"{len(changes) - written} jobs changed while they were being settled")


def _changed(change: Change) -> dict[str, Any]:
    return {
        "one": change.job.id,
        "was": change.job.state,
        "was_attempts": change.job.attempts,
        "becomes": change.state,
        "holds": change.lease,
        "for_s": change.lease_s,
        "after_s": change.backoff_s,
        "now_errors": change.errors,
        "now_losses": change.losses,
    }


_CHANGE_JOB = update_each(
    {
        "one": jobs.c.id.type,
        "was": String(),
        "was_attempts": Integer(),
        "becomes": String(),
        "holds": String(),
        "for_s": Double(),
        "after_s": Double(),
        "now_errors": Integer(),
        "now_losses": Integer(),
    },
    lambda given: (
        update(jobs)
        .where(jobs.c.id == given["one"], jobs.c.state == given["was"], jobs.c.attempts == given["was_attempts"])
        .values(
            state=given["becomes"],
            lease=given["holds"],
            expires_at=database_now() + given["for_s"],  # null without a lease
            ready_at=database_now() + given["after_s"],
            errors=given["now_errors"],
            losses=given["now_losses"],
        )
    ),
    parameter="jobs_rows",
)


def _ended(ending: Ending) -> dict[str, Any]:
    said = {name: getattr(ending, name) for name in _SAID}
    return {"token": ending.lease, "over": None if ending.outcome is None else 1.0, **said}


_SAID = ("outcome", "value", "failure", "message", "duration_s", "details")
_END_ATTEMPT = update_each(
    {"token": String(), "over": Double()} | {name: attempts.c[name].type for name in _SAID},
    lambda given: (
        update(attempts)
        .where(attempts.c.lease == given["token"])
        .values(ended_at=given["over"] * database_now(), **{name: given[name] for name in _SAID})  # null while it runs
    ),
    parameter="attempts_rows",
)


def _results(study: Row[Any], ledger: Ledger) -> Iterator[dict[str, Any]]:
    """The results with the numbers from where the study's sequence stands."""
    for seq, one in enumerate(ledger.results, study.sequence + 1):
        yield {
            "study_id": study.id,
            "seq": seq,
            "sample_id": one.sample,
            "objective_id": one.objective,
            "value": one.value,
            "failure": one.failure,
            "duration_s": one.duration_s,
        }


def _happened(study: Row[Any], ledger: Ledger) -> Iterator[dict[str, Any]]:
    """An event for each result, with its number; then the other events."""
    of_results: list[tuple[str, dict[str, Any]]] = [
        ("failed" if one.failure else "done", {})
        for one in ledger.results  # the value itself says the rest
    ]
    for seq, (kind, body) in enumerate([*of_results, *ledger.events], study.sequence + 1):
        yield {"study_id": study.id, "seq": seq, "kind": kind, "body": body}


_INSERT_RESULT = insert_each(
    sample_values,
    ("study_id", "seq", "sample_id", "objective_id", "value", "failure", "duration_s"),
    {"at": database_now()},
    parameter="results_rows",
)
_INSERT_EVENT = insert_each(
    events, ("study_id", "seq", "kind", "body"), {"at": database_now()}, parameter="events_rows"
)


def _counts(ledgers: Sequence[Ledger], also: Also) -> dict[int, Counter[str]]:
    """By how much the counters of each objective grow."""
    deltas: dict[int, Counter[str]] = {}
    guests_of_all = {guest for guests in also.values() for guest in guests}
    for ledger in ledgers:
        for one in ledger.changes:
            job = one.job
            delta = deltas.setdefault(job.objective, Counter())
            delta["open_full"] += 0 if job.cheap_only else _more(one)
            delta[job.state] -= 1
            delta[one.state] += 1
            for guest in also.get(job.objective, []):  # what it left; where it arrives, its own result says
                delta = deltas.setdefault(guest, Counter())
                delta[job.state] -= job.state in ("failed", "superseded")
                delta[one.state] += one.state == "superseded"
        for result in ledger.results:
            if result.of_job and result.objective in guests_of_all:
                deltas.setdefault(result.objective, Counter())["failed" if result.failure else "done"] += 1
        for objective, mishap in ledger.mishaps:
            deltas.setdefault(objective, Counter())[mishap] += 1
    return deltas


def _more(change: Change) -> int:
    """By how many the unsettled jobs grow."""
    return (change.state in UNSETTLED) - (change.job.state in UNSETTLED)


def _opened(study: int, changes: Sequence[Change], also: Also) -> list[dict[str, int]]:
    """By how much the open objectives of each sample grow."""
    opened: Counter[int] = Counter()
    for one in changes:
        opened[one.job.sample] += _more(one) * (1 + len(also.get(one.job.objective, [])))
    return [{"one": sample, "by": by, "study": study} for sample, by in opened.items() if by]


def _counted(deltas: dict[int, Counter[str]]) -> list[dict[str, int]]:
    moved = {objective: delta for objective, delta in deltas.items() if any(delta[name] for name in KEPT)}
    return [{"one": one, **{f"by_{name}": moved[one][name] for name in KEPT}} for one in sorted(moved)]


_COUNT_OBJECTIVE = update_each(
    {"one": objectives.c.id.type} | {f"by_{name}": Integer() for name in KEPT},
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["one"])
        .values({name: objectives.c[name] + given[f"by_{name}"] for name in KEPT})
    ),
    parameter="objectives_rows",
)
_OPENED = {"one": samples.c.id.type, "by": Integer(), "study": studies.c.id.type}
_OPEN_SAMPLE = update_each(
    _OPENED,
    lambda given: update(samples).where(samples.c.id == given["one"]).values(open=samples.c.open + given["by"]),
    parameter="samples_rows",
)
_PLANNED = (samples.c.full, ~samples.c.given_up, samples.c.imported_seq.is_(None))


def _settled(connection: Connection, opened: Sequence[Mapping[str, int]]) -> Counter[int]:
    """By how many each study's settled full samples will grow; asked before it is written."""
    grown: Counter[int] = Counter()
    for by in sorted({row["by"] for row in opened}):
        ids = [row["one"] for row in opened if row["by"] == by]
        for row in connection.execute(_SETTLED, {"ids": ids, "open": max(-by, 0)}):
            grown[row.study_id] += row.settled if by < 0 else -row.settled
    return grown


_SETTLED = (
    select(samples.c.study_id, func.count().label("settled"))
    .where(among(samples.c.id, "ids"), samples.c.open == bindparam("open"), *_PLANNED)
    .group_by(samples.c.study_id)
)


def _settled_now() -> ColumnElement[int]:
    """The same inside the statement that opens the samples: all its parts see what was there before it."""
    given = from_json(_OPENED, "samples_rows")
    closes, opens = given["by"] == -samples.c.open, (given["by"] > _ZERO) & (samples.c.open == _ZERO)
    grown = func.count().filter(closes) - func.count().filter(opens)
    mine = (given["study"] == studies.c.id, samples.c.id == given["one"])
    return select(grown).where(*mine, *_PLANNED).correlate(studies).scalar_subquery()


_ZERO = literal_column("0", Integer)


def _grow(given: Given, settled: ColumnElement[int]) -> Update:
    grown = {"sequence": studies.c.sequence + given["numbers"], "settled_full": studies.c.settled_full + settled}
    return update(studies).where(studies.c.id == given["one"]).values(grown)


_GROWN = {"one": studies.c.id.type, "numbers": BigInteger()}
_GROW_STUDY = ForEach(
    postgresql=_grow(from_json(_GROWN, "studies_rows"), _settled_now()),
    sqlite=_grow({name: bindparam(name) for name in _GROWN}, bindparam("settled")),
    parameter="studies_rows",
)
_WRITE = Together(
    jobs=_CHANGE_JOB,
    attempts=_END_ATTEMPT,
    samples=_OPEN_SAMPLE,
    results=_INSERT_RESULT,
    events=_INSERT_EVENT,
    objectives=_COUNT_OBJECTIVE,
    studies=_GROW_STUDY,
)


def ready_jobs(connection: Connection, study: int, *, only_cheap: bool) -> list[JobRow]:
    """The study's ready jobs, locked: those at the queues' heads and those that back off."""
    queries = _READY_CHEAP if only_cheap else _READY_JOBS
    return [job_row(row) for query in queries for row in connection.execute(query, {"study": study})]


_queues = select(objectives.c.id).where(objectives.c.study_id == bindparam("study"))
# One index each. Back-offs first: once locked they cannot ripen and slip from one look into the other.
_READY_JOBS = [
    select(jobs)
    .where(jobs.c.objective_id.in_(_queues), jobs.c.state == READY, waiting)
    .order_by(jobs.c.id)
    .with_for_update()
    for waiting in (jobs.c.ready_at.is_not(None), jobs.c.ready_at.is_(None))
]
_READY_CHEAP = [query.where(jobs.c.cheap_only) for query in _READY_JOBS]


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
