"""What a run of the demo found: the study's end, what each worker did, and the same study in virtual time."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from counterpoise.client import Client
from counterpoise.wire.views import FrontItem, SampleView, StudyView
from workers.demo.problems import DemoProblem
from workers.demo.virtual import Answer


@dataclass(frozen=True, slots=True)
class Labour:
    """Of one objective's worker."""

    objective: str
    jobs: int
    evaluation_s: float  # median, the evaluation alone
    busy: float  # share of its time in which it had a job, from being given it to having told its value

    def held_s(self, seconds: float) -> float:
        """What a job took it, handing over included."""
        return self.busy * seconds / max(self.jobs, 1)


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
    crew = [
        Labour(each.name, each.done, each.median_duration_s or 0.0, getattr(seen[each.name], "busy_share", 0.5))
        for each in study.objectives
    ]
    began, ended = (datetime.fromisoformat(str(at)) for at in (study.created_at, study.finished_at))
    return Findings(
        problem=problem,
        study=study,
        front=sorted(front, key=lambda item: item.values[first]),
        samples=[sample for sample in client.samples(name, full=True) if len(sample.values) == len(problem.objectives)],
        crew=crew,
        seconds=(ended - began).total_seconds(),
    )
