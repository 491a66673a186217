"""OpenMDAO: components and groups as workers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import openmdao.api as om

from counterpoise.worker.simulation_api import Infeasible

Values = dict[str, float]


def function(
    make_system: Callable[[], Any],
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
) -> Callable[[Mapping[str, Any]], Values]:
    """A function for a worker that runs a model.

    `make_system`: a component or group class, or a function that returns one; it is
    called once in each process. `inputs` and `outputs`: the names in the study, and
    where they are in the model. An AnalysisError is infeasible.
    """
    problems: list[Any] = []

    def evaluate(x: Mapping[str, Any]) -> Values:
        if not problems:
            problems.append(_problem(make_system))
        problem = problems[0]
        for name, place in inputs.items():
            problem.set_val(place, x[name])
        try:
            problem.run_model()
        except om.AnalysisError as error:
            raise Infeasible(str(error)) from None
        return {
            name: float(np.asarray(problem.get_val(place)).item())
            for name, place in outputs.items()
        }

    return evaluate


def _problem(make_system: Callable[[], Any]) -> Any:
    problem = om.Problem(reports=False)
    problem.model.add_subsystem("system", make_system(), promotes=["*"])
    problem.setup()
    return problem
