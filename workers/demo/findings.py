"""What a run of the demo found: the study's end, what each worker did, and the same study in virtual time."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from counterpoise.client import Client
from counterpoise.wire.views import FrontItem, ObjectiveView, SampleView, StudyView, WorkerView
from workers.demo.problems import DemoProblem
from workers.demo.question import Answer


@dataclass(frozen=True, slots=True)
class Labour:
    """Of one objective's worker."""

    objective: str
    jobs: int
    evaluation_s: float  # median, the evaluation alone
    busy: float  # share of its time in which it had a job, from being given it to having told its value
    job_s: float  # what a job took it so, on average


@dataclass(frozen=True, slots=True)
class Findings:
    problem: DemoProblem
    study: StudyView
    front: list[FrontItem]
    samples: list[SampleView]  # full ones
    crew: list[Labour]
    seconds: float  # from the study's creation to its end

    def as_json(self, virtual: dict[str, Answer], files: list[Path]) -> dict[str, Any]:
        return {
            "problem": self.study.name,
            "seed": self.problem.study["seed"],
            "budget": self.study.budget,
            "evaluated_full": self.study.evaluated_full,
            "seconds": self.seconds,
            "hypervolume": self.study.hypervolume.model_dump() if self.study.hypervolume else None,
            "ratios": {each.name: each.ratio for each in self.study.objectives},
            "workers": [
                {
                    "objective": each.objective,
                    "jobs": each.jobs,
                    "evaluation_s": each.evaluation_s,
                    "busy": each.busy,
                    "idle": 1.0 - each.busy,
                    "job_s": each.job_s,
                }
                for each in self.crew
            ],
            "virtual": {mode: answer.model_dump() for mode, answer in virtual.items()},
            "front": [item.model_dump() for item in self.front],
            "files": [str(file) for file in files],
        }


def gather(client: Client, problem: DemoProblem) -> Findings:
    """From a finished study."""
    name = problem.study["name"]
    study = client.study(name)
    front = client.front(name)
    seen = {worker.worker: worker for worker in client.workers()}
    first = problem.objectives[0]
    crew = [_labour(each, seen[each.name]) for each in study.objectives]
    began, ended = study.created_at, study.finished_at or study.created_at
    return Findings(
        problem=problem,
        study=study,
        front=sorted(front, key=lambda item: item.values[first]),
        samples=[sample for sample in client.samples(name, full=True) if len(sample.values) == len(problem.objectives)],
        crew=crew,
        seconds=_between(began, ended),
    )


def _labour(objective: ObjectiveView, worker: WorkerView) -> Labour:
    held = worker.busy_share * _between(worker.first_seen_at, worker.last_seen_at)
    return Labour(
        objective.name,
        objective.done,
        objective.median_duration_s or 0.0,
        worker.busy_share,
        held / max(worker.done, 1),
    )


def _between(began: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
