"""Runs a study in virtual time, with real evaluations: `python -m
workers.demo.run_virtual_study FILE`.

Prints the number of complete full samples, one number per line, and finally the result
as JSON.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import moocore

from app.optimizer.arrays import Floats
from app.service.planning.compute_step import strategy_of
from app.service.planning.hypervolume import hypervolume
from app.service.planning.snapshot import problem_of
from app.service.planning.user_units import from_cube
from app.simulation.pools import Pool
from app.simulation.study import simulate
from counterpoise.wire.specification import Specification
from workers.demo.problems import DemoProblem
from workers.demo.virtual_study import VirtualResult, VirtualStudy


def run(study: VirtualStudy) -> VirtualResult:
    spec = Specification.model_validate(study.problem.study)
    problem = problem_of(spec, study.ratios)
    names = [variable.name for variable in spec.variables]
    values = KnownValues(study.problem, study.known)

    def evaluate(u: Floats, j: int) -> float:
        point = from_cube(spec.variables, problem.variables, u[None])[0]
        x = dict(zip(names, point, strict=True))
        return values.evaluate(spec.objectives[j].name, x)

    def score(F: Floats) -> float:
        print(len(F), flush=True)  # noqa: T201
        volume = hypervolume(F, study.reference_point)
        return volume["value"] if volume else 0.0

    report = simulate(
        problem,
        evaluate,
        score,
        tuple(Pool(seconds) for seconds in study.job_s),
        strategy_of(spec),
        spec.seed or 0,
        n=spec.initial_count,
        budget=spec.budget,
        batch=spec.batch_size,
        overlap=spec.overlap,
    )
    return VirtualResult(
        seconds=report.makespan,
        hypervolume=report.score,
        front=int(moocore.is_nondominated(report.values, keep_weakly=True).sum()),
        jobs=list(report.evaluations),
        busy=list(report.busy),
        history=list(report.history),
    )


class KnownValues:
    """Evaluates only points without a known value."""

    def __init__(
        self,
        problem: DemoProblem,
        known: list[tuple[dict[str, float], dict[str, float]]],
    ) -> None:
        self._problem = problem
        self._known = {tuple(x.values()): values for x, values in known}

    def evaluate(self, objective: str, x: Mapping[str, Any]) -> float:
        known = self._known.get(tuple(x.values()), {})
        return (
            known[objective]
            if objective in known
            else self._problem.evaluate(objective, x)
        )


if __name__ == "__main__":
    study = VirtualStudy.model_validate_json(Path(sys.argv[1]).read_text())
    print(run(study).model_dump_json())  # noqa: T201
