"""What the demo can optimise: the study, which function evaluates what, and the same values without a worker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from workers import synthetic

PROBLEMS = ("wing", "dtlz2")
SEARCH = 24  # full samples beyond the initial design, unless a budget is given
CHEAP_S, SLOW_S = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class DemoProblem:
    study: dict[str, Any]  # as one says it to POST /studies
    functions: dict[str, str]  # objective -> module:function, as one says it to `counterpoise worker`
    environment: dict[str, str] = field(default_factory=dict)  # that the functions read

    @property
    def objectives(self) -> list[str]:
        return list(self.functions)

    @property
    def units(self) -> dict[str, str]:
        return {each["name"]: each["unit"] for each in self.study["objectives"] if "unit" in each}

    def evaluate(self, objective: str, x: Mapping[str, float]) -> float:
        """At once, whatever time a worker would pretend that it takes."""
        if self.study["name"] == "wing":
            module, function = self.functions[objective].split(":")
            return float(getattr(import_module(module), function)(x))
        return synthetic.value(list(x.values()), self.objectives.index(objective), len(self.objectives))


def problem(name: str, m: int, latencies: Sequence[float], budget: int | None, seed: int) -> DemoProblem:
    found = wing() if name == "wing" else dtlz2(m, latencies or [CHEAP_S] * (m - 1) + [SLOW_S])
    usual = 11 * len(found.study["variables"]) - 1
    budget = budget or usual + SEARCH
    # Small budgets leave something for the search.
    found.study.update(budget=budget, seed=seed, initial_samples=min(usual, max(2, budget * 2 // 3)))
    return found


def wing() -> DemoProblem:
    study = yaml.safe_load(Path(__file__).parents[1].joinpath("wing", "study.yaml").read_text())
    names = [objective["name"] for objective in study["objectives"]]
    return DemoProblem(study, {name: f"workers.wing.{name}:{name}" for name in names})


def dtlz2(m: int, latencies: Sequence[float]) -> DemoProblem:
    names = [f"f{i + 1}" for i in range(m)]
    study = {
        "name": "dtlz2",
        "variables": [{"name": f"x{k + 1}", "low": 0.0, "high": 1.0} for k in range(m + 1)],
        "objectives": [{"name": name, "evaluation_time_s": took} for name, took in zip(names, latencies, strict=True)],
    }
    environment = {synthetic.M: str(m), synthetic.LATENCIES: ",".join(map(str, latencies))}
    return DemoProblem(study, dict.fromkeys(names, "workers.synthetic:dtlz2"), environment)
