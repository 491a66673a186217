"""What becomes of processes that are killed, stopped or told to end."""

import signal
import threading
import time
from typing import Any

import psutil
import pytest
from sqlalchemy import func, select, update

from app.planner import planner
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.service.work.tell import tell
from app.settings import load_settings
from app.store.database import Database
from app.store.tables import samples, steps
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Tell
from tests.e2e.plate_study import SPEC, evaluate
from tests.e2e.processes import (
    PATIENCE_S,
    children,
    eventually,
    is_ready,
    planning,
    serving,
)
from tests.e2e.waiting_ask import waiting_ask

SEARCH = (steps.c.kind == "search") & (steps.c.number == 1)


def work_off(database: Database) -> int:
    """Tell all that is ready; returns how many jobs."""
    (jobs,) = serve_asks(
        database,
        [Ask(worker="test", studies=["*"], objectives=["*"], max_jobs=256)],
        20.0,
    )
    values = [evaluate(job.objective, job.x) for job in jobs]
    tell(
        database,
        [
            Tell(job=j.job, lease=j.lease, value=v, also=a)
            for j, (v, a) in zip(jobs, values, strict=True)
        ],
    )
    return len(jobs)


def claim_of(database: Database) -> str | None:
    with database.read() as connection:
        found: str | None = connection.execute(
            select(steps.c.claim).where(SEARCH)
        ).scalar()
        return found


def until_search(database: Database, spec: dict[str, Any]) -> None:
    """A study whose design is evaluated, so that its first search step is due."""
    create(database, parse_specification(spec), 60.0)
    eventually(lambda: work_off(database), "the initial design")
    eventually(
        lambda: work_off(database) == 0 and has_search(database),
        "the first search step",
    )


def has_search(database: Database) -> bool:
    with database.read() as connection:
        return (
            connection.execute(
                select(func.count()).select_from(steps).where(SEARCH)
            ).scalar_one()
            > 0
        )


def let_time_pass(database: Database) -> None:
    """As if the claim's 30 s were over."""
    database.write(
        lambda connection: connection.execute(
            update(steps).where(SEARCH).values(claim_expires_at=0.0)
        )
    )


LONG_STEP = SPEC | {"ratios": {"mass": 2, "drag": 1}, "generations": 100}


# tests/reliability/test_kills.py kills at every point, without waiting for a real
# planner
@pytest.mark.slow
def test_a_step_whose_planner_is_killed_happens_exactly_once(
    database: Database, database_url: str
) -> None:
    with planning(database_url) as (killed, _):
        until_search(database, LONG_STEP)
        eventually(lambda: claim_of(database), "the first planner")
        family = children(killed.pid)
        killed.kill()
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
    assert proposed(database) == 0, "it was done before it could be killed"
    let_time_pass(database)
    with planning(database_url):
        eventually(lambda: proposed(database), "the second planner")
    assert proposed(database) == 2


@pytest.mark.slow
def test_a_planner_that_comes_too_late_gives_up_its_step(
    database: Database, database_url: str
) -> None:
    """Stopped while it computes, overtaken by another one, and going on as if nothing
    had happened.
    """
    with planning(database_url) as (stopped, log):
        until_search(database, LONG_STEP)
        eventually(lambda: claim_of(database), "the first planner")
        stopped.send_signal(signal.SIGSTOP)
        try:
            assert proposed(database) == 0, "it was done before it could be stopped"
            let_time_pass(database)
            with planning(database_url):
                eventually(lambda: proposed(database), "the second planner")
        finally:
            stopped.send_signal(signal.SIGCONT)
        eventually(
            lambda: '"step given up"' in log.read_text(),
            "the first planner to see that it is too late",
        )
    assert proposed(database) == 2


def proposed(database: Database) -> int:
    query = (
        select(func.count())
        .select_from(samples)
        .join(steps, steps.c.id == samples.c.step_id)
    )
    with database.read() as connection:
        return connection.execute(query.where(SEARCH, samples.c.full)).scalar_one()


# The database makes no difference
ON_SQLITE = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@ON_SQLITE
def test_a_killed_server_takes_its_planner_and_its_fitters_along(
    database: Database, database_url: str
) -> None:
    with serving(database_url) as (_, server):
        until_search(database, SPEC)
        eventually(lambda: proposed(database), "the first step")
        family = children(server.pid)
        assert len(family) >= 3  # the planner, and fitters below it
        server.kill()
        began = time.monotonic()
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        print(f"gone after {time.monotonic() - began:.1f} s")  # noqa: T201


@ON_SQLITE
def test_a_planner_replaces_its_killed_step_process_and_ends_when_it_is_told_to(
    database: Database, database_url: str
) -> None:
    with planning(database_url) as (process, log):
        computing = eventually(
            lambda: [child for child in children(process.pid) if computes(child)],
            "a step process",
        )
        step_process = min(computing, key=psutil.Process.create_time)
        step_process.kill()  # while it has nothing to compute
        create(database, parse_specification(SPEC), 60.0)
        eventually(lambda: work_off(database), "the initial design")
        with database.read() as connection:
            assert (
                connection.execute(select(func.max(steps.c.faults))).scalar_one() == 0
            )
        family = children(process.pid)
        assert len(family) >= 2  # another step process, and fitters below it
        # Fitters have the priority of the step process, not a lower one
        computing = [child for child in family if computes(child)]
        assert len({child.nice() for child in computing}) == 1
        # Processes that were about to start when the first was killed complain
        before = len(log.read_text())
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        assert "Traceback" not in log.read_text()[before:]


def computes(process: psutil.Process) -> bool:
    """Not the helpers that Python starts beside such processes, which are not niced."""
    return process.nice() > psutil.Process().nice()


@pytest.mark.slow
@ON_SQLITE
def test_a_killed_planner_is_started_again_by_its_server(
    database: Database, database_url: str
) -> None:
    with serving(database_url) as (_, server):
        (first,) = eventually(lambda: children(server.pid), "the planner")
        first.kill()
        eventually(
            lambda: [c for c in children(server.pid) if c.pid != first.pid],
            "another planner",
        )
        create(database, parse_specification(SPEC), 60.0)
        eventually(lambda: work_off(database), "the initial design")


@pytest.mark.slow_on("sqlite")
def test_a_server_told_to_end_answers_those_who_wait_and_leaves_nothing(
    database: Database, database_url: str
) -> None:
    with serving(database_url) as (url, server):
        create(database, parse_specification(SPEC), 60.0)
        with waiting_ask(url, "nothing") as waiting:
            family = children(server.pid)
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert waiting.result(30)[0]["reason"] == "no_such_study"
            assert server.wait(30) in (0, -signal.SIGTERM)
            print(f"ended after {time.monotonic() - began:.1f} s")  # noqa: T201
        assert family
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        assert not is_ready(url)


@ON_SQLITE
def test_a_fault_in_one_round_of_expiry_does_not_end_expiry(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only a database that is away: whatever one study's rows do to it."""
    stop, rounds = threading.Event(), 0

    def broken(_: Database) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            stop.set()
        raise ValueError("a row that should not be")

    monkeypatch.setattr(planner, "clean_up", broken)
    monkeypatch.setattr(planner, "POLL_S", 0.01)
    planner.run_housekeeping(database, load_settings(), stop)
    assert rounds == 3
