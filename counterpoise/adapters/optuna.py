"""Optuna: an existing `objective(trial)` as a worker, and studies in and out."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optuna

from counterpoise.local.result import Result
from counterpoise.worker.simulation_api import Infeasible

Values = dict[str, float]


def function(
    objective: Callable[[Any], Any], names: Sequence[str]
) -> Callable[[Mapping[str, Any]], Values]:
    """A function for a worker that calls `objective` with a FixedTrial of the point.

    `names`: of what it returns, in order. A pruned trial is infeasible.
    """

    def evaluate(x: Mapping[str, Any]) -> Values:
        try:
            returned = objective(optuna.trial.FixedTrial(dict(x)))
        except optuna.TrialPruned as error:
            raise Infeasible(str(error) or "the trial was pruned") from None
        values = returned if isinstance(returned, Sequence) else [returned]
        return dict(zip(names, map(float, values), strict=True))

    return evaluate


def evaluations(study: "optuna.Study", names: Sequence[str]) -> bytes:
    """The complete trials of an Optuna study, as a file for `study import` or
    `Client.import_evaluations`.
    """
    complete = [optuna.trial.TrialState.COMPLETE]
    rows = [
        {**trial.params, **dict(zip(names, trial.values, strict=True))}
        for trial in study.get_trials(states=complete)
    ]
    return json.dumps(rows).encode()


def to_study(result: Result, **options: Any) -> "optuna.Study":
    """A new Optuna study with every sample that has all values.

    `options` are those of `optuna.create_study`, such as `storage`.
    """
    objectives = result.study.objectives
    directions: list[Any] = [objective.direction for objective in objectives]
    study = optuna.create_study(
        study_name=result.study.name, directions=directions, **options
    )
    variables = result.study.spec["variables"]
    distributions = {variable["name"]: distribution(variable) for variable in variables}
    for sample in result.samples:
        if all(objective.name in sample.values for objective in objectives):
            values = [sample.values[objective.name] for objective in objectives]
            trial = optuna.trial.create_trial(
                params=dict(sample.x), distributions=distributions, values=values
            )
            study.add_trial(trial)
    return study


def distribution(variable: Mapping[str, Any]) -> Any:
    """Of a variable of a specification."""
    if "low" not in variable or variable["low"] is None:
        values = variable.get("values") or variable.get("choices") or ()
        return optuna.distributions.CategoricalDistribution(values)
    log = variable.get("scale") == "log"
    if variable.get("type") == "int":
        low, high = int(variable["low"]), int(variable["high"])
        return optuna.distributions.IntDistribution(low, high, log=log)
    return optuna.distributions.FloatDistribution(
        variable["low"], variable["high"], log=log
    )
