"""The demo's synthetic problem is the benchmarks' one."""

import time

import numpy as np
import pytest

from benchmarks.problems.dtlz import dtlz2
from counterpoise.wire.work import Job
from workers import synthetic
from workers.demo import problems

JOB = Job(
    job=1, lease="0" * 32, study="dtlz2", sample=1, objective="f2", also=[], x={}, attempt=1, seed=1,
    expires_at="", heartbeat_s=1.0, timeout_s=None,
)  # fmt: skip


@pytest.mark.parametrize("m", [2, 3, 5])
def test_dtlz2_agrees_with_the_benchmarks(m: int) -> None:
    X = np.random.default_rng(1).random((20, m + 1))
    for x, f in zip(X, dtlz2(X, m), strict=True):
        values = [synthetic.value(list(x), i, m) for i in range(m)]
        np.testing.assert_allclose(values, f, atol=1e-15)


def test_a_worker_evaluates_its_own_objective_after_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problems.problem("dtlz2", 3, [0.25, 0.5, 2.0], None, seed=1)
    for name, value in problem.environment.items():
        monkeypatch.setenv(name, value)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    x = {"x1": 0.1, "x2": 0.4, "x3": 0.8, "x4": 0.3}
    assert (
        synthetic.dtlz2(x, JOB)
        == problem.evaluate("f2", x)
        == synthetic.value(list(x.values()), 1, 3)
    )
    assert slept == [0.5]
    assert [
        objective["evaluation_time_s"] for objective in problem.study["objectives"]
    ] == [0.25, 0.5, 2.0]
