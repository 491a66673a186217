"""Apply change sets: here results, failures, expiries, releases and stops settle jobs.

Every such change is compare-and-set, under the study's lock. Jobs also change when they
are leased (`lease_queue`), created (`new_jobs`) and taken over by a promotion
(`promotion`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Double,
    Integer,
    String,
    func,
    select,
    update,
)

from app.domain.studies import CoObjectives, Study
from app.domain.work.changes import AttemptEnd, ChangeSet, Event, JobChange
from app.domain.work.counters import OBJECTIVE_COUNTERS, Growth, growth
from app.domain.work.job_rules import LONGEST_BACKOFF_S
from app.errors import StateChanged
from app.store.sql.bulk import CombinedWrite, bulk_insert, bulk_update
from app.store.sql.clock import database_now
from app.store.tables import (
    READY,
    attempts,
    events,
    jobs,
    objectives,
    sample_values,
    samples,
    studies,
)
from counterpoise.wire.codes import EventKind

Row = dict[str, Any]


def apply(
    connection: Connection,
    study: Study,
    changes: ChangeSet,
    co_objectives: CoObjectives | None = None,
) -> None:
    """`co_objectives` may be left out where no job changes."""
    apply_all(connection, [(study, changes, co_objectives or {})])


def apply_all(
    connection: Connection, parts: Sequence[tuple[Study, ChangeSet, CoObjectives]]
) -> None:
    """Apply the changes of studies whose rows were just locked, in as many statements
    as for one study.
    """
    rows = _Rows([], [], [], [], [], [], [])
    for study, changes, co_objectives in parts:
        grown = growth(changes, co_objectives, study.most_withdrawn)
        rows.add(study, changes, grown)
    rows.objectives.sort(key=lambda row: row["objective"])
    written = WRITE.execute(
        connection,
        jobs=rows.jobs,
        attempts=rows.attempts,
        samples=rows.samples,
        results=rows.results,
        events=rows.events,
        objectives=rows.objectives,
        studies=rows.studies,
    )
    if written != len(
        rows.jobs
    ):  # impossible under the locks; if it happens, nothing of this may be written
        raise StateChanged(
            f"{len(rows.jobs) - written} jobs changed while they were being settled"
        )


@dataclass(slots=True)
class _Rows:
    """What is written, by table."""

    jobs: list[Row]
    attempts: list[Row]
    samples: list[Row]
    results: list[Row]
    events: list[Row]
    objectives: list[Row]
    studies: list[Row]

    def add(self, study: Study, changes: ChangeSet, grown: Growth) -> None:
        self.jobs += [_job_row(change) for change in changes.jobs]
        self.attempts += [_attempt_row(end) for end in changes.attempts]
        self.samples += _sample_rows(changes, grown)
        self.results += _result_rows(study, changes)
        self.events += _event_rows(study, changes)
        self.objectives += [
            _objective_row(objective, grown) for objective in grown.objectives
        ]
        numbers = len(changes.results) + len(changes.events)
        if numbers or changes.jobs:
            self.studies.append(
                {
                    "study": study.id,
                    "numbers": numbers,
                    "settled": grown.settled_full,
                    "given_up": len(grown.given_up),
                    "withdrawn": len(grown.withdrawn),
                }
            )


def _job_row(change: JobChange) -> Row:
    return {
        "job": change.job.id,
        "old_state": change.job.state,
        "attempt": change.job.attempts,
        "state": change.state,
        "lease": change.lease,
        "lease_s": change.lease_s,
        "backoff_s": change.backoff_s,
        "errors": change.errors,
        "losses": change.losses,
    }


_CHANGE_JOB = bulk_update(
    {
        "job": jobs.c.id.type,
        "old_state": String(),
        "attempt": Integer(),
        "state": String(),
        "lease": String(),
        "lease_s": Double(),
        "backoff_s": Double(),
        "errors": Integer(),
        "losses": Integer(),
    },
    lambda given: (
        update(jobs)
        .where(
            jobs.c.id == given["job"],
            jobs.c.state == given["old_state"],
            jobs.c.attempts == given["attempt"],
        )
        .values(
            state=given["state"],
            lease=given["lease"],
            expires_at=database_now() + given["lease_s"],  # null without a lease
            ready_at=database_now() + given["backoff_s"],  # null without a back-off
            errors=given["errors"],
            losses=given["losses"],
        )
    ),
    parameter="jobs_rows",
)


def _attempt_row(end: AttemptEnd) -> Row:
    row: Row = {name: getattr(end, name) for name in _REPORTED}
    return {
        "token": end.lease,
        "ended": None if end.outcome is None else 1.0,
        **row,
    }


_REPORTED = ("outcome", "value", "failure", "message", "duration_s", "details")
_END_ATTEMPT = bulk_update(
    {"token": String(), "ended": Double()}
    | {name: attempts.c[name].type for name in _REPORTED},
    lambda given: (
        update(attempts)
        .where(attempts.c.lease == given["token"])
        .values(
            ended_at=given["ended"] * database_now(),  # null while it runs
            **{name: given[name] for name in _REPORTED},
        )
    ),
    parameter="attempts_rows",
)


def _sample_rows(changes: ChangeSet, grown: Growth) -> Iterator[Row]:
    feasible_again = changes.samples_leaving_infeasible - changes.still_ruled_out
    infeasible = dict.fromkeys(feasible_again, False)
    infeasible |= dict.fromkeys(changes.infeasible_samples, True)
    for sample in sorted({*grown.samples, *infeasible}):
        row = {
            "opened": grown.samples[sample],
            "held_back": grown.waiting[sample],
            "out": sample in grown.given_up,
        }
        if any(row.values()) or sample in infeasible:
            yield {"sample": sample, "bad": infeasible.get(sample), **row}


_CHANGE_SAMPLE = bulk_update(
    {
        "sample": samples.c.id.type,
        "opened": Integer(),
        "held_back": Integer(),
        "out": Boolean(),
        "bad": Boolean(),  # null: as before
    },
    lambda given: (
        update(samples)
        .where(samples.c.id == given["sample"])
        .values(
            open=samples.c.open + given["opened"],
            waiting=samples.c.waiting + given["held_back"],
            given_up=samples.c.given_up | given["out"],
            infeasible=func.coalesce(given["bad"], samples.c.infeasible),
        )
    ),
    parameter="samples_rows",
)


def _result_rows(study: Study, changes: ChangeSet) -> Iterator[Row]:
    """The results with their numbers, which follow the study's sequence."""
    for seq, result in enumerate(changes.results, study.sequence + 1):
        yield {
            "study_id": study.id,
            "seq": seq,
            "sample_id": result.sample,
            "objective_id": result.objective,
            "value": result.value,
            "failure": result.failure,
            "duration_s": result.duration_s,
        }


