"""Races made certain: one process is held between its look and its deed while another one acts."""

from typing import Any

import pytest
from sqlalchemy import update

from app.errors import StudyBusy
from app.planner.planner import plan_one
from app.service.planning.replay import replay
from app.service.studies.lifecycle import delete, extend, pause, resume, stop
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import attempts, jobs, sample_values, samples, server_uptime, steps, studies
from app.store.upgrade import drift, head, revision, upgrade
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Ask, Job
from tests.reliability.elsewhere import Faults, beside
from tests.reliability.old_data import as_the_first_version_wrote_it, write_as_the_first_version
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    """Four initial samples, to be leased."""
    lab = Lab(database, generations=1, batch_size=2)
    lab.plan()
    return lab


def asking(most: int, objective: str = "crash") -> list[Ask]:
    return [Ask(worker="elsewhere", studies=["wing"], objectives=[objective], max_jobs=most)]


def let_run_out(lab: Lab, job: Job) -> None:
    """The lease is over, but nobody has noticed yet."""

    def age(connection: Any) -> None:
        record_uptime(connection)
        connection.execute(update(server_uptime).values(resumed_at=0.0))
        connection.execute(update(jobs).where(jobs.c.id == job.job).values(expires_at=1.0))

    lab.database.write(age)


def test_two_asks_share_no_job(lab: Lab, faults: Faults) -> None:
    url = lab.database.url
    with faults.held("ask.written", serve_asks, url, asking(2), 20.0) as other:
        (theirs,), ours, waited = beside(lab.database, other, lambda: lab.ask("crash", most=4))
    assert lab.database.is_sqlite or not waited, "an ask waits for another one's jobs instead of passing them by"
    assert sorted(job.job for job in theirs + ours) == sorted({row["id"] for row in crash_jobs(lab)})
    assert len({job.job for job in theirs + ours}) == 4
    lab.check_counters()


def crash_jobs(lab: Lab) -> list[dict[str, Any]]:
    (objective,) = {row["objective_id"] for row in lab.rows(jobs)} - {lab.rows(jobs)[0]["objective_id"]}
    return [row for row in lab.rows(jobs) if row["objective_id"] == objective]


