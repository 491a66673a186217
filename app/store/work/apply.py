"""A job's transitions. Each is compare-and-set; all but leasing happen under the study's lock."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Double, Integer, Row, String, select, update

from app.domain.changes import Change, Ending, Ledger
from app.errors import StateChanged
from app.store.sql.bulk import Together, insert_each, update_each
from app.store.sql.clock import database_now
from app.store.studies.samples import give_up
from app.store.tables import READY, attempts, events, jobs, sample_values
from app.store.work.counters import COUNT_OBJECTIVE, GROW_STUDY, OPEN_SAMPLE, Also, counted, opened, settled

LONGEST_BACKOFF_S = 300.0


def write(connection: Connection, study: Row[Any], ledger: Ledger, also: Also) -> None:
    write_all(connection, [(study, ledger)], also)


def write_all(connection: Connection, ledgers: Sequence[tuple[Row[Any], Ledger]], also: Also) -> None:
    """Write the ledgers of studies whose rows were just locked: as many statements as for one."""
    changes = [change for _, ledger in ledgers for change in ledger.changes]
    for study, ledger in ledgers:
        cut_short = {one.job.sample for one in ledger.changes if one.state == "superseded" and not one.job.cheap_only}
        give_up(connection, study.id, sorted(cut_short))
    open_samples = [row for study, ledger in ledgers for row in opened(study.id, ledger.changes, also)]
    results = [row for study, ledger in ledgers for row in _results(study, ledger)]
    happened = [row for study, ledger in ledgers for row in _happened(study, ledger)]
    grown = [
        {"one": study.id, "numbers": len(ledger.results) + len(ledger.events)}
        for study, ledger in ledgers
        if ledger.results or ledger.events or ledger.changes
    ]
    if connection.dialect.name == "sqlite":  # elsewhere the statement itself counts them
        closed = settled(connection, open_samples)
        grown = [{**row, "settled": closed[row["one"]]} for row in grown]
    written = _WRITE.execute(
        connection,
        samples=open_samples,
        jobs=[_changed(change) for change in changes],
        attempts=[_ended(ending) for _, ledger in ledgers for ending in ledger.endings],
        results=results,
        events=happened,
        objectives=counted([ledger for _, ledger in ledgers], also),
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
_WRITE = Together(
    jobs=_CHANGE_JOB,
    attempts=_END_ATTEMPT,
    samples=OPEN_SAMPLE,
    results=_INSERT_RESULT,
    events=_INSERT_EVENT,
    objectives=COUNT_OBJECTIVE,
    studies=GROW_STUDY,
)


def ripen(connection: Connection) -> int:
    """Put jobs whose back-off is over at the queues' disposal; answers how many."""
    # Or further away than any back-off: then a clock was set back.
    past = (jobs.c.ready_at <= database_now()) | (jobs.c.ready_at > database_now() + LONGEST_BACKOFF_S + 1.0)
    over = (jobs.c.state == READY, jobs.c.ready_at.is_not(None), past)
    found = select(jobs.c.id).where(*over).with_for_update(skip_locked=True).cte("found")  # waits for nobody
    return connection.execute(update(jobs).where(jobs.c.id.in_(select(found))).values(ready_at=None)).rowcount