_INSERT_RESULT = bulk_insert(
    sample_values,
    ("study_id", "seq", "sample_id", "objective_id", "value", "failure", "duration_s"),
    {"at": database_now()},
    parameter="results_rows",
)


def _event_rows(study: Study, changes: ChangeSet) -> Iterator[Row]:
    """An event for each result, with the result's number; then the other events."""
    # The stored value has all that such an event reports.
    of_results = [Event(EventKind(result.state)) for result in changes.results]
    for seq, event in enumerate([*of_results, *changes.events], study.sequence + 1):
        yield {"study_id": study.id, "seq": seq, "kind": event.kind, "body": event.body}


_INSERT_EVENT = bulk_insert(
    events,
    ("study_id", "seq", "kind", "body"),
    {"at": database_now()},
    parameter="events_rows",
)


def _objective_row(objective: int, grown: Growth) -> Row:
    counters = grown.objectives[objective]
    return {
        "objective": objective,
        **{name: counters[name] for name in OBJECTIVE_COUNTERS},
    }


_COUNT_OBJECTIVE = bulk_update(
    {"objective": objectives.c.id.type}
    | {name: Integer() for name in OBJECTIVE_COUNTERS},
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["objective"])
        .values({name: objectives.c[name] + given[name] for name in OBJECTIVE_COUNTERS})
    ),
    parameter="objectives_rows",
)
_COUNT_STUDY = bulk_update(
    {
        "study": studies.c.id.type,
        "numbers": BigInteger(),
        "settled": Integer(),
        "given_up": Integer(),
        "withdrawn": Integer(),
    },
    lambda given: (
        update(studies)
        .where(studies.c.id == given["study"])
        .values(
            sequence=studies.c.sequence + given["numbers"],
            settled_full=studies.c.settled_full + given["settled"],
            planned_full=studies.c.planned_full - given["given_up"],
            withdrawn=studies.c.withdrawn + given["withdrawn"],
        )
    ),
    parameter="studies_rows",
)
WRITE = CombinedWrite(
    jobs=_CHANGE_JOB,
    attempts=_END_ATTEMPT,
    samples=_CHANGE_SAMPLE,
    results=_INSERT_RESULT,
    events=_INSERT_EVENT,
    objectives=_COUNT_OBJECTIVE,
    studies=_COUNT_STUDY,
)


def end_backoffs(connection: Connection) -> int:
    """Make jobs whose back-off is over available to asks; returns how many."""
    now = database_now()
    # A back-off further ahead than the longest comes from a clock that was set back.
    is_over = (jobs.c.ready_at <= now) | (
        jobs.c.ready_at > now + LONGEST_BACKOFF_S + 1.0
    )
    backing_off = select(jobs.c.id).where(
        jobs.c.state == READY, jobs.c.ready_at.is_not(None), is_over
    )
    found = backing_off.with_for_update(skip_locked=True).cte("found")
    return connection.execute(
        update(jobs).where(jobs.c.id.in_(select(found))).values(ready_at=None)
    ).rowcount
