"""Tell: a worker's values and failures. Idempotent per lease; a list is answered item by item."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, RowMapping

from app.domain.changes import Ending, JobRow, Ledger, Result
from app.domain.job_rules import Limits, told_failure, told_value
from app.fault_points import point
from app.service.planning.schedule import make_due_what_is, settled_together
from app.store.database import Database
from app.store.studies.studies import find_study_by_id, guests, objectives_of_all
from app.store.wakeups import notify
from app.store.work.apply import write_all
from app.store.work.row_locks import lock_jobs_of, lock_studies_of
from app.store.work.workers import count_attempts
from counterpoise.wire.codes import Ending as StudyEnding
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import Tell, Told

MOST_METADATA = 20_000
Ended = dict[str, RowMapping | None]  # by lease
SAID = ("done", "failed", "late", "duplicate")  # outcomes that a worker's own words gave an attempt


def tell(database: Database, items: Sequence[Tell]) -> list[Told]:
    answers = database.write(lambda connection: tell_all(connection, items))
    point("tell.committed")
    return answers


@dataclass(frozen=True, slots=True)
class _Locked:
    """What tells are about: studies, their objectives, and by lease the job and the attempt at it."""

    studies: Mapping[int, Row[Any]]
    objectives: Mapping[int, Sequence[Row[Any]]]
    held: Mapping[str, tuple[JobRow, RowMapping]]

    def knows(self, item: Tell) -> bool:
        return item.lease in self.held and self.held[item.lease][0].id == item.job


def _lock(connection: Connection, items: Sequence[Tell]) -> _Locked:
    leases = [item.lease for item in items]
    studies = lock_studies_of(connection, leases)
    return _Locked(studies, objectives_of_all(connection, list(studies)), lock_jobs_of(connection, leases))


def tell_all(connection: Connection, items: Sequence[Tell]) -> list[Told]:
    """Settle what can be settled, in one transaction; answers in the order of the items."""
    point("tell.begun")
    locked = _lock(connection, items)  # for all items at once, so that two lists never wait for each other
    answers: dict[int, Told] = {}
    for index, item in enumerate(items):
        if not locked.knows(item):
            detail = f"lease {item.lease} was never issued for job {item.job}; tell with the pair that /ask answered"
            answers[index] = Told(job=item.job, status=404, detail=detail)
    ended: Ended = {}
    left = [index for index in range(len(items)) if index not in answers]
    while left:
        told = _tell_round(connection, [items[index] for index in left], locked, ended)
        answers.update({index: answer for index, answer in zip(left, told, strict=True) if answer is not None})
        left = [index for index in left if index not in answers]
        if left:
            locked = _lock(connection, [items[index] for index in left])  # what was settled has changed it
    count_attempts(connection, ended)
    point("tell.written")
    return [answers[index] for index in range(len(items))]


def _tell_round(connection: Connection, items: Sequence[Tell], locked: _Locked, ended: Ended) -> list[Told | None]:
    """Settle what can be settled at once, in as many statements as one tell; None for what must wait for that."""
    told: dict[int, dict[int, JobRow]] = {study: {} for study in locked.studies}  # by study, then by index
    spoken_of: set[int] = set()
    parted: set[int] = set()
    for index, item in enumerate(items):
        job, attempt = locked.held[item.lease]
        if job.id in spoken_of:  # a second word on a job must see the first one's effect, and what follows this one's
            parted.add(attempt["study_id"])
        if attempt["study_id"] not in parted:
            told[attempt["study_id"]][index] = job
            spoken_of.add(job.id)
    answers: list[Told | None] = [None] * len(items)
    heard: list[tuple[Row[Any], Ledger]] = []
    also: dict[int, list[int]] = {}
    questionable: list[int] = []  # studies in which something may be due afterwards
    opened = {job.sample: attempt["open"] for job, attempt in locked.held.values()}
    for study in locked.studies.values():
        rows, mine = locked.objectives[study.id], told[study.id]
        hearing = _Hearing({row.id: row.name for row in rows}, guests(rows), limits_of(study))
        count, may_be_due = settled_together(study, rows, list(mine.values()), opened)
        for index in list(mine)[:count]:
            answers[index] = hearing.hear(items[index], *locked.held[items[index].lease])
        heard.append((study, hearing.ledger))
        also |= hearing.also
        if hearing.ledger.results and (may_be_due or study.planned_full == study.settled_full):
            questionable.append(study.id)
    write_all(connection, heard, also)
    for _, ledger in heard:
        note_ended(ended, ledger, {lease: attempt for lease, (_, attempt) in locked.held.items()})
    for id_ in questionable:
        make_due_what_is(connection, find_study_by_id(connection, id_))
    if any(change.state == "ready" for _, ledger in heard for change in ledger.changes):
        notify(connection)
    return answers


def note_ended(ended: Ended, ledger: Ledger, attempts: Mapping[str, RowMapping]) -> None:
    """For `count_attempts` at the transaction's end: what each attempt was before the transaction."""
    for ending in ledger.endings:
        ended.setdefault(ending.lease, attempts.get(ending.lease))


