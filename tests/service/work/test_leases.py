"""Promise 2: one live lease per job; heartbeats, revival, expiry, outages, release."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, select, text

from app.service.studies.lifecycle import resume, stop
from app.service.work.expire import clean_up, expire_jobs, expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.service.work.tell import tell
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.tables import attempts, jobs, kept_leases, server_uptime, steps
from app.store.work.server_uptime import GAP_S, record_uptime
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


def test_a_heartbeat_moves_the_deadline(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.database.write(
        lambda c: c.execute(
            jobs.update()
            .where(jobs.c.id == job.job)
            .values(expires_at=database_now() + 1)
        )
    )
    (alive,) = heartbeat(lab.database, [job.lease])
    assert not alive.cancel
    assert alive.expires_at is not None
    with lab.database.read() as connection:
        left = connection.execute(
            text("SELECT expires_at FROM jobs WHERE state = 'leased'")
        ).scalar_one()
        now = connection.execute(database_now().select()).scalar_one()
    assert 50 < left - now <= 60


def test_a_heartbeat_revives_its_own_expired_lease_while_nobody_holds_the_job(
    lab: Lab,
) -> None:
    (job,) = lab.ask("crash")
    lab.expire()
    assert lab.job(job.job)["losses"] == 1
    (alive,) = heartbeat(lab.database, [job.lease])
    assert (alive.cancel, alive.expires_at is None) == (False, False)
    row = lab.job(job.job)
    assert (row["state"], row["lease"], row["losses"], row["ready_at"]) == (
        "leased",
        job.lease,
        0,
        None,
    )
    assert [one.job for one in lab.ask("crash", most=10)].count(job.job) == 0
    assert lab.tell(job, 1.0).state == "done"
    lab.check_counters()


def test_a_heartbeat_does_not_take_the_job_from_another_worker(lab: Lab) -> None:
    (old,) = lab.ask("crash")
    lab.expire()
    lab.end_backoffs()
    (new,) = lab.ask("crash")
    assert new.job == old.job
    (alive,) = heartbeat(lab.database, [old.lease])
    # Hours of work are not thrown away: the first value counts
    assert (alive.cancel, alive.expires_at) == (
        False,
        None,
    )
    assert alive.reason == "leased_to_another"
    assert lab.job(new.job)["lease"] == new.lease
    lab.tell(new, 1.0)
    (alive,) = heartbeat(lab.database, [old.lease])
    assert (alive.cancel, alive.reason) == (True, "value_known")


def test_a_stop_that_cancels_reaches_a_worker_that_was_cut_off(lab: Lab) -> None:
    (old,) = lab.ask("crash")
    lab.expire()
    lab.end_backoffs()
    (new,) = lab.ask("crash")
    assert new.job == old.job
    stop(lab.database, "wing", cancel_running=True)
    assert [
        alive.cancel for alive in heartbeat(lab.database, [old.lease, new.lease])
    ] == [True, True]


def test_only_the_newest_of_two_expired_leases_is_revived(lab: Lab) -> None:
    (old,) = lab.ask("crash")
    lab.expire()
    lab.end_backoffs()
    (new,) = lab.ask("crash")
    lab.expire()
    first, second = heartbeat(lab.database, [old.lease, new.lease])
    assert (first.expires_at is None, second.expires_at is None) == (True, False)
    assert (first.cancel, second.cancel) == (False, False)
    lab.check_counters()


def test_heartbeats_respond_for_each_lease(lab: Lab) -> None:
    mine, done = lab.ask("crash", most=2)
    lab.tell(done, 1.0)
    answers = heartbeat(lab.database, [mine.lease, done.lease, "f" * 32])
    assert [answer.cancel for answer in answers] == [False, True, True]
    assert [answer.lease for answer in answers] == [mine.lease, done.lease, "f" * 32]
    assert answers[2].reason == "lease_unknown"


def test_heartbeats_do_not_extend_past_the_timeout(database: Database) -> None:
    slow = {"name": "crash", "evaluation_time_s": 4.0, "lease_s": 60, "timeout_s": 90}
    lab = Lab(database, objectives=[{"name": "mass", "evaluation_time_s": 1.0}, slow])
    lab.plan()
    (job,) = lab.ask("crash")
    assert job.timeout_s == 90
    database.write(
        lambda c: c.execute(jobs.update().values(leased_at=database_now() - 80))
    )
    (alive,) = heartbeat(database, [job.lease])
    with database.read() as connection:
        now = connection.execute(database_now().select()).scalar_one()
    assert 0 < lab.job(job.job)["expires_at"] - now <= 10
    assert not alive.cancel
    database.write(
        lambda c: c.execute(jobs.update().values(leased_at=database_now() - 100))
    )
    (alive,) = heartbeat(database, [job.lease])
    assert alive.cancel
    assert alive.reason == "timeout"


@pytest.mark.parametrize(("timeout_s", "errors"), [(60, 0), (61, 1)])
def test_only_a_lease_that_heartbeats_extended_to_the_timeout_is_an_error(
    database: Database, timeout_s: float, errors: int
) -> None:
    """Without heartbeats, a worker that died looks the same."""
    slow = {"name": "crash", "lease_s": 60, "timeout_s": timeout_s}
    lab = Lab(database, objectives=[{"name": "mass"}, slow])
    lab.plan()
    (job,) = lab.ask("crash")
    # `expire` sets the deadline to 1.0: all of the time is over
    began = {"leased_at": 1.0 - timeout_s}
    database.write(lambda c: c.execute(jobs.update().values(began)))
    lab.expire()
    row = lab.job(job.job)
    assert (row["errors"], row["losses"]) == (errors, 1 - errors)


def test_an_expired_lease_returns_its_job_with_a_back_off_and_counts_a_loss(
    lab: Lab,
) -> None:
    (job,) = lab.ask("crash")
    assert lab.expire() == 1
    row = lab.job(job.job)
    assert (row["state"], row["losses"], row["errors"], row["lease"]) == (
        "ready",
        1,
        0,
        None,
    )
    assert row["ready_at"] is not None
    assert [row["outcome"] for row in lab.rows(attempts)] == ["expired"]
    assert lab.expire() == 0
    lab.check_counters()


def test_a_job_lost_too_often_has_failed(database: Database) -> None:
    lab = Lab(database, max_losses=2)
    lab.plan()
    for state in ("ready", "failed"):
        (job,) = lab.ask("crash")
        lab.expire()
        assert lab.job(job.job)["state"] == state
        lab.end_backoffs()
    assert lab.values() == [(None, "lost")]
    lab.check_counters()


def test_a_live_lease_does_not_expire(lab: Lab) -> None:
    lab.ask("crash")
    lab.database.write(
        lambda c: c.execute(server_uptime.update().values(resumed_at=0.0))
    )
    assert expire_leases(lab.database) == 0


def test_after_an_outage_nothing_expires_for_one_lease_time(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    old = (
        jobs.update()
        .where(jobs.c.state == "leased")
        .values(expires_at=database_now() - 600)
    )
    lab.database.write(lambda c: c.execute(old))
    # No server for ten minutes: a planner that lived through it expires nothing.
    lab.database.write(
        lambda c: c.execute(
            server_uptime.update().values(seen_at=database_now() - 600, resumed_at=1.0)
        )
    )
    assert expire_leases(lab.database) == 0
    # The server is back: still nothing, for the worker needs time to speak.
    lab.database.write(record_uptime)
    assert expire_leases(lab.database) == 0
    (alive,) = heartbeat(lab.database, [job.lease])
    assert not alive.cancel
    # Without a word for a whole lease time, it does.
    lab.database.write(lambda c: c.execute(old))
    lab.database.write(
        lambda c: c.execute(
            server_uptime.update().values(resumed_at=database_now() - 59)
        )
    )
    assert expire_leases(lab.database) == 0
    lab.database.write(
        lambda c: c.execute(
            server_uptime.update().values(resumed_at=database_now() - 61)
        )
    )
    assert expire_leases(lab.database) == 1


def test_uptime_is_counted_since_the_last_gap(database: Database) -> None:
    def read() -> tuple[float, float]:
        with database.read() as connection:
            row = connection.execute(server_uptime.select()).one()
            return row.seen_at, row.resumed_at

    database.write(record_uptime)
    first = read()
    database.write(record_uptime)
    second = read()
    assert second[0] >= first[0]
    assert second[1] == first[1]
    for shift in (-GAP_S - 1, +3600.0):  # a silence; a clock that was set back an hour
        database.write(
            lambda c, s=shift: c.execute(  # type: ignore[misc]
                server_uptime.update().values(seen_at=database_now() + s)
            )
        )
        before = read()
        database.write(record_uptime)
        assert read()[1] > before[1]


def test_only_the_uptime_of_servers_counts_as_served(
    database: Database,
) -> None:
    def served() -> float:
        with database.read() as connection:
            return float(
                connection.execute(select(server_uptime.c.served_s)).scalar_one()
            )

    database.write(record_uptime)
    for silent_s, counts_s in (
        (3.0, 3.0),
        (GAP_S + 1, 0.0),
        (0.0, 0.0),
        (-0.5, 0.0),
        (-3600.0, 0.0),
        (2.0, 2.0),
    ):
        database.write(
            lambda c, s=silent_s: c.execute(  # type: ignore[misc]
                server_uptime.update().values(seen_at=database_now() - s)
            )
        )
        before = served()
        database.write(record_uptime)
        assert served() - before == pytest.approx(counts_s, abs=0.5)
        assert served() >= before


def test_nothing_expires_without_a_server_however_long_one_ran_before(
    lab: Lab,
) -> None:
    (job,) = lab.ask("crash")
    old = jobs.update().where(jobs.c.id == job.job).values(expires_at=1.0)
    mark = kept_leases.insert().values(job_id=job.job, expires_at=1.0, served_s=-1000.0)
    away = server_uptime.update().values(seen_at=database_now() - 600)
    for statement in (old, mark, away):
        lab.database.write(lambda c, s=statement: c.execute(s))  # type: ignore[misc]
    assert expire_leases(lab.database) == 0
    lab.database.write(record_uptime)
    assert expire_leases(lab.database) == 1


def test_a_study_that_cannot_be_written_keeps_no_other_studys_leases(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of its own are over, and for how long."""
    bad, good = Lab(database, name="bad"), Lab(database, name="good")
    for lab in (bad, good):
        lab.plan()
    held = bad.ask("crash", most=3)
    (last,) = good.ask("crash")
    number = next(row["study_id"] for row in bad.rows(jobs) if row["id"] == held[0].job)

    def fall_over(connection: Connection, study: int, ids: list[int]) -> int:
        if study == number:
            raise RuntimeError("this study is broken")
        return expire_jobs(connection, study, ids)

    monkeypatch.setattr("app.service.work.expire.AT_ONCE", 2)
    monkeypatch.setattr("app.service.work.expire.expire_jobs", fall_over)
    with pytest.raises(RuntimeError, match="broken"):
        bad.expire()
    assert good.job(last.job)["state"] == "ready"
    assert [bad.job(job.job)["state"] for job in held] == ["leased"] * 3


