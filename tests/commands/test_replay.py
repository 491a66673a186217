"""The command `replay`, on a study whose design is planned."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update
from typer.testing import CliRunner, Result

from app.store.database import Database
from app.store.tables import samples, steps
from counterpoise.cli import app
from tests.service.lab import Lab

Run = Callable[..., Result]


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


@pytest.fixture
def run(lab: Lab, database_url: str) -> Run:
    def invoke(*arguments: str, url: str = database_url) -> Result:
        return CliRunner().invoke(
            app, ["replay", *arguments], env={"COUNTERPOISE_DATABASE_URL": url}
        )

    return invoke


def test_an_equal_step(run: Run) -> None:
    result = run("wing", "initial")
    assert (result.exit_code, result.stdout) == (
        0,
        "equal     initial              4 samples, bit for bit\n",
    )
    report = json.loads(run("wing", "--all", "--json").stdout)
    assert report["equal"] is True
    (step,) = report["steps"]
    assert (step["step"], step["equal_samples"], step["largest_distance"]) == (
        "initial",
        4,
        0.0,
    )


def test_a_different_step_exits_with_1_and_prints_the_distance(
    run: Run, lab: Lab
) -> None:
    first = lab.rows(samples)[0]
    moved = [(x + 0.5) % 1.0 for x in first["x"]]
    lab.database.write(
        lambda c: c.execute(
            update(samples).where(samples.c.id == first["id"]).values(x=moved)
        )
    )
    result = run("wing", "--all")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "different initial              3 of 4 samples equal; at most 0.707 apart in the unit cube",
        "all versions are the same as then: the data or the program have changed",
    ]
    assert json.loads(run("wing", "initial", "--json").stdout)["equal"] is False


def test_versions_that_differ_are_named(run: Run, lab: Lab) -> None:
    (step,) = lab.rows(steps)
    record = step["record"]
    now = record["versions"]["scipy"]
    record["versions"]["scipy"] = "0.1"
    lab.database.write(lambda c: c.execute(update(steps).values(record=record)))
    assert f"scipy was 0.1, is now {now}\n" in run("wing", "initial").stdout


@pytest.mark.parametrize("arguments", [("wing",), ("wing", "initial", "--all")])
def test_either_one_step_or_all(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "or give --all" in result.stderr


def test_an_unknown_step_study_or_database(run: Run, tmp_path: Path) -> None:
    assert (
        "has no step 'search:1'; the last one done is initial"
        in run("wing", "search:1").stderr
    )
    assert (
        "there is no study 'wong'; did you mean 'wing'?" in run("wong", "--all").stderr
    )
    missing = run("wing", "--all", url=f"sqlite:///{tmp_path / 'none.db'}")
    assert missing.exit_code == 1
    assert f"there is no file {tmp_path / 'none.db'} yet" in missing.stderr
    assert not (tmp_path / "none.db").exists()
