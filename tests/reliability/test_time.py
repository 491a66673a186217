"""Clocks that are wrong or set, servers that were away: no living worker loses its job, no job is stuck."""

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select, update

from app.planner.planner import CLAIM_S, plan_one
from app.service.monitoring.events import trim
from app.service.work.expire import expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.workers import list_workers
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.studies.steps import claim_step, fail_step
from app.store.tables import attempts, events, jobs, kept_leases, sample_values, steps
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Job
from tests.reliability.clocks import TICK_S, Clock, World, deceived

HOUR = 3600.0
LEASE_S = 12.0
SLOW = {"name": "crash", "evaluation_time_s": 4.0}
BOTH_WAYS = pytest.mark.parametrize("set_s", [5 * HOUR, -5 * HOUR], ids=["forward", "back"])


@pytest.fixture
def clock(database_url: str) -> Iterator[Clock]:
    with deceived(database_url) as clock:
        yield clock


@pytest.fixture
def database(clock: Clock) -> Iterator[Database]:
    database = Database(clock.url)
    yield database
    database.close()


@pytest.fixture
def world(database: Database, clock: Clock) -> World:
    return make(database, clock)


def make(database: Database, clock: Clock, **changes: object) -> World:
    world = World(database, clock, lease_s=LEASE_S, **changes)
    world.plan()
    world.pass_s(2 * LEASE_S)  # the server has been there for long
    return world


def outcomes(world: World) -> list[str | None]:
    return [row["outcome"] for row in world.rows(attempts)]


def test_the_clock_is_the_databases(world: World) -> None:
    """Or all that follows shows nothing."""
    world.clock.step(5 * HOUR - world.clock.ahead_s)
    with world.database.read() as connection:
        now = connection.execute(select(database_now())).scalar_one()
        world.clock.step(-7 * HOUR)
        assert now - connection.execute(select(database_now())).scalar_one() == pytest.approx(7 * HOUR, abs=600)


@BOTH_WAYS
def test_a_clock_that_is_set_takes_no_job_from_a_living_worker(world: World, set_s: float) -> None:
    (job,) = world.ask("crash")
    world.pass_s(LEASE_S / 2, job)
    world.clock.step(set_s)
    world.keep_house(job)
    world.pass_s(3 * LEASE_S, job)
    assert outcomes(world) == [None]
    assert world.tell(job, 1.0).detail == "recorded"


@BOTH_WAYS
def test_nor_gives_it_a_job_for_ever(world: World, set_s: float) -> None:
    """Of a worker that died: after two lease times at most another has its job."""
    (lost,) = world.ask("crash")
    world.clock.step(set_s)
    world.pass_s(2 * LEASE_S + 2 * TICK_S)
    assert outcomes(world) == ["expired"]
    world.pass_s(TICK_S)  # the back-off
    assert lost.job in [job.job for job in world.ask("crash", most=10)]
    assert "still missing" in world.tell(lost, 1.0).detail


@BOTH_WAYS
def test_back_offs_end_though_the_clock_was_set(world: World, set_s: float) -> None:
    (job,) = world.ask("crash")
    world.fail(job, "infrastructure")
    world.clock.step(set_s)
    world.pass_s(TICK_S)
    assert job.job in [one.job for one in world.ask("crash", most=10)]


@BOTH_WAYS
def test_a_step_whose_planner_died_is_planned_though_the_clock_was_set(
    database: Database, clock: Clock, set_s: float
) -> None:
    world = World(database, clock)
    claimed = database.write(lambda connection: claim_step(connection, CLAIM_S))
    assert claimed is not None
    assert not plan_one(database)
    clock.step(set_s)
    assert plan_one(database)
    assert [row["state"] for row in world.rows(steps)] == ["done"]


