"""The result of a demo: the finished study, and the work of each worker."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from counterpoise.client import Client
from counterpoise.wire.views import (
    FrontItem,
    OutputView,
    SampleView,
    StudyView,
    WorkerView,
)
from workers.demo.problems import DemoProblem
from workers.demo.virtual_study import VirtualResult


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    worker: str
    objective: str  # the first output of its run
    jobs: int
    evaluation_s: float  # median of the run on all workers, without the requests
    busy: float  # share of its time in which it held a job, from the lease to the tell
    job_s: float  # mean time from the lease to the tell

    @property
    def idle(self) -> float:
        return 1.0 - self.busy


@dataclass(frozen=True, slots=True)
class RunSummary:
    """All workers of one run together."""

    objective: str
    jobs: int
    busy: float  # mean over the workers
    job_s: float  # mean over the jobs


@dataclass(frozen=True, slots=True)
class DemoResult:
    problem: DemoProblem
    study: StudyView
    front: list[FrontItem]
    samples: list[SampleView]  # full and complete
    workers: list[WorkerSummary]
    seconds: float  # from the study's creation to its end

    @property
    def runs(self) -> list[RunSummary]:
        """In the order of the study's outputs."""
        return [self._run(name) for name in self.problem.functions]

    def _run(self, objective: str) -> RunSummary:
        workers = [worker for worker in self.workers if worker.objective == objective]
        jobs = sum(worker.jobs for worker in workers)
        job_s = sum(worker.jobs * worker.job_s for worker in workers)
        return RunSummary(
            objective=objective,
            jobs=jobs,
            busy=fmean(worker.busy for worker in workers),
            job_s=job_s / max(jobs, 1),
        )

    @property
    def hypervolume(self) -> float:
        return self.study.hypervolume.value if self.study.hypervolume else 0.0

    def as_json(
        self, virtual: Mapping[str, Sequence[VirtualResult]], files: list[Path]
    ) -> dict[str, Any]:
        hypervolume = self.study.hypervolume
        return {
            "problem": self.study.name,
            "seed": self.problem.study["seed"],
            "budget": self.study.budget,
            "evaluated_full": self.study.evaluated_full,
            "seconds": self.seconds,
            "hypervolume": hypervolume.model_dump() if hypervolume else None,
            "ratios": {output.name: output.ratio for output in self.study.outputs},
            "feasible": self.study.feasible,
            "workers": [
                {**asdict(worker), "idle": worker.idle} for worker in self.workers
            ],
            "virtual": {
                mode: [result.model_dump() for result in results]
                for mode, results in virtual.items()
            },
            "front": [item.model_dump() for item in self.front],
            "files": [str(file) for file in files],
        }


def read_result(client: Client, problem: DemoProblem) -> DemoResult:
    """Of a finished study."""
    name = problem.study["name"]
    study = client.study(name)
    outputs = {output.name: output for output in study.outputs}
    views = {view.worker: view for view in client.workers()}
    first = problem.objectives[0]
    full = client.samples(name, full=True)
    names = {*problem.objectives, *problem.constraints}
    return DemoResult(
        problem=problem,
        study=study,
        front=sorted(client.front(name), key=lambda item: item.values[first]),
        samples=[sample for sample in full if names <= sample.values.keys()],
        workers=[
            _summary(outputs[worker.run], views[worker.name])
            for worker in problem.workers
        ],
        seconds=_seconds(study.created_at, study.finished_at or study.created_at),
    )


def runs_of(study: StudyView) -> list[OutputView]:
    """The outputs with jobs of their own; others come out of their runs."""
    return [output for output in study.outputs if output.same_run_as is None]


def _summary(output: OutputView, view: WorkerView) -> WorkerSummary:
    busy_s = view.busy_share * _seconds(view.first_seen_at, view.last_seen_at)
    return WorkerSummary(
        worker=view.worker,
        objective=output.name,
        jobs=view.done,
        evaluation_s=output.median_duration_s or 0.0,
        busy=view.busy_share,
        job_s=busy_s / max(view.done, 1),
    )


def _seconds(began: str, ended: str) -> float:
    return (
        datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    ).total_seconds()
