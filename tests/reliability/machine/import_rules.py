"""Rules of imports: rows at new points, at known ones, and onto jobs in every state."""

from typing import NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from app.errors import ImportInvalid
from app.service.files.evaluation_reader import KnownEvaluation, Reading
from app.service.files.import_evaluations import import_evaluations
from tests.reliability.machine.study_machine import NAME, StudyMachine
from tests.reliability.machine.work_rules import INDEX, VALUES
from tests.reliability.model import imports as model_imports
from tests.reliability.model.records import Point

Rows = dict[Point, dict[str, float | None]]
NEW_POINTS: list[Point] = [(0.125, 0.25), (0.5, 0.75), (0.875, 0.0625)]
PLACES = st.sampled_from(["full", "full", "new", "cheap-only"])
SCOPES = st.sampled_from(["mass", "crash", "both", "both", "co-objectives", "nothing"])
# `without also`: the co-objectives are missing; `contradiction`: they have values
# though their run is infeasible.
CONTENTS = st.sampled_from(
    ["value", "value", "value", "infeasible", "without also", "contradiction"]
)
STATES = st.sampled_from(
    ["ready", "leased", "done", "infeasible", "failed", "superseded"]
)


class RowDraft(NamedTuple):
    """A row of an import before its point is picked."""

    place: str
    pick: int
    scope: str
    content: str
    value: float


DRAFTS = st.builds(RowDraft, PLACES, INDEX, SCOPES, CONTENTS, VALUES)


class ImportRules(StudyMachine):
    @rule(drafts=st.lists(DRAFTS, max_size=3), evaluate=st.booleans())
    def import_drafts(self, drafts: list[RowDraft], evaluate: bool) -> None:
        rows: Rows = {}
        for draft in drafts:
            evaluation = self.evaluation(draft.scope, draft.content, draft.value)
            rows.setdefault(self.pick_point(draft.place, draft.pick), evaluation)
        self.import_rows(rows, evaluate)

    def pick_point(self, place: str, index: int) -> Point:
        full = [sample.x for sample in self.model.samples.values() if sample.full]
        cheap_only = [
            sample.x for sample in self.model.samples.values() if not sample.full
        ]
        points = {"full": full, "cheap-only": cheap_only, "new": NEW_POINTS}[
            place
        ] or NEW_POINTS
        return points[index % len(points)]

    @rule(index=INDEX, state=STATES, content=CONTENTS, full=st.booleans())
    def import_onto_job(
        self,
        index: int,
        state: str,
        content: str,
        full: bool,
    ) -> None:
        """Import what a job in this state evaluates."""
        jobs = [job for job in self.model.jobs_in(state) if job.cheap_only != full]
        if not jobs:
            return
        job = jobs[index % len(jobs)]
        evaluation = self.evaluation(job.objective, content, 0.25)
        if state == "done" and content == "value":  # the known values again
            known = self.model.known(job.sample)
            evaluation = {
                name: result
                for name, result in known.items()
                if isinstance(result, float)
            }
        self.import_rows({self.model.samples[job.sample].x: evaluation}, evaluate=False)

    def evaluation(
        self,
        scope: str,
        content: str,
        value: float,
    ) -> dict[str, float | None]:
        run_value = None if content in ("infeasible", "contradiction") else value
        co_value = None if content == "infeasible" else value + 1.0
        evaluation: dict[str, float | None] = {}
        for run, co_objectives in self.model.rules.runs.items():
            if scope in (run, "both"):
                evaluation[run] = run_value
            if scope in (run, "both", "co-objectives") and content != "without also":
                evaluation |= dict.fromkeys(co_objectives, co_value)
        return evaluation

    def import_rows(self, rows: Rows, evaluate: bool) -> None:
        if any(model_imports.refuses(self.model, x, rows[x]) for x in rows):
            self.seen.add("import: refused")
            with pytest.raises(ImportInvalid):
                self.import_into_database(rows, evaluate)
            return
        for x, evaluation in rows.items():
            self.note_import(x, evaluation)
        self.import_into_database(rows, evaluate)
        effective = {
            x: evaluation for x, evaluation in rows.items() if evaluation or evaluate
        }
        self.import_into_model(effective, evaluate)

    def note_import(self, x: Point, evaluation: dict[str, float | None]) -> None:
        for sample in model_imports.samples_at(self.model, x):
            for job in self.model.jobs_of(sample):
                if job.objective in evaluation:
                    content = (
                        "infeasible" if evaluation[job.objective] is None else "value"
                    )
                    cheap_only = ", cheap-only" if job.cheap_only else ""
                    self.seen.add(f"import: {content} onto {job.state}{cheap_only}")

    def import_into_database(self, rows: Rows, evaluate: bool) -> None:
        evaluations = []
        for number, (x, evaluation) in enumerate(rows.items(), 1):
            evaluations.append(
                KnownEvaluation(number, f"row {number}", x, dict(evaluation))
            )
        import_evaluations(
            self.database,
            NAME,
            lambda spec: Reading(spec, evaluations),
            evaluate=evaluate,
            dry_run=False,
        )

    def import_into_model(self, rows: Rows, evaluate: bool) -> None:
        log_before = len(self.model.log)
        expected: Rows = {}
        for x, evaluation in rows.items():
            known = model_imports.import_at(
                self.model, x, evaluation, evaluate=evaluate
            )
            if known is not None:
                expected[x] = known
        self.add_imported_samples(expected)
        made_jobs = self.add_imported_jobs(list(rows) if evaluate else [])
        if len(self.model.log) > log_before or expected or made_jobs:
            model_imports.finish_import(self.model, made_jobs=made_jobs)

    def add_imported_samples(self, expected: Rows) -> None:
        samples = self.new_samples()
        assert [sample.x for sample in samples.values()] == list(expected)
        for number, sample in samples.items():
            model_imports.add_sample(self.model, number, sample.x, expected[sample.x])
            self.seen.add("import: new")

    def add_imported_jobs(self, points: list[Point]) -> bool:
        """Jobs for the missing runs of imported samples at these points; return whether
        there are any.
        """
        expected = []
        for x in points:
            for sample in model_imports.samples_at(self.model, x):
                if self.model.samples[sample].imported:
                    runs = model_imports.runs_to_make(self.model, sample)
                    expected += [(sample, run) for run in runs]
        jobs = self.new_jobs()
        made = [(job.sample, job.objective) for job in jobs.values()]
        assert sorted(made) == sorted(expected)
        self.model.jobs |= jobs
        return bool(jobs)