@BOTH_WAYS
def test_a_step_that_failed_is_tried_again_though_the_clock_was_set(
    database: Database, clock: Clock, set_s: float
) -> None:
    World(database, clock)
    step = database.write(lambda connection: claim_step(connection, CLAIM_S))
    assert step is not None
    database.write(fail_step, step, "a fault", 300.0)
    assert not plan_one(database)
    clock.step(set_s)
    assert plan_one(database)


@BOTH_WAYS
def test_who_was_seen_before_the_clock_was_set_is_not_taken_for_alive(world: World, set_s: float) -> None:
    """Nobody knows; who lives says so within a minute."""
    world.ask("nothing", worker="gone")
    world.ask("nothing", worker="there")
    assert [view.alive for _, view in list_workers(world.database, 0, 10)] == [True, True]
    world.clock.step(set_s)
    world.ask("nothing", worker="there")
    assert [view.alive for _, view in list_workers(world.database, 0, 10)] == [False, True]
    assert not any("gone" in item.detail for item in world.view().health)


def test_a_duration_over_a_clock_that_was_set_back_is_not_known(world: World) -> None:
    first, second = world.ask("crash", most=2)
    world.clock.step(-5 * HOUR)
    world.tell(first, 1.0)
    world.tell(second, 1.0, duration_s=3.0)
    assert [row["duration_s"] for row in world.rows(sample_values)] == [None, 3.0]


@BOTH_WAYS
def test_events_are_kept_though_the_clock_was_set(world: World, set_s: float) -> None:
    with world.database.read() as connection:
        count = connection.execute(select(func.count()).select_from(events)).scalar_one()
    world.clock.step(set_s)
    assert trim(world.database, 1.0) == 0
    assert len(world.rows(events)) == count > 0


def test_a_study_finishes_though_its_clock_is_set_all_the_time(database: Database, clock: Clock) -> None:
    world = World(database, clock, budget=5, initial_samples=4, generations=1)
    dice = random.Random(1)  # noqa: S311

    def disturbed(got: list[object]) -> list[object]:
        clock.step(dice.uniform(-10 * HOUR, 10 * HOUR))
        world.keep_house()
        return got

    assert world.run(order=disturbed).phase == "finished"  # type: ignore[arg-type]
    assert set(outcomes(world)) == {"done"}
    world.check_counters()


def test_a_job_may_take_much_longer_than_its_lease(world: World) -> None:
    (job,) = world.ask("crash")
    world.pass_s(10 * LEASE_S, job)
    assert outcomes(world) == [None]
    assert world.tell(job).detail == "recorded"


def test_a_job_past_its_timeout_is_given_up_and_its_value_still_taken(database: Database, clock: Clock) -> None:
    world = make(database, clock, objectives=[{"name": "mass"}, {**SLOW, "timeout_s": 3 * LEASE_S}])
    (job,) = world.ask("crash")
    world.pass_s(3 * LEASE_S - 2 * TICK_S, job)
    clock.step(3 * TICK_S)
    (alive,) = heartbeat(database, [job.lease])
    assert (alive.cancel, alive.reason) == (True, "timeout")
    world.pass_s(2 * LEASE_S)
    assert outcomes(world) == ["expired"]
    assert "still missing" in world.tell(job, 1.0).detail


def test_a_server_that_was_away_longer_than_every_lease_starts_nothing_twice(world: World) -> None:
    """The planner lived through it all. Who comes back within a lease time goes on; who does not loses its job then."""
    back, gone = world.ask("crash", most=2)
    world.pass_s(LEASE_S / 2, back, gone)
    world.pass_s(20 * LEASE_S, served=False)
    world.pass_s(LEASE_S - 2 * TICK_S)
    assert outcomes(world) == [None, None]
    world.pass_s(3 * TICK_S, back)
    assert outcomes(world) == [None, "expired"]
    world.pass_s(2 * LEASE_S, back)
    assert world.tell(back, 1.0).detail == "recorded"
    assert world.job(back.job)["attempts"] == 1


