"""The demo's study once more in virtual time, its points really evaluated: `python -m workers.demo.virtual FILE`.

Says on standard output how many full samples are complete, one number a line, and at last the report as JSON.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import moocore

from app.optimizer.arrays import Floats
from app.optimizer.space import decode
from app.service.planning.compute_step import strategy_of
from app.service.planning.hypervolume import hypervolume
from app.service.planning.snapshot import problem_of
from app.simulation.pools import Pool
from app.simulation.study import simulate
from counterpoise.wire.specification import Specification
from workers.demo.problems import DemoProblem
from workers.demo.question import Answer, Question


def answer(question: Question) -> Answer:
    spec = Specification.model_validate(question.problem.study)
    problem = problem_of(spec, question.ratios)
    names = [variable.name for variable in spec.variables]
    values = Values(question.problem, question.known)

    def evaluate(u: Floats, j: int) -> float:
        x = dict(zip(names, decode(problem.variables, u[None])[0].tolist(), strict=True))
        return values.of(spec.objectives[j].name, x)

    def score(F: Floats) -> float:
        print(len(F), flush=True)  # noqa: T201
        found = hypervolume(F, question.reference)
        return found["value"] if found else 0.0

    report = simulate(
        problem,
        evaluate,
        score,
        tuple(Pool(took) for took in question.took_s),
        strategy_of(spec),
        spec.seed or 0,
        n=spec.initial_count,
        budget=spec.budget,
        batch=spec.batch_size,
    )
    return Answer(
        seconds=report.makespan,
        hypervolume=report.score,
        front=int(moocore.is_nondominated(report.values, keep_weakly=True).sum()),
        jobs=list(report.evaluations),
        busy=list(report.busy),
        history=list(report.history),
    )


class Values:
    """The study's own values where it has them, else computed."""

    def __init__(self, problem: DemoProblem, known: list[tuple[dict[str, float], dict[str, float]]]) -> None:
        self._problem = problem
        self._known = {tuple(x.values()): values for x, values in known}

    def of(self, objective: str, x: Mapping[str, Any]) -> float:
        found = self._known.get(tuple(x.values()), {}).get(objective)
        return self._problem.evaluate(objective, x) if found is None else found


if __name__ == "__main__":
    question = Question.model_validate_json(Path(sys.argv[1]).read_text())
    print(json.dumps(answer(question).model_dump()))  # noqa: T201
