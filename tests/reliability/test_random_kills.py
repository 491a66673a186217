"""SIGKILL at random moments while studies run: servers, planners, workers, and
PostgreSQL itself.
"""

import random
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.store.database import Database
from app.store.tables import attempts, objectives, studies
from app.store.upgrade import upgrade
from benchmarks.service.postgresql import PostgreSQL, running_postgresql
from counterpoise.client import Client
from tests.e2e.processes import eventually, serving
from tests.reliability.processes.cluster import specification
from tests.reliability.processes.cluster_checks import check_evaluations
from tests.reliability.processes.deployment import SERVER_THEN_WORKER, Deployment
from tests.reliability.processes.deployment_checks import (
    check_deployment,
    check_undisturbed,
)
from tests.reliability.processes.restartable_process import restart_postgresql
from tests.reliability.processes.worker_threads import WorkerThreads


def run_with_kills(
    url: str,
    folder: Path,
    victims: list[str],
    seed: int,
    load: int = 1,
) -> list[str]:
    with ExitStack() as stack:
        deployment = Deployment(stack, url, folder, seed, load=load)
        killed = deployment.run(victims)
        print("seed", seed, "killed:", ", ".join(killed))  # noqa: T201
        check_deployment(deployment)
    return killed


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_study_survives_kills_of_its_worker_server_and_planner(
    database_url: str, tmp_path: Path
) -> None:
    victims = ["worker", SERVER_THEN_WORKER, "planner"]
    assert run_with_kills(database_url, tmp_path, victims, seed=1) == victims


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_study_survives_many_kills(
    database_url: str, tmp_path: Path, seed: int
) -> None:
    victims = random.Random(seed).choices(  # noqa: S311
        ["worker", "server", "planner", SERVER_THEN_WORKER], k=12
    )
    assert len(run_with_kills(database_url, tmp_path, victims, seed)) > 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2))
def test_many_studies_survive_many_kills(
    database_url: str, tmp_path: Path, seed: int
) -> None:
    """Under load: two planners and four workers run four studies, and are killed
    meanwhile.
    """
    kinds = ["worker", "worker", "planner", "planner", SERVER_THEN_WORKER]
    victims = random.Random(seed).choices(kinds, k=24)  # noqa: S311
    # On a fast machine the studies end after few of them
    assert len(run_with_kills(database_url, tmp_path, victims, seed, load=4)) > 3


@pytest.mark.timeout(600)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_acknowledged_tell_survives_a_kill_of_postgresql(
    postgresql: PostgreSQL, database_url: str, tmp_path: Path
) -> None:
    spec = specification(0, initial_samples=60, lease_s=3.0) | {"budget": 70}
    with serving(database_url) as (url, server):
        with Client(url) as client:
            client.create_study(spec)
        workers = WorkerThreads([url], 4, tmp_path)
        with workers.running():
            with closing(Database(database_url)) as database:
                eventually(lambda: done_jobs(database) >= 30, "tells")
                assert done_jobs(database) < 120, "all tells are done before the kill"
            restart_postgresql(postgresql)
            try:
                eventually(lambda: workers.are_done, "the end of the study")
            except AssertionError:
                log = (tmp_path / "workers.log").read_text()[-3000:]
                raise AssertionError(describe(database_url) + log) from None
        assert workers.errors == []
        assert server.poll() is None
    assert workers.spooled() == []  # every evaluation was acknowledged
    with closing(Database(database_url)) as database:
        with database.read() as connection:
            rows = list(connection.execute(select(attempts)))
            (study,) = connection.execute(select(studies)).all()
        check_evaluations(workers.evaluator.finished, rows)
        assert (study.phase, study.settled_full) == ("finished", 70)
        print(Counter(row.outcome for row in rows))  # noqa: T201
        check_undisturbed(database, spec, tmp_path)


def done_jobs(database: Database) -> int:
    with database.read() as connection:
        return sum(connection.execute(select(objectives.c.done)).scalars())


def describe(url: str) -> str:
    """The state of a study that does not end."""
    queries = [
        "SELECT phase, planned_full, settled_full FROM studies",
        "SELECT state, cheap_only, count(*) FROM jobs GROUP BY 1, 2",
        "SELECT kind, number, state, claim_expires_at, fault FROM steps",
        "SELECT outcome, count(*) FROM attempts GROUP BY 1",
        "SELECT pid, state, wait_event, query FROM pg_stat_activity",
    ]
    lines = []
    with closing(Database(url)) as database, database.read() as connection:
        for query in queries:
            rows = connection.execute(text(query)).all()
            lines.append(f"{query}: {rows}\n")
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_study_survives_kills_of_its_database(tmp_path: Path) -> None:
    """Server, planner and worker recover without a restart."""
    with ExitStack() as stack:
        postgresql = stack.enter_context(running_postgresql())
        url = postgresql.create()
        with closing(Database(url)) as database:
            upgrade(database)
        deployment = Deployment(stack, url, tmp_path, seed=3, postgresql=postgresql)
        pids = {
            name: process.process.pid for name, process in deployment.processes.items()
        }
        assert deployment.run(["postgresql"] * 4)
        for name, process in deployment.processes.items():
            assert process.process.pid == pids[name]
            assert process.process.poll() is None
        assert deployment.excused == set()
        check_deployment(deployment)
