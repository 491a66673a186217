"""The problems of the demo: the study, the functions of its workers, and the same
values without a worker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from workers import synthetic

ENGINEERING = ("wing", "beam")  # with simulators in a package of that name
PROBLEMS = (*ENGINEERING, "dtlz2")
SEARCH_SAMPLES = 24  # full samples beyond the initial design, unless a budget is given
CHEAP_S, SLOW_S = 0.1, 0.5
WORKERS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class DemoWorker:
    name: str
    run: str
    function: str  # module:function, for `counterpoise worker`


@dataclass(frozen=True, slots=True)
class DemoProblem:
    study: dict[str, Any]  # the specification
    functions: dict[str, str]  # run -> module:function
    environment: dict[str, str] = field(default_factory=dict)  # of the workers
    more_workers: list[DemoWorker] = field(default_factory=list)

    @property
    def workers(self) -> list[DemoWorker]:
        """One for each run, with its name, and some more."""
        functions = self.functions.items()
        return [DemoWorker(run, run, function) for run, function in functions] + (
            self.more_workers
        )

    @property
    def objectives(self) -> list[str]:
        return [objective["name"] for objective in self.study["objectives"]]

    @property
    def constraints(self) -> list[str]:
        return [constraint["name"] for constraint in self.study.get("constraints", ())]

    @property
    def units(self) -> dict[str, str]:
        with_unit = [
            objective for objective in self.study["objectives"] if "unit" in objective
        ]
        return {objective["name"]: objective["unit"] for objective in with_unit}

    def evaluate(self, objective: str, x: Mapping[str, float]) -> float:
        """The value, without the latency of a synthetic objective."""
        if self.study["name"] in ENGINEERING:
            module, function = self.functions[objective].split(":")
            return float(getattr(import_module(module), function)(x))
        return synthetic.value(
            list(x.values()), self.objectives.index(objective), len(self.objectives)
        )


OLD_MACHINE = DemoWorker(
    "old-machine", "deflection", "workers.wing.old_machine:deflection"
)
MORE_WORKERS = {"wing": [OLD_MACHINE]}


def problem(
    name: str, m: int, latencies: Sequence[float], budget: int | None, seed: int
) -> DemoProblem:
    chosen = (
        engineering(name)
        if name in ENGINEERING
        else dtlz2(m, latencies or [CHEAP_S] * (m - 1) + [SLOW_S])
    )
    variables = len(chosen.study["variables"])
    default_initial = chosen.study.get("initial_samples", 11 * variables - 1)
    budget = budget or default_initial + SEARCH_SAMPLES
    # A small budget is not all initial design
    initial_samples = min(default_initial, max(2, budget * 2 // 3))
    chosen.study.update(budget=budget, seed=seed, initial_samples=initial_samples)
    return chosen


def engineering(name: str) -> DemoProblem:
    study = yaml.safe_load((WORKERS / name / "study.yaml").read_text())
    outputs = [*study["objectives"], *study.get("constraints", ())]
    runs = [output["name"] for output in outputs if "same_run_as" not in output]
    functions = {run: f"workers.{name}.{run}:{run}" for run in runs}
    return DemoProblem(study, functions, more_workers=MORE_WORKERS.get(name, []))


def dtlz2(m: int, latencies: Sequence[float]) -> DemoProblem:
    names = [f"f{i + 1}" for i in range(m)]
    times = zip(names, latencies, strict=True)
    study = {
        "name": "dtlz2",
        "variables": [
            {"name": f"x{k + 1}", "low": 0.0, "high": 1.0} for k in range(m + 1)
        ],
        "objectives": [
            {"name": name, "evaluation_time_s": latency_s} for name, latency_s in times
        ],
    }
    environment = {
        synthetic.M: str(m),
        synthetic.LATENCIES: ",".join(map(str, latencies)),
    }
    return DemoProblem(
        study, dict.fromkeys(names, "workers.synthetic:dtlz2"), environment
    )
