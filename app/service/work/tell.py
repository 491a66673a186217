"""Tell: workers' values and failures.

Idempotent per lease; a list is processed item by item.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.jobs import Attempt, Job
from app.domain.planning.stepping import may_plan
from app.domain.planning.stepping_progress import prefix_until_due
from app.domain.studies import CoObjectives, Objective, Study, co_objectives_of
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet
from app.domain.work.job_rules import Report
from app.domain.work.sample_rules import limits_of_cheap_runs
from app.fault_points import point
from app.service.planning.schedule import is_step_waiting, schedule_due_steps
from app.service.work.other_jobs import add_changes_of_other_jobs
from app.store.database import Connection, Database
from app.store.studies.studies import find_study_by_id, objectives_of_all
from app.store.wakeups import notify
from app.store.work.apply_changes import apply_all
from app.store.work.attempt_counts import count_attempts
from app.store.work.row_locks import lock_jobs_of_leases, lock_studies_of_leases
from counterpoise.wire.codes import FailureKind, JobState, Outcome
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import Tell, Told

MOST_METADATA = 20_000
DETAILS = {
    Outcome.DONE: "recorded",
    Outcome.LATE: "recorded; the lease had expired, but the value was still missing",
    Outcome.DUPLICATE: "kept as a further attempt; another lease was faster and its value stands",
    Outcome.FAILED: "the failure is recorded",
}
# By lease: an ended attempt as it was before the transaction
AttemptsBefore = dict[str, Attempt | None]


def tell(database: Database, items: Sequence[Tell]) -> list[Told]:
    """Settle what can be settled, in one transaction; returns a response for each item."""
    told = database.write(settle_tells, items)
    point("tell.committed")
    return told


@dataclass(frozen=True, slots=True)
class _Locked:
    """The locked rows that tells refer to: studies, their objectives, and by lease the
    job and the attempt.
    """

    studies: Sequence[Study]
    objectives: Mapping[int, Sequence[Objective]]
    jobs: Mapping[str, tuple[Job, Attempt]]

    def has_lease_of(self, item: Tell) -> bool:
        return item.lease in self.jobs and self.jobs[item.lease][0].id == item.job


def _lock(connection: Connection, items: Iterable[Tell]) -> _Locked:
    """Lock for all items at once, so that two lists never wait for each other."""
    leases = [item.lease for item in items]
    studies = lock_studies_of_leases(connection, leases)
    objectives = objectives_of_all(connection, [study.id for study in studies])
    return _Locked(studies, objectives, lock_jobs_of_leases(connection, leases))


def settle_tells(connection: Connection, items: Sequence[Tell]) -> list[Told]:
    point("tell.begun")
    locked = _lock(connection, items)
    told: dict[int, Told] = {}  # by index
    for index, item in enumerate(items):
        if not locked.has_lease_of(item):
            detail = (
                f"job {item.job} has no lease {item.lease}: tell with the pair that /ask returned,"
                " or its study was deleted"
            )
            told[index] = Told(job=item.job, status=404, detail=detail)
    before: AttemptsBefore = {}
    left = [index for index in range(len(items)) if index not in told]
    while left:
        told |= _tell_round(
            connection, {index: items[index] for index in left}, locked, before
        )
        left = [index for index in left if index not in told]
        if left:
            # The round has changed it
            locked = _lock(connection, [items[index] for index in left])
    count_attempts(connection, before)
    point("tell.written")
    return [told[index] for index in range(len(items))]


def _tell_round(
    connection: Connection,
    items: Mapping[int, Tell],
    locked: _Locked,
    before: AttemptsBefore,
) -> dict[int, Told]:
    """Settle what can be settled in one go; items that depend on it are left for the
    next round.
    """
    told: dict[int, Told] = {}
    settled: list[_StudyTells] = []
    by_study = _first_tells(items, locked)
    for study in locked.studies:
        tells = _StudyTells(study, locked.objectives[study.id])
        told |= _tell_study(connection, tells, by_study.get(study.id, {}), locked)
        settled.append(tells)
    apply_all(
        connection,
        [(tells.study, tells.changes, tells.co_objectives) for tells in settled],
    )
    for tells in settled:
        for lease in tells.changes.ended_leases:
            known = locked.jobs.get(lease)
            before.setdefault(lease, known[1] if known is not None else None)
        if tells.may_be_due:
            study = find_study_by_id(connection, tells.study.id)
            schedule_due_steps(connection, study)
    if any(tells.changes.makes_jobs_ready for tells in settled):
        notify(connection)
    return told


def _tell_study(
    connection: Connection,
    tells: "_StudyTells",
    items: Mapping[int, Tell],
    locked: _Locked,
) -> dict[int, Told]:
    """Add what these tells change to the change set of their study, up to the first
    after which a step may be due.
    """
    study = tells.study
    jobs = [locked.jobs[item.lease][0] for item in items.values()]
    told_jobs, ruled_out = tells.until_ruled_out(items.values(), jobs)
    count, may_be_due = prefix_until_due(study, tells.objectives, told_jobs, ruled_out)
    if may_be_due and is_step_waiting(connection, study):
        # None becomes due before it is executed, so nothing needs to be split.
        count, may_be_due = len(told_jobs), False
    told = {}
    for index, item in list(items.items())[:count]:
        told[index] = tells.tell(item, *locked.jobs[item.lease])
    changes = tells.changes
    add_changes_of_other_jobs(connection, changes, tells.co_objectives)
    may_search = may_plan(study.phase, study.unsettled_full, study.overlap)
    tells.may_be_due = changes.may_make_steps_due and (may_be_due or may_search)
    return told


def _first_tells(
    items: Mapping[int, Tell], locked: _Locked
) -> dict[int, dict[int, Tell]]:
    """By study and index: the items up to a study's first repeated tell for a job.

    A repeated tell must see the effect of the one before it, and what follows must not
    overtake it: it is deferred to the next round with all that follows in its study.
    """
    by_study: dict[int, dict[int, Tell]] = {}
    seen: set[int] = set()
    deferred: set[int] = set()  # studies
    for index, item in items.items():
        job, _ = locked.jobs[item.lease]
        if job.id in seen:
            deferred.add(job.study)
        if job.study not in deferred:
            by_study.setdefault(job.study, {})[index] = item
            seen.add(job.id)
    return by_study


@dataclass(slots=True)
class _StudyTells:
    """The tells of one study: each adds to the change set."""

    study: Study
    objectives: Sequence[Objective]
    changes: ChangeSet = field(default_factory=ChangeSet)
    co_objectives: CoObjectives = field(init=False)
    may_be_due: bool = False  # a step, once the changes are written

    def __post_init__(self) -> None:
        self.co_objectives = co_objectives_of(self.objectives)
        self.changes.limited = limits_of_cheap_runs(self.study, self.objectives)

    def until_ruled_out(
        self, items: Iterable[Tell], jobs: Sequence[Job]
    ) -> tuple[Sequence[Job], set[int]]:
        """The jobs up to the first that rules out a sample with other open outputs, and
        that sample: what follows must see which jobs are withdrawn for it.
        """
        for count, (item, job) in enumerate(zip(items, jobs, strict=True), 1):
            outputs = 1 + len(self.co_objectives[job.objective])
            if job.sample_open > outputs and self._rules_out(item, job):
                return jobs[:count], {job.sample}
        return jobs, set()

    def _rules_out(self, item: Tell, job: Job) -> bool:
        if item.failure is not None:
            return item.failure.kind is FailureKind.INFEASIBLE
        for output, limited in self.changes.limited.items():
            told = item.value if output == job.objective else None
            if output in self.co_objectives[job.objective]:
                told = item.also.get(limited.name)
            if told is not None and not limited.keeps_limits(told):
                return True
        return False

    def tell(self, item: Tell, job: Job, attempt: Attempt) -> Told:
        if attempt.outcome is not None and attempt.outcome.was_told:
            return _told_again(item, job, attempt)
        co_ids = {
            o.name: o.id
            for o in self.objectives
            if o.id in self.co_objectives[job.objective]
        }
        fault = _fault(item, co_ids)
        if fault is not None:
            return Told(job=job.id, status=422, state=job.state, detail=fault)
        report = _report(item, co_ids)
        if report.failure is None:
            its_co_objectives = self.co_objectives[job.objective]
            outcome, state = job_rules.tell_value(
                self.changes, job, attempt, report, its_co_objectives
            )
        else:
            outcome, state = Outcome.FAILED, self._fail(job, report, report.failure)
        return Told(job=job.id, status=200, state=state, detail=DETAILS[outcome])

    def _fail(self, job: Job, report: Report, kind: FailureKind) -> JobState:
        self.changes.attempts.append(report.ended(Outcome.FAILED))
        its_co_objectives = self.co_objectives[job.objective]
        return job_rules.tell_failure(
            self.changes, job, report.lease, kind, its_co_objectives, self.study.limits
        )


def _told_again(item: Tell, job: Job, attempt: Attempt) -> Told:
    """The same report on the same lease gets the same response; another one is refused."""
    assert attempt.outcome is not None  # noqa: S101
    kind = item.failure.kind if item.failure else None
    if (item.value, kind, dict(item.also)) == (
        attempt.value,
        attempt.failure,
        attempt.also,
    ):
        return Told(
            job=job.id, status=200, state=job.state, detail=DETAILS[attempt.outcome]
        )
    known = (
        f"value {attempt.value!r}"
        if attempt.failure is None
        else f"failure '{attempt.failure}'"
    )
    known += "".join(f", {name} {value!r}" for name, value in attempt.also.items())
    detail = f"this lease has already told {known}; a result cannot be changed"
    return Told(job=job.id, status=409, state=job.state, detail=detail)


def _fault(item: Tell, co_objectives: Mapping[str, int]) -> str | None:
    for name in item.also:
        if name not in co_objectives:
            expected = (
                f"it takes {', '.join(co_objectives)}"
                if co_objectives
                else "it takes none"
            )
            return f"`also` of this job does not take {name!r}; {expected}{did_you_mean(name, co_objectives)}"
    if item.metadata is not None and len(json.dumps(item.metadata)) > MOST_METADATA:
        return f"`metadata` is longer than {MOST_METADATA} characters of JSON; keep large results elsewhere"
    return None


def _report(item: Tell, co_objectives: Mapping[str, int]) -> Report:
    details = {"metadata": item.metadata, "also": dict(item.also)}
    given = {name: value for name, value in details.items() if value}
    failure = item.failure
    return Report(
        lease=item.lease,
        value=item.value,
        co_values={co_objectives[name]: value for name, value in item.also.items()},
        failure=FailureKind(failure.kind) if failure else None,
        message=failure.message if failure else None,
        duration_s=item.duration_s,
        details=given or None,
    )