def limits_of(study: Row[Any]) -> Limits:
    return Limits(study.spec["max_attempts"], study.spec["max_losses"], study.step, study.ending == StudyEnding.STOPPED)


@dataclass(slots=True)
class _Hearing:
    """One study's part of a list of tells, heard item by item and written at once."""

    names: dict[int, str]
    also: dict[int, list[int]]
    limits: Limits
    ledger: Ledger = field(default_factory=Ledger)

    def hear(self, item: Tell, job: JobRow, attempt: RowMapping) -> Told:
        if attempt["outcome"] in SAID:
            return self._again(item, job, attempt)
        fault = self._fault(item, job)
        if fault:
            return Told(job=item.job, status=422, state=job.state, detail=fault)
        return self._value(item, job, attempt) if item.failure is None else self._failure(item, job)

    def _fault(self, item: Tell, job: JobRow) -> str | None:
        expected = [self.names[guest] for guest in self.also[job.objective]]
        for name in item.also:
            if name not in expected:
                among = f"it takes {', '.join(expected)}" if expected else "it takes none"
                return f"`also` of this job does not take {name!r}; {among}{did_you_mean(name, expected)}"
        if item.metadata is not None and len(json.dumps(item.metadata)) > MOST_METADATA:
            return f"`metadata` is longer than {MOST_METADATA} characters of JSON; keep large results elsewhere"
        return None

    def _again(self, item: Tell, job: JobRow, attempt: RowMapping) -> Told:
        """The same words on the same lease: the same answer. Others: refused."""
        kind = item.failure.kind if item.failure else None
        # As floats: a database may give 1e23 back as an integer, which is not equal.
        said = {name: float(value) for name, value in (attempt["details"] or {}).get("also", {}).items()}
        if (item.value, kind, dict(item.also)) == (attempt["value"], attempt["failure"], said):
            return Told(job=job.id, status=200, state=job.state, detail=DETAILS[attempt["outcome"]])
        words = f"value {attempt['value']!r}" if attempt["failure"] is None else f"failure {attempt['failure']!r}"
        words += "".join(f", {name} {value!r}" for name, value in said.items())
        detail = f"this lease has already told {words}; a result cannot be changed"
        return Told(job=job.id, status=409, state=job.state, detail=detail)

    def _value(self, item: Tell, job: JobRow, attempt: RowMapping) -> Told:
        change = told_value(job)
        current = job.state == "leased" and job.lease == item.lease
        outcome = "duplicate" if change is None else "done" if current else "late"
        self._end(item, outcome)
        if outcome != "done":
            self.ledger.mishaps.append((job.objective, outcome))
        if change is not None:
            if job.lease not in (None, item.lease):  # somebody else computes what is now known
                self.ledger.endings.append(Ending(job.lease or "", "overtaken"))
            self.ledger.changes.append(change)
            age = attempt["age_s"] if attempt["age_s"] >= 0.0 else None  # else the clock was set back
            took = item.duration_s if item.duration_s is not None else age
            self.ledger.results.append(Result(job.sample, job.objective, item.value, duration_s=took))
            for guest in self.also[job.objective]:
                value = item.also.get(self.names[guest])
                failure = "error" if value is None else None
                self.ledger.results.append(Result(job.sample, guest, value, failure))
        state = job.state if change is None else change.state
        return Told(job=job.id, status=200, state=state, detail=DETAILS[outcome])

    def _failure(self, item: Tell, job: JobRow) -> Told:
        assert item.failure is not None  # noqa: S101
        change = told_failure(job, item.lease, item.failure.kind, self.limits)
        self._end(item, "failed")
        if change is not None:
            self.ledger.changes.append(change)
            if change.state == "failed":
                self.ledger.results += failures(job, item.failure.kind, self.also)
        state = job.state if change is None else change.state
        return Told(job=job.id, status=200, state=state, detail=DETAILS["failed"])

    def _end(self, item: Tell, outcome: str) -> None:
        details = {name: said for name, said in (("metadata", item.metadata), ("also", dict(item.also))) if said}
        failure = item.failure
        self.ledger.endings.append(
            Ending(
                lease=item.lease,
                outcome=outcome,
                value=item.value,
                failure=failure.kind if failure else None,
                message=failure.message if failure else None,
                duration_s=item.duration_s,
                details=details or None,
            )
        )


def failures(job: JobRow, kind: str, also: dict[int, list[int]]) -> list[Result]:
    """A run that failed for good gives no value to any of its objectives."""
    return [Result(job.sample, objective, failure=kind) for objective in (job.objective, *also[job.objective])]


DETAILS = {
    "done": "recorded",
    "late": "recorded; the lease had expired, but the value was still missing",
    "duplicate": "kept as a further attempt; another lease was faster and its value stands",
    "failed": "the failure is recorded",
}
