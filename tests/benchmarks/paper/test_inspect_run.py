"""`inspect` repeats a run exactly, and compares predictions with true values."""

import json
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from app.optimizer.models.surrogate import Surrogate
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from benchmarks.cli import bench
from benchmarks.paper import inspect_run
from benchmarks.paper.protocol import begin, choose, run, tell
from benchmarks.paper.results import Settings, Spec
from benchmarks.problems.catalogue import problem
from counterpoise.wire.codes import StepKind

SPEC = Spec("dtlz2", 3, 5, "sbp-bo", 0, budget=115)


def test_inspect_takes_the_steps_of_the_run_and_shows_the_first_and_the_last() -> None:
    done: list[int] = []
    rows = inspect_run.inspect(SPEC, progress=done.append)
    assert [(row["step"], row["full"]) for row in rows] == [(1, 112), (2, 115)]
    assert rows[-1]["igd_plus"] == run(SPEC).igd_plus
    assert done == [3, 3]
    first = rows[0]
    assert len(first["told_sum"]) == sum(first["sources"].values()) == 3
    assert first["lowest_sum"] == min(
        *first["told_sum"], begin(problem("dtlz2", 3), 5, 0)[1].F.sum(axis=1).min()
    )
    assert [each is None for each in first["frozen_error"]] == [False, False, True]
    # Nothing else predicts the expensive one
    assert first["error"][2] == pytest.approx(first["model_error"][2])
    # A smooth problem is learnt
    assert all(0.0 < each < 0.2 for each in first["error"])


def test_what_was_predicted_is_compared_with_what_is_true() -> None:
    instance = problem("dtlz2", 3)
    declared, before = begin(instance, 5, 0, budget=112)
    rng = generator(0, StepKind.SEARCH, NO_OBJECTIVE, 1)
    proposal = propose(declared, before, choose("sbp-bo", Settings()), rng)
    X = np.random.default_rng(0).random((4, 10))
    off = np.array(
        [[1.0, 0.0, -5.0], [3.0, 0.0, -5.0], [-1.0, 0.0, -5.0], [-1.0, 0.0, 5.0]]
    )
    models = Mock(spread=np.array([2.0, 0.0, 10.0]), surrogates=[Surrogate()] * 3)
    models.means_and_variances.return_value = (
        instance.evaluate(X) + off,
        np.ones((4, 3)),
    )
    proposal = replace(proposal, models=models, population=X)
    row = inspect_run.row_of(
        instance, before, proposal, tell(instance, before, proposal)
    )
    assert row["within"] == [0.75, 1.0, 0.0]
    np.testing.assert_allclose(row["error"], [np.sqrt(12 / 4) / 2, 0.0, 0.5])
    assert row["frozen_error"] == row["model_error"] == [None] * 3
    assert row["predicted_sum"] - row["true_sum"] == pytest.approx(
        np.median((instance.evaluate(X) + off).sum(axis=1))
        - np.median(instance.evaluate(X).sum(axis=1))
    )


def test_where_the_truth_is_called_there_is_no_error() -> None:
    rows = inspect_run.inspect(replace(SPEC, strategy="sbp-nogpc", budget=112))
    assert rows[0]["skill"][:2] == [None, None]
    assert rows[0]["error"][:2] == [0.0, 0.0]
    assert np.isfinite(rows[0]["error"][2])


def test_the_command_prints_a_table_or_json() -> None:
    arguments = ["inspect", "--problem", "dtlz2", "--budget", "112"]
    shown = (
        CliRunner().invoke(bench, [*arguments, "--json"], catch_exceptions=False).stdout
    )
    row = json.loads(shown)
    console = Console(width=200)
    with console.capture() as capture:
        console.print(inspect_run.table([row]))
    assert f"{row['igd_plus']:.4g}" in capture.get()
    assert f"{sum(row['skill']) / 3:.2f}" in capture.get()
