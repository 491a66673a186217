"""Objectives and studies of Optuna."""

import json
from typing import Any

import optuna
import pytest

from counterpoise import Infeasible
from counterpoise.adapters.optuna import evaluations, function, to_study
from counterpoise.local.result import Result
from counterpoise.wire.views import SampleView
from tests.commands.fake_api import STUDY, objective

optuna.logging.set_verbosity(optuna.logging.WARNING)


def existing_objective(trial: Any) -> tuple[float, float]:
    a = trial.suggest_float("a", 0.0, 1.0)
    n = trial.suggest_int("n", 1, 4)
    if a > 0.9:
        raise optuna.TrialPruned("too thick")
    return a * n, a - n


def test_an_objective_of_optuna_is_a_function_of_a_worker() -> None:
    evaluate = function(existing_objective, ["mass", "drag"])
    assert evaluate({"a": 0.5, "n": 2}) == {"mass": 1.0, "drag": -1.5}
    with pytest.raises(Infeasible, match="too thick"):
        evaluate({"a": 0.95, "n": 2})
    single = function(lambda trial: 2 * trial.suggest_float("a", 0, 1), ["mass"])
    assert single({"a": 0.25}) == {"mass": 0.5}


def test_trials_become_a_file_of_evaluations() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    study.enqueue_trial({"a": 0.5, "n": 2})
    study.enqueue_trial({"a": 0.95, "n": 2})
    study.optimize(existing_objective, n_trials=2)
    assert json.loads(evaluations(study, ["mass", "drag"])) == [
        {"a": 0.5, "n": 2, "mass": 1.0, "drag": -1.5}
    ]


def test_a_result_becomes_a_study_of_optuna() -> None:
    spec = {
        "variables": [
            {"name": "a", "low": 1e-3, "high": 1.0, "scale": "log"},
            {"name": "n", "type": "int", "low": 1, "high": 4},
        ],
        "objectives": [{"name": "mass"}, {"name": "lift"}],
    }
    objectives = [objective("mass"), objective("lift", direction="maximize")]
    view = STUDY.model_copy(update={"spec": spec, "objectives": objectives})
    samples = [
        sample(1, {"mass": 1.0, "lift": 2.0}),
        sample(2, {"mass": 3.0, "lift": 1.0}),
        sample(3, {"mass": 3.0}),
    ]
    study = to_study(Result(view, [], samples, [], None))
    assert [trial.values for trial in study.trials] == [[1.0, 2.0], [3.0, 1.0]]
    assert [trial.params for trial in study.best_trials] == [{"a": 0.5, "n": 2}]


def sample(number: int, values: dict[str, float]) -> SampleView:
    x: dict[str, Any] = {"a": 0.5, "n": 2}
    return SampleView(
        sample=number,
        step="initial",
        full=True,
        x=x,
        values=values,
        failures={},
        open=2 - len(values),
    )
