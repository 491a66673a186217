"""SIGKILL at random moments of a working house: servers, planners, workers, and PostgreSQL itself."""

import random
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, steps, studies
from app.store.upgrade import upgrade
from benchmarks.service.postgresql import PostgreSQL, running_postgresql
from counterpoise.client import Client
from tests.e2e.processes import eventually, serving
from tests.reliability.afterwards import check, check_undisturbed
from tests.reliability.crew import Crew
from tests.reliability.house import TOLD, UNTOLD, House
from tests.reliability.phoenix import kill_postgresql
from tests.reliability.test_scale_out import specification


def kill_at_random(url: str, folder: Path, victims: list[str], seed: int, load: int = 1) -> list[str]:
    with ExitStack() as stack:
        house = House(stack, url, folder, seed, load=load)
        killed = house.work(victims)
        print("seed", seed, "killed:", ", ".join(killed))  # noqa: T201
        check(house)
    return killed


@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_study_survives_the_death_of_its_worker_server_and_planner(database_url: str, tmp_path: Path) -> None:
    victims = ["worker", UNTOLD, "planner"]
    assert kill_at_random(database_url, tmp_path, victims, seed=1) == victims


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_a_study_survives_many_deaths(database_url: str, tmp_path: Path, seed: int) -> None:
    victims = random.Random(seed).choices(["worker", "server", "planner", UNTOLD], k=12)  # noqa: S311
    assert len(kill_at_random(database_url, tmp_path, victims, seed)) > 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2))
def test_many_studies_survive_many_deaths(database_url: str, tmp_path: Path, seed: int) -> None:
    """Under load: two planners and four workers have four studies to work for, and are killed while they do."""
    victims = random.Random(seed).choices(["worker", "worker", "planner", "planner", UNTOLD], k=24)  # noqa: S311
    assert len(kill_at_random(database_url, tmp_path, victims, seed, load=4)) > 6


@pytest.mark.timeout(600)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_tell_that_was_acknowledged_survives_the_death_of_postgresql(
    postgresql: PostgreSQL, database_url: str, tmp_path: Path
) -> None:
    spec = specification(0, lease_s=3.0) | {"initial_samples": 60, "budget": 70}
    with ExitStack() as stack:
        url, server = stack.enter_context(serving(database_url))
        with Client(url) as client:
            client.create_study(spec)
        crew = Crew([url], ["mass", "crash"], 4, tmp_path)
        with crew.working():
            with closing(Database(database_url)) as database:
                eventually(lambda: done(database) >= 30, "tells")
                assert done(database) < 120, "nobody tells any more"
            kill_postgresql(postgresql)
            try:
                eventually(lambda: crew.is_done, "the study's end")
            except AssertionError:
                raise AssertionError(state_of(database_url) + (tmp_path / "workers.log").read_text()[-3000:]) from None
        assert crew.failures == []
        assert server.poll() is None
    assert crew.untold() == []  # all that was evaluated was acknowledged
    with closing(Database(database_url)) as database:
        with database.read() as connection:
            ended = {row.lease: row for row in connection.execute(select(attempts))}
            (study,) = connection.execute(select(studies)).all()
        for job, value in crew.evaluator.finished:
            attempt = ended[job.lease]
            assert (attempt.job_id, attempt.value, attempt.outcome in TOLD) == (job.job, value, True), attempt
        assert (study.phase, study.settled_full) == ("finished", 70)
        print(Counter(row.outcome for row in ended.values()))  # noqa: T201
        check_undisturbed(database, spec, tmp_path)


def done(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(func.sum(objectives.c.done))).scalar_one() or 0)


def state_of(url: str) -> str:
    """Where a study stands that has no end."""
    counted = [
        select(studies.c.phase, studies.c.planned_full, studies.c.settled_full),
        select(jobs.c.state, jobs.c.cheap_only, func.count()).group_by(jobs.c.state, jobs.c.cheap_only),
        select(steps.c.kind, steps.c.number, steps.c.state, steps.c.claim_expires_at, steps.c.fault),
        select(attempts.c.outcome, func.count()).group_by(attempts.c.outcome),
        select(text("pid, state, wait_event, query")).select_from(text("pg_stat_activity")),
    ]
    with closing(Database(url)) as database, database.read() as connection:
        return "\n".join(str(connection.execute(query).all()) for query in counted) + "\n"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_study_survives_the_death_of_its_database(tmp_path: Path) -> None:
    """Server, planner and worker come back by themselves."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgresql())
        url = server.create()
        database = Database(url)
        upgrade(database)
        database.close()
        house = House(stack, url, tmp_path, seed=3, postgresql=server)
        before = {name: one.process.pid for name, one in house.crew.items()}
        killed = house.work(["postgresql"] * 4)
        assert killed
        assert {name: one.process.pid for name, one in house.crew.items()} == before
        assert all(one.process.poll() is None for one in house.crew.values())
        assert house.excused == set()
        check(house)