def test_a_reaper_that_looked_before_an_ask_does_not_end_the_new_lease(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    with faults.held("expire.found", expire_leases, lab.database.url) as reaper:
        assert expire_leases(lab.database) == 1  # another planner's
        lab.ripen()
        (again,) = lab.ask("crash")
        assert again.job == job.job
        reaper.go_on()
        assert reaper.result() == 0
    assert lab.job(job.job)["lease"] == again.lease
    assert [row["outcome"] for row in lab.rows(attempts)] == ["expired", None]
    lab.check_counters()


def test_a_reaper_that_looked_before_a_heartbeat_lets_the_lease_live(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    with faults.held("expire.found", expire_leases, lab.database.url) as reaper:
        assert heartbeat(lab.database, [job.lease])[0].expires_at is not None
        reaper.go_on()
        assert reaper.result() == 0
    assert lab.job(job.job)["lease"] == job.lease


def test_two_reapers_count_one_loss(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    with faults.held("expire.written", expire_leases, lab.database.url) as reaper:
        both = beside(lab.database, reaper, lambda: expire_leases(lab.database))
    assert (both.held, both.beside) == (1, 0)
    assert lab.job(job.job)["losses"] == 1
    lab.check_counters()


def test_a_reaper_that_looked_before_a_tell_takes_nothing_back(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    with faults.held("expire.found", expire_leases, lab.database.url) as reaper:
        assert lab.tell(job, 1.0).detail == "recorded"
        reaper.go_on()
        assert reaper.result() == 0
    assert lab.job(job.job)["state"] == "done"
    lab.check_counters()


def test_a_reaper_waits_for_a_tell_that_is_being_written(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    with faults.held("tell.written", tell, lab.database.url, [lab.said(job, 1.0)]) as telling:
        both = beside(lab.database, telling, lambda: expire_leases(lab.database))
    assert (both.held[0].status, both.beside) == (200, 0)
    assert (lab.job(job.job)["state"], lab.values()) == ("done", [(1.0, None)])
    lab.check_counters()


def test_a_tell_whose_lease_expires_under_way_is_recorded(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    if lab.database.is_sqlite:
        pytest.skip("there a tell that has begun is the only writer")
    with faults.held("tell.begun", tell, lab.database.url, [lab.said(job, 1.0)]) as telling:
        assert expire_leases(lab.database) == 1
        lab.ripen()
        (other,) = lab.ask("crash")
        assert other.job == job.job
        telling.go_on()
        assert "still missing" in telling.result()[0].detail
    assert [row["outcome"] for row in lab.rows(attempts)] == ["late", "overtaken"]
    assert "further attempt" in lab.tell(other, 2.0).detail
    assert lab.values() == [(1.0, None)]
    lab.check_counters()


@pytest.mark.parametrize("point", ["tell.begun", "tell.written"])
def test_of_two_words_on_one_lease_one_stands(lab: Lab, faults: Faults, point: str) -> None:
    (job,) = lab.ask("crash")
    with faults.held(point, tell, lab.database.url, [lab.said(job, 1.0)]) as telling:
        both = beside(lab.database, telling, lambda: lab.tell(job, 2.0))
    answers = {1.0: both.held[0].status, 2.0: both.beside.status}
    assert sorted(answers.values()) == [200, 409]
    (value,) = [value for value, status in answers.items() if status == 200]
    assert lab.values() == [(value, None)]
    assert [(row["outcome"], row["value"]) for row in lab.rows(attempts)] == [("done", value)]
    lab.check_counters()


@pytest.mark.parametrize("point", ["tell.begun", "tell.written"])
def test_of_two_leases_that_tell_at_once_the_first_value_stands(lab: Lab, faults: Faults, point: str) -> None:
    (old,) = lab.ask("crash")
    lab.expire()
    lab.ripen()
    (new,) = lab.ask("crash")
    with faults.held(point, tell, lab.database.url, [lab.said(old, 1.0)]) as telling:
        both = beside(lab.database, telling, lambda: lab.tell(new, 2.0))
    assert (both.held[0].status, both.beside.status) == (200, 200)
    assert len(lab.values()) == 1
    told = [(row["outcome"], row["value"]) for row in lab.rows(attempts)]
    assert told in ([("late", 1.0), ("duplicate", 2.0)], [("duplicate", 1.0), ("done", 2.0)])
    assert lab.values()[0][0] == next(value for outcome, value in told if outcome != "duplicate")
    lab.check_counters()


def test_a_revival_and_an_ask_share_no_job(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    lab.expire()
    lab.ripen()
    with faults.held("revive.written", heartbeat, lab.database.url, [job.lease]) as revival:
        both = beside(lab.database, revival, lambda: lab.ask("crash", most=4))
    assert both.held[0].expires_at is not None
    assert len(both.beside) == 3
    assert lab.job(job.job)["lease"] == job.lease
    lab.check_counters()


def test_an_ask_and_a_revival_share_no_job(lab: Lab, faults: Faults) -> None:
    (job,) = lab.ask("crash")
    lab.expire()
    lab.ripen()
    with faults.held("ask.written", serve_asks, lab.database.url, asking(4), 20.0) as other:
        both = beside(lab.database, other, lambda: heartbeat(lab.database, [job.lease]))
    assert both.beside[0].expires_at is None
    assert lab.job(job.job)["lease"] in {one.lease for one in both.held[0]}
    lab.check_counters()


def test_a_stop_leaves_what_an_ask_just_took(lab: Lab, faults: Faults) -> None:
    with faults.held("ask.written", serve_asks, lab.database.url, asking(1), 20.0) as other:
        both = beside(lab.database, other, lambda: stop(lab.database, "wing", cancel_running=False))
    ((taken,),) = both.held
    assert [row["id"] for row in lab.rows(jobs) if row["state"] != "superseded"] == [taken.job]
    assert lab.tell(taken, 1.0).detail == "recorded"
    lab.check_counters()


# Planners.


@pytest.fixture
def due(database: Database) -> Lab:
    """A search step is due; some cheap-only jobs of the stream are ready, one is leased."""
    lab = Lab(database, generations=1, batch_size=2)
    lab.plan()
    for job in lab.ask("mass", most=4):
        lab.tell(job)
    lab.plan()
    for job in lab.ask("crash", most=4):
        lab.tell(job)
    assert [row["kind"] for row in lab.rows(steps) if row["state"] == "due"] == ["search"]
    return lab


def lose_claims(lab: Lab) -> None:
    lab.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))


def check_one_step(lab: Lab) -> None:
    """The first search step is there once, with its two full samples, as if computed alone."""
    (step,) = [row for row in lab.rows(steps) if row["kind"] == "search"]
    assert step["state"] == "done"
    assert sum(row["full"] for row in lab.rows(samples) if row["step_id"] == step["id"]) == 2
    (study,) = lab.rows(studies)
    assert (study["step"], study["planned_full"]) == (1, 6)
    lab.check_counters()
    assert all(one.equal for one in replay(lab.database, "wing", None))


@pytest.mark.parametrize("point", ["claim.written", "step.claimed"])
def test_of_two_planners_one_gets_the_step(due: Lab, faults: Faults, point: str) -> None:
    with faults.held(point, plan_one, due.database.url) as other:
        both = beside(due.database, other, lambda: plan_one(due.database))
    assert (both.held, both.beside) == (True, False)
    check_one_step(due)


def test_a_planner_that_lost_its_claim_commits_nothing(due: Lab, faults: Faults) -> None:
    with faults.held("step.computed", plan_one, due.database.url) as other:
        lose_claims(due)
        assert plan_one(due.database)
        other.go_on()
        other.result()
    check_one_step(due)


def test_a_planner_that_lost_its_claim_leaves_the_step_to_the_one_that_has_it(due: Lab, faults: Faults) -> None:
    """Nobody has finished it yet: only the claim says whose it is."""
    with faults.held("step.computed", plan_one, due.database.url) as first:
        lose_claims(due)
        with faults.held("step.claimed", plan_one, due.database.url) as second:
            first.go_on()
            first.result()
            (step,) = [row for row in due.rows(steps) if row["kind"] == "search"]
            assert (step["state"], step["claim"] is None) == ("due", False)
            assert due.rows(studies)[0]["planned_full"] == 4
            second.go_on()
            assert second.result()
    check_one_step(due)


def test_a_step_that_is_being_written_is_not_claimed_again(due: Lab, faults: Faults) -> None:
    with faults.held("step.computed", plan_one, due.database.url) as other:
        lose_claims(due)
        other.go_on_to("step.written")
        beside(due.database, other, lambda: plan_one(due.database))
    check_one_step(due)


def test_a_step_computed_before_a_stop_does_not_happen(due: Lab, faults: Faults) -> None:
    with faults.held("step.computed", plan_one, due.database.url) as other:
        stop(due.database, "wing", cancel_running=False)
        other.go_on()
        other.result()
    assert [row["kind"] for row in due.rows(steps)] == ["initial", "stream"]
    assert due.rows(studies)[0]["planned_full"] == 4
    due.check_counters()
    extend(due.database, "wing", 11)
    due.plan()
    check_one_step(due)


def test_a_step_computed_before_a_pause_happens_after_it(due: Lab, faults: Faults) -> None:
    with faults.held("step.computed", plan_one, due.database.url) as other:
        pause(due.database, "wing")
        other.go_on()
        other.result()
    assert due.rows(studies)[0]["planned_full"] == 4
    assert not plan_one(due.database)
    resume(due.database, "wing")
    assert due.plan() == 1
    check_one_step(due)


def test_a_stop_that_waits_for_a_step_supersedes_what_it_proposed(due: Lab, faults: Faults) -> None:
    with faults.held("step.written", plan_one, due.database.url) as other:
        beside(due.database, other, lambda: stop(due.database, "wing", cancel_running=False))
    assert {row["state"] for row in due.rows(jobs)} == {"done", "superseded"}
    assert due.rows(studies)[0]["planned_full"] == 4  # the two new ones are given up
    due.check_counters()
    extend(due.database, "wing", 11)
    assert due.run().evaluated_full == 11


@pytest.mark.parametrize("point", ["step.claimed", "step.computed", "step.written"])
def test_tells_beside_a_step_do_not_change_it(due: Lab, faults: Faults, point: str) -> None:
    """A step reads what was known when it became due, however late it is computed."""
    (job,) = due.ask("mass")
    with faults.held(point, plan_one, due.database.url) as other:
        both = beside(due.database, other, lambda: due.tell(job, -100.0))
    assert (both.held, both.beside.detail) == (True, "recorded")
    assert (-100.0, None) in due.values()
    assert len(due.rows(sample_values)) == 9
    check_one_step(due)


def test_a_step_leaves_what_an_ask_just_took(due: Lab, faults: Faults) -> None:
    with faults.held("ask.written", serve_asks, due.database.url, asking(2, "mass"), 20.0) as other:
        both = beside(due.database, other, lambda: plan_one(due.database))
    assert both.beside
    taken = {job.job for job in both.held[0]}
    assert {row["id"] for row in due.rows(jobs) if row["state"] == "leased"} == taken
    assert len(taken) == 2
    check_one_step(due)


def test_an_ask_passes_by_what_a_step_supersedes(due: Lab, faults: Faults) -> None:
    with faults.held("step.written", plan_one, due.database.url) as other:
        both = beside(due.database, other, lambda: due.ask("mass", most=100))
    assert both.held
    got = {job.job for job in both.beside}
    old = {row["id"] for row in due.rows(jobs) if row["cheap_only"] and row["step"] == 0}
    assert len(old) > 0
    assert got & old == set()
    check_one_step(due)


@pytest.mark.parametrize("before", [None, "0001"])
def test_of_two_migrations_one_works_and_the_other_finds_it_done(
    empty_url: str, faults: Faults, before: str | None
) -> None:
    database = Database(empty_url)
    try:
        if before:
            write_as_the_first_version(database)
        with faults.held("upgrade.written", upgrade, empty_url) as other:
            both = beside(database, other, lambda: upgrade(database))
        assert both.waited
        assert (both.held, both.beside) == ((before, head()), (head(), head()))
        assert revision(database) == head()
        assert drift(database) == []
        assert not before or as_the_first_version_wrote_it(database)
    finally:
        database.close()


def test_a_delete_beside_an_ask_throws_no_lease_away(lab: Lab, faults: Faults) -> None:
    """An ask locks no study: a delete that only counts the leases that it sees would not see these."""

    def refused() -> str:
        with pytest.raises(StudyBusy) as caught:
            delete(lab.database, "wing", force=False)
        return str(caught.value)

    with faults.held("ask.written", serve_asks, lab.database.url, asking(2), 20.0) as other:
        (theirs,), why, waited = beside(lab.database, other, refused)
    assert waited
    assert "2 jobs are with workers" in why
    assert [lab.tell(job, 1.0).status for job in theirs] == [200, 200]
    lab.check_counters()