def test_deadlines_of_a_clock_that_was_set_back_are_shortened(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.database.write(
        lambda c: c.execute(
            jobs.update()
            .where(jobs.c.state == "leased")
            .values(expires_at=database_now() + 7200)
        )
    )
    clean_up(lab.database)
    with lab.database.read() as connection:
        now = connection.execute(database_now().select()).scalar_one()
    assert lab.job(job.job)["expires_at"] - now <= 60


def test_back_offs_end(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.fail(job, "infrastructure")
    later = (
        jobs.update().where(jobs.c.id == job.job).values(ready_at=database_now() + 60.0)
    )
    # A loaded machine takes a second, too
    lab.database.write(lambda c: c.execute(later))
    clean_up(lab.database)
    assert lab.job(job.job)["ready_at"] is not None
    lab.database.write(
        lambda c: c.execute(
            jobs.update().where(jobs.c.ready_at.is_not(None)).values(ready_at=1.0)
        )
    )
    clean_up(lab.database)
    assert lab.job(job.job)["ready_at"] is None
    assert lab.ask("crash")[0].job == job.job


def test_release_counts_nothing(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    assert release(lab.database, [job.lease, "0" * 32]) == [job.lease]
    assert release(lab.database, [job.lease]) == []
    row = lab.job(job.job)
    assert (row["state"], row["errors"], row["losses"], row["ready_at"]) == (
        "ready",
        0,
        0,
        None,
    )
    assert [row["outcome"] for row in lab.rows(attempts)] == ["released"]
    assert lab.tell(job, 1.0).status == 200  # it was finished after all
    lab.check_counters()


def test_a_cheap_only_job_whose_step_was_overtaken_is_superseded_when_it_returns(
    lab: Lab,
) -> None:
    lab.run_until(step=1)
    mine = lab.ask("mass", most=50)
    (cheap, *others) = sorted(mine, key=lambda job: not lab.job(job.job)["cheap_only"])
    assert lab.job(cheap.job)["cheap_only"]
    for job in others:
        lab.tell(job)
    lab.run_until(step=2)
    assert lab.job(cheap.job)["state"] == "leased"
    release(lab.database, [cheap.lease])
    assert lab.job(cheap.job)["state"] == "superseded"
    assert lab.tell(cheap, 0.5).state == "done"
    lab.check_counters()


def test_a_lease_past_its_timeout_is_not_revived(database: Database) -> None:
    slow = {"name": "crash", "evaluation_time_s": 4.0, "lease_s": 60, "timeout_s": 90}
    lab = Lab(database, objectives=[{"name": "mass", "evaluation_time_s": 1.0}, slow])
    lab.plan()
    (job,) = lab.ask("crash")
    database.write(
        lambda c: c.execute(attempts.update().values(leased_at=database_now() - 100))
    )
    lab.expire()
    (alive,) = heartbeat(database, [job.lease])
    assert alive.cancel
    assert (lab.job(job.job)["state"], lab.job(job.job)["losses"]) == ("ready", 1)


def test_claims_and_back_offs_of_a_clock_that_was_set_back_end(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    lab.fail(job, "infrastructure")
    lab.database.write(
        lambda c: c.execute(
            jobs.update()
            .where(jobs.c.ready_at.is_not(None))
            .values(ready_at=database_now() + 3600)
        )
    )
    clean_up(lab.database)
    assert lab.job(job.job)["ready_at"] is None
    other = Lab(lab.database, name="car")
    lab.database.write(
        lambda c: c.execute(
            steps.update().values(claim="x", claim_expires_at=database_now() + 3600)
        )
    )
    assert other.plan() == 1


def test_a_tell_and_a_heartbeat_over_two_studies_do_not_wait_for_each_other(
    database: Database,
) -> None:
    """Jobs of two studies are numbered across each other; everybody locks study by
    study, then by number.
    """
    if database.is_sqlite:
        return  # it locks no rows
    one, two = Lab(database, paused=True), Lab(database, name="car")
    two.plan()
    resume(database, one.name)
    one.plan()
    second, first = one.ask("crash")[0], two.ask("crash")[0]
    assert first.job < second.job
    with ThreadPoolExecutor(2) as threads:
        # Each of the two locks must be waited for
        with database.read() as connection:
            connection.execute(
                select(jobs).where(jobs.c.id == first.job).with_for_update()
            )
            telling = threads.submit(
                tell, database, [one.tell_of(first, 1.0), one.tell_of(second, 1.0)]
            )
            wait_for_waiting(database, 1)
            beating = threads.submit(heartbeat, database, [first.lease, second.lease])
            wait_for_waiting(database, 2)
        assert [answer.status for answer in telling.result(60)] == [200, 200]
        assert len(beating.result(60)) == 2


def wait_for_waiting(database: Database, count: int) -> None:
    """Until so many wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with database.read() as connection:
            if connection.execute(text(query)).scalar_one() == count:
                return
        time.sleep(0.02)
    raise AssertionError(f"{count} should wait for a lock")


@pytest.mark.parametrize("lost", [2, 4])
def test_samples_are_counted_as_settled_when_all_their_runs_are_lost_at_once(
    database: Database, lost: int
) -> None:
    """The list of expired leases is split between two runs of one sample."""
    lab = Lab(database, max_losses=1, initial_samples=4)
    lab.plan()
    jobs_of_design = lab.ask(most=8)
    samples = sorted({job.sample for job in jobs_of_design})[:lost]
    dead = [job for job in jobs_of_design if job.sample in samples]
    lab.expire(*dead)
    lab.check_counters()
    for job in jobs_of_design:
        if job not in dead:
            lab.tell(job)
    lab.check_counters()
    assert lab.run(rounds=30).phase == "finished"
