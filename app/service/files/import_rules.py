"""What an import changes in a study. Pure.

A row belongs to the full sample at its point; where there is none, it becomes a sample
of its own: full, because its values may make it complete, but imported, so no part of
the plan. What the study knows already never changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.jobs import Job
from app.domain.samples import NewSample, Point, Sample
from app.domain.studies import CoObjectives, Limits
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet, JobChange, Result
from app.service.files.evaluation_reader import KnownEvaluation
from app.service.files.fault_list import FaultList
from counterpoise.wire.codes import FailureKind, JobState
from counterpoise.wire.views import Imported

Known = Mapping[int, float | None]  # by objective: the value, None if infeasible
# By objective: the value, or how it failed for good
Outcomes = Mapping[int, float | FailureKind]
INFEASIBLE = FailureKind.INFEASIBLE


@dataclass(frozen=True, slots=True)
class Existing:
    """A sample at a row's point, and what is known of it."""

    sample: Sample
    outcomes: Outcomes
    jobs: Sequence[Job]


@dataclass(slots=True)
class ImportChanges:
    """What an import would change, and the faults that prevent it."""

    co_objectives: CoObjectives
    limits: Limits
    evaluate: bool  # make jobs for missing values
    names: Mapping[int, str]  # of objectives
    # Whether a point may have several samples, because its values have noise
    noisy: bool = False
    changes: ChangeSet = field(default_factory=ChangeSet)
    new: list[tuple[NewSample, Known]] = field(default_factory=list)
    # Of existing imported samples: sample -> objectives
    new_jobs: dict[int, list[int]] = field(default_factory=dict)
    completed: int = 0  # existing imported samples that get their last value
    values_added: int = 0
    unchanged: int = 0
    ignored: int = 0
    faults: FaultList = field(default_factory=FaultList)

    @property
    def is_empty(self) -> bool:
        return not (self.changes.results or self.new or self.new_jobs)

    def report(self, rows: int, *, dry_run: bool) -> Imported:
        complete = sum(self._is_complete(known) for _, known in self.new)
        of_new = sum(len(sample.objectives) for sample, _ in self.new)
        of_existing = sum(len(objectives) for objectives in self.new_jobs.values())
        return Imported(
            rows=rows,
            complete=complete,
            partial=len(self.new) - complete,
            values_added=self.values_added,
            jobs=of_new + of_existing,
            unchanged=self.unchanged,
            ignored=self.ignored,
            dry_run=dry_run,
        )

    def merge(
        self, rows: Sequence[KnownEvaluation]
    ) -> dict[Point, list[KnownEvaluation]]:
        """Each point once, with all that its rows have; with noise, rows of different
        values stay apart.

        Rows without values are ignored, unless they make jobs.
        """
        points: dict[Point, list[KnownEvaluation]] = {}
        for row in rows:
            if not row.known and not self.evaluate:
                self.ignored += 1
                continue
            here = points.setdefault(row.x, [])
            place = self._place_of(row, here)
            if place == len(here):
                here.append(row)
                continue
            first = here[place]
            self._check_repeated(first, row)
            self.unchanged += row.known.items() <= first.known.items()
            missing = {
                name: value
                for name, value in row.known.items()
                if first.known.get(name) is None
            }
            here[place] = replace(first, known={**first.known, **missing})
        return points

    def _place_of(self, row: KnownEvaluation, here: Sequence[KnownEvaluation]) -> int:
        """The index of the row at its point that it belongs to; the number of these
        rows if it belongs to none.
        """
        if not self.noisy:
            return 0
        for place, other in enumerate(here):
            common = row.known.keys() & other.known.keys()
            if all(row.known[name] == other.known[name] for name in common):
                return place
        return len(here)

    def _check_repeated(self, first: KnownEvaluation, row: KnownEvaluation) -> None:
        for name in row.known.keys() & first.known.keys():
            values = (row.known[name], first.known[name])
            # A value may follow a failure, as it may in a study, whose export has both.
            if None not in values and values[0] != values[1]:
                detail = f"the same point is given twice, with different values of {name}; which one is right?"
                self.faults.add(row.row, row.pointer, detail, first.row)

    def own_samples(
        self,
        rows: Sequence[Known],
        existing: Sequence[Existing],
    ) -> list[Sequence[Existing]]:
        """The samples that each of the rows at one point belongs to: all or, with
        noise, the first of the same values that no earlier row belongs to.
        """
        if not self.noisy:
            return [existing for _ in rows]
        left = list(existing)
        found: list[Sequence[Existing]] = []
        for given in rows:
            same = [known for known in left if _agrees(given, known.outcomes)][:1]
            found.append(same)
            left = [known for known in left if known not in same]
        return found

    def take(
        self, row: KnownEvaluation, given: Known, existing: Sequence[Existing]
    ) -> None:
        """Add what a row changes, given the samples at its point."""
        known_here = _outcomes_at_point(existing)
        if self._contradicts(row, given, known_here):
            return
        before = self._size()
        new_before = len(self.new)
        for sample in existing:
            self._settle_jobs(row, given, sample)
        home = next((sample for sample in existing if sample.sample.full), None)
        if home is not None:
            self._add_values(home, given)
        elif not existing or self._has_news(given, known_here):
            values = {
                o: outcome
                for o, outcome in known_here.items()
                if isinstance(outcome, float)
            }
            all_known: Known = {**values, **given}
            self.new.append(
                (
                    NewSample(row.x, self._missing_runs(all_known, ()), full=True),
                    all_known,
                )
            )
        if existing and len(self.new) == new_before:
            added = [
                o
                for o, value in given.items()
                if value is not None and not _has_value(known_here, o)
            ]
            self.values_added += len(added)
        if self._size() == before:
            self.unchanged += 1

    def _size(self) -> tuple[int, int, int]:
        return len(self.changes.results), len(self.new), len(self.new_jobs)

    def _is_complete(self, known: Mapping[int, object]) -> bool:
        return all(isinstance(known.get(objective), float) for objective in self.names)

    def _fault(self, row: KnownEvaluation, detail: str) -> None:
        self.faults.add(row.row, row.pointer, detail)

    def _contradicts(self, row: KnownEvaluation, given: Known, known: Outcomes) -> bool:
        faults_before = self.faults.count
        for objective, value in given.items():
            if _has_value(known, objective) and value != known[objective]:
                shown = INFEASIBLE if value is None else repr(value)
                name = self.names[objective]
                detail = f"{name} is {known[objective]!r} at this point, not {shown}: a value never changes"
                self._fault(row, detail)
        return self.faults.count > faults_before

    def _has_news(self, given: Known, known: Outcomes) -> bool:
        """Whether a row has more than the cheap-only samples at its point."""
        makes_jobs = self.evaluate and len(given) < len(self.names)
        return makes_jobs or any(
            known.get(o) != _outcome(value) for o, value in given.items()
        )

    def _missing_runs(
        self, known: Mapping[int, object], jobs: Sequence[Job]
    ) -> tuple[int, ...]:
        """The runs to be made: those of which nothing is known and which have no job;
        none of a sample that is infeasible.
        """
        is_infeasible = any(value in (None, INFEASIBLE) for value in known.values())
        if is_infeasible or not self.evaluate:
            return ()
        with_job = {job.objective for job in jobs}
        missing = []
        for run, others in self.co_objectives.items():
            is_known = any(objective in known for objective in (run, *others))
            if run not in with_job and not is_known:
                missing.append(run)
        return tuple(missing)

    def _settle_jobs(
        self, row: KnownEvaluation, given: Known, existing: Existing
    ) -> None:
        """Jobs whose value is now known are done, as by a late tell."""
        for job in existing.jobs:
            others = self.co_objectives[job.objective]
            concerned = any(
                objective in given for objective in (job.objective, *others)
            )
            if job.state is JobState.DONE or not concerned:
                continue
            if job.objective in given:
                self._settle_job(row, given, job, existing.outcomes)
            elif existing.sample.full:
                run = self.names[job.objective]
                other = next(
                    self.names[objective] for objective in others if objective in given
                )
                self._fault(
                    row,
                    f"{other} comes out of the run of {run}, which is still awaited here; give {run} too",
                )

    def _settle_job(
        self, row: KnownEvaluation, given: Known, job: Job, outcomes: Outcomes
    ) -> None:
        others = self.co_objectives[job.objective]
        with_value = [
            self.names[objective]
            for objective in others
            if given.get(objective) is not None
        ]
        if given[job.objective] is not None:
            self._finish(job, given)
        elif with_value:
            run = self.names[job.objective]
            detail = f"{with_value[0]} comes out of the run of {run}, which is infeasible here; leave one of them out"
            self._fault(row, detail)
        else:
            self._fail(job, outcomes)

    def _finish(self, job: Job, given: Known) -> None:
        job_rules.overtake(self.changes, job)
        self.changes.jobs.append(
            JobChange(job, JobState.DONE, errors=job.errors, losses=job.losses)
        )
        self.changes.results.append(
            Result(job.sample, job.objective, given[job.objective])
        )
        for objective in self.co_objectives[job.objective]:
            value = given.get(objective)
            failure = INFEASIBLE if objective in given else FailureKind.ERROR
            self.changes.results.append(
                Result(
                    job.sample, objective, value, None if value is not None else failure
                )
            )

    def _fail(self, job: Job, outcomes: Outcomes) -> None:
        """The point is infeasible, as if the worker had told it; for a job that failed,
        the reason is now known.
        """
        others = self.co_objectives[job.objective]
        changed_before = len(self.changes.jobs)
        job_rules.tell_failure(
            self.changes, job, job.lease or "", INFEASIBLE, others, self.limits
        )
        if len(self.changes.jobs) > changed_before:
            job_rules.overtake(self.changes, job)
            return
        for result in job_rules.failed_results(job, INFEASIBLE, others):
            known = outcomes.get(result.objective)
            if not (isinstance(known, float) or known is INFEASIBLE):
                self.changes.results.append(replace(result, of_job=False))

    def _add_values(self, home: Existing, given: Known) -> None:
        """Add the values of outputs that no job of the sample returns."""
        awaited: set[int] = set()
        for job in home.jobs:
            if job.state is not JobState.DONE:
                awaited |= {job.objective, *self.co_objectives[job.objective]}
        after: dict[int, float | FailureKind] = dict(home.outcomes)
        for objective, value in given.items():
            if _has_value(home.outcomes, objective):
                continue
            after[objective] = _outcome(value)
            if objective not in awaited and after[objective] != home.outcomes.get(
                objective
            ):
                failure = INFEASIBLE if value is None else None
                self.changes.results.append(
                    Result(home.sample.id, objective, value, failure, of_job=False)
                )
        if home.sample.is_imported:
            self.completed += self._is_complete(after) and not self._is_complete(
                home.outcomes
            )
            runs = self._missing_runs(after, home.jobs)
            if runs:
                self.new_jobs[home.sample.id] = list(runs)


def _outcomes_at_point(existing: Sequence[Existing]) -> dict[int, float | FailureKind]:
    """What is known at a point from all its samples; values come before failures."""
    known: dict[int, float | FailureKind] = {}
    for sample in existing:
        for objective, outcome in sample.outcomes.items():
            if not _has_value(known, objective):
                known[objective] = outcome
    return known


def _has_value(outcomes: Outcomes, objective: int) -> bool:
    return isinstance(outcomes.get(objective), float)


def _agrees(given: Known, known: Outcomes) -> bool:
    """Whether no value of a row differs from that of a sample."""
    return all(
        not _has_value(known, objective) or value == known[objective]
        for objective, value in given.items()
    )


def _outcome(value: float | None) -> float | FailureKind:
    return INFEASIBLE if value is None else value