def interrupted(world: World, rounds: int, *alive: Job) -> int:
    """A server that is never there for a whole lease time; answers in which round a lease expired first."""
    for number in range(rounds):
        world.pass_s(LEASE_S - 2 * TICK_S, *alive)
        world.pass_s(2 * TICK_S, served=False)
        if "expired" in outcomes(world):
            return number
    return rounds


def test_a_server_that_is_never_there_for_a_whole_lease_gives_no_job_to_a_dead_worker_for_ever(world: World) -> None:
    """Of each lease time a quarter is served between two signs of the server: two lease times are there after nine."""
    (lost,) = world.ask("crash")
    assert 7 <= interrupted(world, 20) <= 10
    interrupted(world, 1)  # the back-off
    assert lost.job in [job.job for job in world.ask("crash", most=10)]
    assert world.rows(kept_leases) == []


@BOTH_WAYS
def test_nor_does_one_whose_clock_is_set_besides(world: World, set_s: float) -> None:
    world.ask("crash")
    interrupted(world, 2)
    world.clock.step(set_s)
    assert interrupted(world, 20) <= 10


def test_a_long_lease_ends_though_the_server_restarts_more_often(database: Database, clock: Clock) -> None:
    """Once a day, say, with leases of a day: here a restart in every lease time."""
    world = World(database, clock, lease_s=5 * LEASE_S)
    world.plan()
    world.ask("crash")
    for _ in range(5):
        world.pass_s(4 * LEASE_S)
        world.pass_s(2 * TICK_S, served=False)
    assert outcomes(world) == ["expired"]


def test_a_living_worker_keeps_its_job_though_the_server_is_never_there_for_a_whole_lease(world: World) -> None:
    (job,) = world.ask("crash")
    assert interrupted(world, 12, job) == 12
    assert world.tell(job).detail == "recorded"
    interrupted(world, 1)
    assert world.rows(kept_leases) == []


def test_every_outage_leaves_a_worker_two_lease_times_of_service(world: World) -> None:
    """Silence in pieces is no shorter than silence at once: who speaks within that time has lost nothing."""
    (job,) = world.ask("crash")
    world.pass_s(20 * LEASE_S, served=False)
    for _ in range(3):
        world.pass_s(LEASE_S - 2 * TICK_S)
        world.pass_s(2 * TICK_S, served=False)
    world.keep_house(job)
    assert outcomes(world) == [None]
    assert world.job(job.job)["attempts"] == 1


def test_an_outage_that_a_worker_lived_through_counts_no_more(world: World) -> None:
    """A worker's next silence is a new one, however long servers have been there since the last."""
    (job,) = world.ask("crash")
    for _ in range(2):
        world.pass_s(2 * LEASE_S, served=False)
        world.keep_house()
        world.pass_s(TICK_S)
        assert len(world.rows(kept_leases)) == 1
        world.pass_s(3 * LEASE_S, job)
    assert outcomes(world) == [None]


def test_a_planner_that_slept_between_look_and_write_ends_no_lease_after_an_outage(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that was suspended, say: what was over before may not be any more."""
    (job,) = world.ask("crash")
    overdue = update(jobs).where(jobs.c.id == job.job).values(expires_at=1.0)

    def sleep(point: str) -> None:
        if point == "expire.found":
            world.clock.step(20 * LEASE_S)
            world.database.write(record_uptime)

    world.database.write(lambda connection: connection.execute(overdue))
    monkeypatch.setattr("app.service.work.expire.point", sleep)
    assert expire_leases(world.database) == 0
    assert heartbeat(world.database, [job.lease])[0].expires_at is not None


def test_a_short_restart_changes_no_lease(world: World) -> None:
    """Not even one that ends in it: its worker may have spoken to nobody."""
    (job,) = world.ask("crash")
    world.pass_s(LEASE_S - TICK_S)
    before = world.job(job.job)
    world.pass_s(2 * TICK_S, served=False)
    world.keep_house()
    assert world.job(job.job) == before
    world.pass_s(LEASE_S, job)
    assert outcomes(world) == [None]
