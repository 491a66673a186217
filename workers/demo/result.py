"""The result of a demo: the finished study, and the work of each worker."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
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
    """Of the worker of one run, which has the name of its first output."""

    objective: str
    jobs: int
    evaluation_s: float  # median, without the requests
    busy: float  # share of its time in which it held a job, from the lease to the tell
    job_s: float  # mean time from the lease to the tell

    @property
    def idle(self) -> float:
        return 1.0 - self.busy


@dataclass(frozen=True, slots=True)
class DemoResult:
    problem: DemoProblem
    study: StudyView
    front: list[FrontItem]
    samples: list[SampleView]  # full and complete
    workers: list[WorkerSummary]
    seconds: float  # from the study's creation to its end

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
    workers = {worker.worker: worker for worker in client.workers()}
    first = problem.objectives[0]
    full = client.samples(name, full=True)
    names = {*problem.objectives, *problem.constraints}
    return DemoResult(
        problem=problem,
        study=study,
        front=sorted(client.front(name), key=lambda item: item.values[first]),
        samples=[sample for sample in full if names <= sample.values.keys()],
        workers=[_summary(output, workers[output.name]) for output in runs_of(study)],
        seconds=_seconds(study.created_at, study.finished_at or study.created_at),
    )


def runs_of(study: StudyView) -> list[OutputView]:
    """The outputs with jobs of their own; others come out of their runs."""
    return [output for output in study.outputs if output.same_run_as is None]


def _summary(output: OutputView, worker: WorkerView) -> WorkerSummary:
    busy_s = worker.busy_share * _seconds(worker.first_seen_at, worker.last_seen_at)
    return WorkerSummary(
        objective=output.name,
        jobs=output.done,
        evaluation_s=output.median_duration_s or 0.0,
        busy=worker.busy_share,
        job_s=busy_s / max(worker.done, 1),
    )


def _seconds(began: str, ended: str) -> float:
    return (
        datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    ).total_seconds()
