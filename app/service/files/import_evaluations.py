"""Imports: evaluations known from elsewhere become data of a study, all of a request or none.

A row belongs to the full sample at its point; where there is none, it becomes a sample of its own: full, as its values
may make it complete, but imported, so no part of the plan. What the study knows already is never changed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.changes import Ending, JobRow, Ledger, Result
from app.domain.job_rules import Limits, told_failure, told_value
from app.errors import ImportInvalid, StateChanged
from app.service.files.evaluation_reader import INFEASIBLE, Evaluation, Reading
from app.service.planning.schedule import make_due_what_is
from app.service.studies.lifecycle import find, plan_initial
from app.service.work.tell import failures, limits_of
from app.store.database import Database
from app.store.studies.points import Point, jobs_at, outcomes_of, samples_at
from app.store.studies.samples import NewSample, add_jobs, add_samples
from app.store.studies.steps import due_steps
from app.store.studies.studies import change_study, find_study_by_id, guests, objectives_of
from app.store.wakeups import notify
from app.store.work.apply import write
from app.store.work.workers import count_attempts
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import Imported

Known = dict[int, float | None]  # objective -> value, None if infeasible


def import_evaluations(
    database: Database,
    name: str,
    read: Callable[[Specification], Reading],
    *,
    evaluate: bool,
    dry_run: bool,
) -> Imported:
    """`evaluate`: make jobs of the values that are missing. The same rows again change nothing."""
    with database.read() as connection:
        study = find(connection, name)
    reading = read(Specification.model_validate(study.spec))

    def work(connection: Connection) -> Imported:
        locked = find(connection, name, lock=True)
        if locked.id != study.id:
            raise StateChanged(f"study {name!r} was deleted and created again meanwhile; nothing was imported")
        found = _judge(connection, locked, reading, evaluate, lock=True)
        _write(connection, locked, found)
        return found.report(reading.found, dry_run)

    if not dry_run:
        return database.write(work)
    with database.read() as connection:
        return _judge(connection, study, reading, evaluate, lock=False).report(reading.found, dry_run)


@dataclass(slots=True)
class _Findings:
    """What an import would change."""

    also: dict[int, list[int]]
    limits: Limits
    evaluate: bool
    names: dict[int, str]
    ledger: Ledger = field(default_factory=Ledger)
    new: list[tuple[NewSample, Known]] = field(default_factory=list)
    jobs: dict[int, list[int]] = field(default_factory=dict)  # of imported samples that are there: sample -> objectives
    completed: int = 0  # imported samples that have all values now
    values_added: int = 0
    unchanged: int = 0
    ignored: int = 0
    faults: list[Fault] = field(default_factory=list)

    def report(self, rows: Sequence[Evaluation], dry_run: bool) -> Imported:
        complete = sum(self._complete(known) for _, known in self.new)
        return Imported(
            rows=len(rows),
            complete=complete,
            partial=len(self.new) - complete,
            values_added=self.values_added,
            jobs=sum(len(sample.objectives) for sample, _ in self.new) + sum(map(len, self.jobs.values())),
            unchanged=self.unchanged,
            ignored=self.ignored,
            dry_run=dry_run,
        )

    def _complete(self, known: Mapping[int, object]) -> bool:
        return all(isinstance(known.get(objective), float) for objective in self.names)

    def take(
        self,
        row: Evaluation,
        given: Known,
        there: Sequence[Row[Any]],
        outcomes: Mapping[int, dict[int, float | str]],
        jobs: Mapping[int, Sequence[JobRow]],
    ) -> None:
        faults, everywhere = len(self.faults), dict[int, float | str]()
        for sample in there:
            told = outcomes.get(sample.id, {})
            everywhere |= {o: known for o, known in told.items() if not isinstance(everywhere.get(o), float)}
        values = {objective: known for objective, known in everywhere.items() if isinstance(known, float)}
        for objective, known in given.items():
            if objective in values and known != values[objective]:
                said = "infeasible" if known is None else repr(known)
                words = (
                    f"{self.names[objective]} is {values[objective]!r} at this point, not {said}: a value never changes"
                )
                self.faults.append(Fault(pointer=row.place, detail=words))
        if len(self.faults) > faults:
            return
        home = next((sample for sample in there if sample.full), None)
        before = (len(self.ledger.results), len(self.new), len(self.jobs))
        for sample in there:
            self._settle(row, sample, given, outcomes.get(sample.id, {}), jobs.get(sample.id, ()))
        if home is not None:
            self._add(home, given, outcomes.get(home.id, {}), jobs.get(home.id, ()))
        elif not there or self._news(given, everywhere):
            all_known: Known = {**values, **given}
            self.new.append((NewSample(row.x, self._runs(all_known, ()), full=True), all_known))
        if there and len(self.new) == before[1]:
            self.values_added += sum(1 for o, known in given.items() if known is not None and o not in values)
        if before == (len(self.ledger.results), len(self.new), len(self.jobs)):
            self.unchanged += 1

    def _news(self, given: Known, everywhere: Mapping[int, float | str]) -> bool:
        """Does a row tell more than the cheap-only samples at its point?"""
        asks = self.evaluate and len(given) < len(self.names)
        return asks or any(everywhere.get(o) != (INFEASIBLE if v is None else v) for o, v in given.items())

    def _runs(self, known: Mapping[int, object], jobs: Sequence[JobRow]) -> tuple[int, ...]:
        """The runs to be made: those of which nothing is known, and for which there is no job."""
        if not self.evaluate:
            return ()
        made = {job.objective for job in jobs}
        return tuple(o for o, also in self.also.items() if o not in made and not any(e in known for e in (o, *also)))

    def _settle(
        self,
        row: Evaluation,
        sample: Row[Any],
        given: Known,
        told: Mapping[int, float | str],
        jobs: Sequence[JobRow],
    ) -> None:
        """Jobs whose value is now known are done, as by a late tell."""
        for job in jobs:
            also = self.also[job.objective]
            if job.state == "done" or not any(o in given for o in (job.objective, *also)):
                continue
            if job.objective not in given and not sample.full:
                continue
            run, valued = self.names[job.objective], [self.names[o] for o in also if given.get(o) is not None]
            if job.objective not in given:
                guest = next(self.names[o] for o in also if o in given)
                words = f"{guest} comes out of the run of {run}, which is still awaited here; give {run} too"
                self.faults.append(Fault(pointer=row.place, detail=words))
            elif given[job.objective] is not None:
                self._finish(job, given)
            elif valued:
                words = f"{valued[0]} comes out of the run of {run}, which is infeasible here; leave one of them out"
                self.faults.append(Fault(pointer=row.place, detail=words))
            else:
                self._fail(job, told)

    def _finish(self, job: JobRow, given: Known) -> None:
        change = told_value(job)
        if change is None:
            return
        self.ledger.changes.append(change)
        self._overtake(job)
        self.ledger.results.append(Result(job.sample, job.objective, given[job.objective]))
        for guest in self.also[job.objective]:
            value, failure = given.get(guest), INFEASIBLE if guest in given else "error"
            self.ledger.results.append(Result(job.sample, guest, value, None if value is not None else failure))

    def _fail(self, job: JobRow, told: Mapping[int, float | str]) -> None:
        """The point has no value, as if whoever has the job had said so; of a job that failed, now it is known why."""
        change = told_failure(job, job.lease or "", INFEASIBLE, self.limits)
        if change is not None:
            self.ledger.changes.append(change)
            self._overtake(job)
            self.ledger.results += failures(job, INFEASIBLE, self.also)
            return
        known = {o for o, word in told.items() if isinstance(word, float) or word == INFEASIBLE}
        self.ledger.results += [
            replace(one, of_job=False) for one in failures(job, INFEASIBLE, self.also) if one.objective not in known
        ]

    def _overtake(self, job: JobRow) -> None:
        if job.lease is not None:  # somebody computes what is now known
            self.ledger.endings.append(Ending(job.lease, "overtaken"))

    def _add(self, home: Row[Any], given: Known, told: Mapping[int, float | str], jobs: Sequence[JobRow]) -> None:
        """What no job of the sample brings."""
        awaited = {o for job in jobs if job.state != "done" for o in (job.objective, *self.also[job.objective])}
        after: dict[int, float | str] = dict(told)
        for objective, known in given.items():
            if isinstance(told.get(objective), float):
                continue
            after[objective] = INFEASIBLE if known is None else known
            if objective not in awaited and after[objective] != told.get(objective):
                failure = INFEASIBLE if known is None else None
                self.ledger.results.append(Result(home.id, objective, known, failure, of_job=False))
        if home.imported_seq is not None:
            self.completed += self._complete(after) and not self._complete(told)
            runs = self._runs(after, jobs)
            if runs:
                self.jobs[home.id] = list(runs)


def _judge(connection: Connection, study: Row[Any], reading: Reading, evaluate: bool, *, lock: bool) -> _Findings:
    """What these rows would change; ImportInvalid, with every fault, if one of them cannot be."""
    objectives = objectives_of(connection, study.id)
    names = {row.id: row.name for row in objectives}
    found = _Findings(guests(objectives), limits_of(study), evaluate, names)
    points = _merged(reading.found, found)
    at = samples_at(connection, study.id, list(points))
    ids = sorted(sample.id for there in at.values() for sample in there)
    outcomes, jobs = outcomes_of(connection, ids), jobs_at(connection, ids, lock=lock)
    numbers = {row.name: row.id for row in objectives}
    for point, row in points.items():
        found.take(row, {numbers[name]: known for name, known in row.known.items()}, at.get(point, []), outcomes, jobs)
    if reading.faults or found.faults:
        raise ImportInvalid(sorted([*reading.faults, *found.faults], key=_number))
    return found


def _number(fault: Fault) -> int:
    """Of the row, so that faults come in the order of the file."""
    digits = re.search(r"\d+", fault.pointer)
    return int(digits[0]) if digits else 0


def _merged(rows: Sequence[Evaluation], found: _Findings) -> dict[Point, Evaluation]:
    """Each point once, with all that its rows say. Rows that say nothing are ignored, unless jobs are to be made."""
    points: dict[Point, Evaluation] = {}
    for row in rows:
        if not row.known and not found.evaluate:
            found.ignored += 1
            continue
        first = points.setdefault(row.x, row)
        for name in row.known.keys() & first.known.keys():
            # A value may follow a failure, as it may in a study, whose export has both.
            if None not in (row.known[name], first.known[name]) and row.known[name] != first.known[name]:
                words = f"the same point as {first.place}, with another value of {name}; which one is right?"
                found.faults.append(Fault(pointer=row.place, detail=words))
        if first is not row:
            found.unchanged += row.known.items() <= first.known.items()
            values = {name: value for name, value in row.known.items() if first.known.get(name) is None}
            points[row.x] = replace(first, known={**first.known, **values})
    return points


def _write(connection: Connection, study: Row[Any], found: _Findings) -> None:
    ledger, new = found.ledger, found.new
    if not (ledger.results or new or found.jobs):
        return
    wanted = [sample for sample, _ in new]
    ids = add_samples(connection, study.id, wanted, also=found.also, imported_seq=study.sequence + 1)
    add_jobs(connection, study.id, found.jobs, found.also)
    for id_, (_, known) in zip(ids, new, strict=True):
        for objective, value in known.items():
            failure = INFEASIBLE if value is None else None
            ledger.results.append(Result(id_, objective, value, failure, of_job=False))
    ledger.events.append(("imported", {"samples": len(new), "values": len(ledger.results)}))
    write(connection, study, ledger, found.also)
    report = found.report((), dry_run=False)
    change_study(connection, study.id, imported_complete=study.imported_complete + found.completed + report.complete)
    now = find_study_by_id(connection, study.id)
    if any(step.kind == "initial" for step in due_steps(connection, study.id)):
        plan_initial(connection, now)
    else:
        make_due_what_is(connection, now)
    if report.jobs:
        change_study(connection, study.id, cancel_running=False)  # their values are wanted, though it was stopped
        notify(connection)
    count_attempts(connection, {ending.lease: None for ending in ledger.endings})
