"""A worker refuses names that do not exist before it takes a job."""

import pytest

from tests.commands.conftest import Run
from tests.commands.fake_api import STUDY, FakeApi, problem

WING = (200, STUDY.model_dump())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--objective", "drga=a:b"],
            "no objective or constraint 'drga' in wing; did you mean",
        ),
        (["--objective", "lift=a:b"], "its value comes with 'drag'"),
        (["--objective", "drag", "--", "sim", "{x.spn}"], "did you mean 'span'?"),
        (["--objective", "drag", "--", "sim", "{x.qqq}"], "there are span, ribs, skin"),
    ],
)
def test_names_that_the_study_has_not(
    run: Run, api: FakeApi, arguments: list[str], message: str
) -> None:
    api.responses["GET /studies/wing"] = WING
    result = run("worker", "--study", "wing", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert api.requests == [("GET /studies/wing", None)]


def test_a_study_that_there_is_not(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies/wnig"] = problem(404, "there is no study 'wnig'")
    result = run("worker", "--study", "wnig", "--objective", "a=b:c")
    assert result.exit_code == 2
    assert "there is no study 'wnig'; with --wait-for-study" in result.stderr


def test_without_the_right_to_read_a_worker_begins(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies/wing"] = problem(403, "not with this token")
    result = run("worker", "--study", "wing", "--objective", "a=no_such_module:c")
    assert "there is no module 'no_such_module'" in result.stderr


@pytest.mark.parametrize(
    ("token", "message"),
    [("b" * 20, "does not know the token"), ("", "No token was sent")],
)
def test_a_wrong_token_is_reported_at_once_and_apart_from_a_missing_one(
    run: Run, api: FakeApi, token: str, message: str
) -> None:
    api.responses["GET /studies/wing"] = problem(401, "requires a valid token")
    variables = {"COUNTERPOISE_TOKEN": token} if token else {}
    arguments = ("worker", "--study", "wing", "--objective", "a=no_such_module:c")
    result = run(*arguments, **variables)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "no_such_module" not in result.stderr


def test_an_import_error_is_one_line(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies/wing"] = WING
    result = run("worker", "--study", "wing", "--objective", "mass=no_such_module:c")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
