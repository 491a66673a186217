"""Create, pause, resume, stop, extend, retry, delete."""

import pytest

from app.errors import (
    ObjectiveUnknown,
    RequestRefused,
    StudyBusy,
    StudyExists,
    StudyUnknown,
)
from app.service.studies.front import front
from app.service.studies.lifecycle import (
    create,
    delete,
    extend,
    pause,
    resume,
    retry,
    stop,
)
from app.service.studies.progress import study_view
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.store.database import Database
from app.store.tables import attempts, events, jobs, samples, steps, studies
from counterpoise.wire.specification import parse_specification
from tests.service.lab import SPEC, Lab


def test_the_same_specification_again_is_the_same_study(database: Database) -> None:
    spec = parse_specification(SPEC)
    assert create(database, spec, 60.0)
    assert not create(database, spec, 60.0)
    with pytest.raises(StudyExists, match=r"differs in budget"):
        create(database, parse_specification({**SPEC, "budget": 99}), 60.0)


def test_a_study_without_a_seed_shows_the_one_that_was_drawn(
    database: Database,
) -> None:
    given = {name: SPEC[name] for name in SPEC if name != "seed"}
    assert create(database, parse_specification(given), 60.0)
    shown = study_view(database, "wing").spec
    assert 0 <= shown["seed"] < 2**53
    assert not create(database, parse_specification(shown), 60.0)
    assert not create(database, parse_specification(given), 60.0)
    with pytest.raises(StudyExists, match=r"differs in seed"):
        create(database, parse_specification({**given, "seed": 2**60}), 60.0)


def test_leases_and_timeouts_follow_the_objective_then_the_study_then_the_server(
    database: Database,
) -> None:
    own = [
        {"name": "a", "lease_s": 5, "timeout_s": 7},
        {"name": "b"},
        {"name": "c", "same_run_as": "a"},
    ]
    Lab(database, name="one", objectives=own, lease_s=30)
    lab = Lab(database, name="two", objectives=own)
    from app.store.tables import objectives

    kept = [
        (row["name"], row["lease_s"], row["timeout_s"]) for row in lab.rows(objectives)
    ]
    assert kept == [
        ("a", 5, 7),
        ("b", 30, None),
        ("c", 5, None),
        ("a", 5, 7),
        ("b", 60, None),
        ("c", 5, None),
    ]


def test_an_unknown_study_is_named_with_the_nearest(database: Database) -> None:
    Lab(database)
    for work in (pause, resume):
        with pytest.raises(StudyUnknown, match="did you mean 'wing'"):
            work(database, "wnig")


def test_a_paused_study_plans_nothing_and_what_runs_goes_on(database: Database) -> None:
    lab = Lab(database)
    pause(database, "wing")
    assert lab.plan() == 0
    resume(database, "wing")
    assert lab.plan() == 1
    (job,) = lab.ask("mass")
    pause(database, "wing")
    pause(database, "wing")
    assert lab.ask(most=10) == []
    assert lab.tell(job, 1.0).status == 200
    assert lab.view().state == "paused"
    kinds = ["created", "step_due", "paused", "resumed", "step", "paused", "done"]
    assert [row["kind"] for row in lab.rows(events)] == kinds
    assert "paused" in lab.health()


def test_a_step_that_was_prepared_when_the_study_was_paused_is_not_committed(
    database: Database,
) -> None:
    from app.service.planning.commit_step import commit_step
    from app.service.planning.compute_step import compute_step
    from app.store.studies.steps import claim_step

    lab = Lab(database)
    step = database.write(lambda connection: claim_step(connection, 60.0))
    assert step is not None
    plan = compute_step(database, step)
    pause(database, "wing")
    assert not commit_step(database, step, plan)
    assert lab.rows(samples) == []
    resume(database, "wing")
    assert lab.plan() == 1


def test_stop_supersedes_what_is_ready_and_lets_what_runs_finish(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    running, finished = lab.ask("crash", most=2)
    lab.tell(finished, 1.0)
    stop(database, "wing", cancel_running=False)
    view = lab.view()
    assert (view.phase, view.objectives[1].superseded, view.objectives[1].leased) == (
        "finished",
        2,
        1,
    )
    assert not heartbeat(database, [running.lease])[0].cancel
    assert lab.tell(running, 2.0).state == "done"
    assert lab.ask(most=10) == []
    assert lab.plan() == 0
    assert view.ending == "stopped"
    lab.check_counters()


def test_stop_can_ask_workers_to_give_up_what_runs(database: Database) -> None:
    lab = Lab(database)
    lab.plan()
    (running,) = lab.ask("crash")
    stop(database, "wing", cancel_running=True)
    (alive,) = heartbeat(database, [running.lease])
    assert (alive.cancel, alive.reason) == (True, "study_stopped")
    assert lab.fail(running, "error").state == "superseded"
    lab.check_counters()


def test_a_stopped_study_can_be_extended_and_finishes(database: Database) -> None:
    lab = Lab(database)
    lab.run_until(step=1)
    stop(database, "wing", cancel_running=False)
    extend(database, "wing", 13)
    view = lab.run()
    assert (view.phase, view.evaluated_full, view.budget) == ("finished", 13, 13)
    lab.check_counters()


def test_a_study_stopped_before_its_design_was_planned_can_be_extended(
    database: Database,
) -> None:
    lab = Lab(database)
    stop(database, "wing", cancel_running=False)
    assert lab.plan() == 0
    extend(database, "wing", 11)
    assert lab.run().evaluated_full == 11


def test_a_finished_study_is_reopened_by_extending_it(database: Database) -> None:
    lab = Lab(database)
    assert lab.run().phase == "finished"
    steps_before = lab.rows(studies)[0]["step"]
    extend(database, "wing", 12)
    view = lab.run()
    assert (view.phase, view.evaluated_full) == ("finished", 12)
    assert lab.rows(studies)[0]["step"] == steps_before + 1
    assert [row["number"] for row in lab.rows(steps) if row["kind"] == "closing"] == [
        10,
        12,
    ]


def test_extending_to_less_is_refused(database: Database) -> None:
    Lab(database)
    with pytest.raises(RequestRefused, match="budget of 10 already"):
        extend(database, "wing", 10)


def test_retry_returns_failed_jobs_to_ready_as_if_never_tried(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    first, second = lab.ask("crash", most=2)
    (other,) = lab.ask("mass")
    lab.fail(first, "error")
    lab.fail(second, "error")
    lab.fail(other, "error")
    assert "jobs_failed" in lab.health()
    assert retry(database, "wing", ["crash"]) == 2
    assert retry(database, "wing", ["crash"]) == 0
    assert lab.view().objectives[1].failed == 0
    assert lab.job(first.job)["errors"] == 0
    lab.check_counters()
    with pytest.raises(ObjectiveUnknown, match="did you mean 'crash'"):
        retry(database, "wing", ["crsh"])
    assert retry(database, "wing", None) == 1
    assert lab.run().phase == "finished"
    lab.check_counters()


def test_retry_reopens_a_settled_sample_and_the_next_step_waits_for_it(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    for job in lab.ask(most=100):
        lab.fail(
            job, "error"
        ) if job.objective == "crash" and job.sample == 1 else lab.tell(job)
    assert lab.rows(studies)[0]["settled_full"] == 4
    retry(database, "wing", None)
    assert lab.rows(studies)[0]["settled_full"] == 3
    lab.check_counters()


def test_delete_refuses_live_leases_unless_forced(database: Database) -> None:
    lab = Lab(database)
    lab.plan()
    lab.ask("crash")
    with pytest.raises(StudyBusy, match="1 job is with workers"):
        delete(database, "wing", force=False)
    delete(database, "wing", force=True)
    for table in (studies, jobs, samples, attempts, events, steps):
        assert lab.rows(table) == []


def test_a_tell_after_its_study_was_deleted_is_refused_not_a_fault(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    (job,) = lab.ask("crash")
    delete(database, "wing", force=True)
    assert lab.tell(job, 1.0).status == 404
    assert heartbeat(database, [job.lease])[0].cancel


def test_a_study_stopped_with_its_design_ready_gets_another_when_it_is_extended(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    stop(database, "wing", cancel_running=False)
    assert lab.rows(studies)[0]["planned_full"] == 0
    extend(database, "wing", 12)
    view = lab.run()
    assert (view.phase, view.evaluated_full) == ("finished", 12)
    assert [row["number"] for row in lab.rows(steps) if row["kind"] == "initial"] == [
        0,
        1,
    ]
    lab.check_counters()


def test_what_workers_give_back_after_a_stop_is_not_counted_as_evaluated(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    held = lab.ask(most=100)
    stop(database, "wing", cancel_running=True)
    release(database, [job.lease for job in held])
    assert (lab.view().evaluated_full, lab.view().planned_full) == (0, 0)
    lab.check_counters()


def test_a_retried_job_of_a_finished_study_survives_a_release(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1, budget=4)
    lab.plan()
    for job in lab.ask(most=100):
        lab.fail(job, "error") if job.objective == "crash" else lab.tell(job)
    lab.plan()
    assert lab.view().phase == "finished"
    assert retry(database, "wing", None) == 4
    (job, *others) = lab.ask("crash", most=4)
    release(database, [job.lease])
    assert lab.job(job.job)["state"] == "ready"
    for other in [*others, *lab.ask("crash")]:
        assert lab.tell(other).state == "done"
    lab.check_counters()


def finished_and_retried(database: Database) -> Lab:
    lab = Lab(database, max_attempts=1, budget=4)
    lab.plan()
    for job in lab.ask(most=100):
        lab.fail(job, "error") if job.objective == "crash" else lab.tell(job)
    lab.plan()
    assert retry(database, "wing", None) == 4
    return lab


def test_a_stop_of_a_finished_study_supersedes_what_was_retried(
    database: Database,
) -> None:
    lab = finished_and_retried(database)
    (running, returned) = lab.ask("crash", most=2)
    (before,) = lab.rows(studies)
    stop(database, "wing", cancel_running=True)
    assert lab.ask(most=10) == []
    assert heartbeat(database, [running.lease])[0].cancel
    release(database, [returned.lease])
    assert lab.job(returned.job)["state"] == "superseded"
    assert lab.tell(running).state == "done"
    (after,) = lab.rows(studies)
    assert (after["finished_at"], after["phase"]) == (before["finished_at"], "finished")
    assert [row["kind"] for row in lab.rows(events)].count("finished") == 1
    lab.check_counters()
    extend(database, "wing", 6)
    assert lab.run().evaluated_full == 6
    lab.check_counters()


def test_what_is_retried_after_a_stop_is_not_cancelled(database: Database) -> None:
    lab = finished_and_retried(database)
    for job in lab.ask("crash", most=4):
        lab.fail(job, "error")
    stop(database, "wing", cancel_running=True)
    assert retry(database, "wing", None) == 4
    (job,) = lab.ask("crash")
    assert not heartbeat(database, [job.lease])[0].cancel


def test_a_stop_of_a_study_that_has_done_all_its_work_changes_nothing(
    database: Database,
) -> None:
    lab = Lab(database, budget=4)
    assert lab.run().phase == "finished"
    before = lab.view()
    stop(database, "wing", cancel_running=False)
    assert lab.view().health == before.health == []


def test_a_given_up_sample_that_gets_all_its_values_is_in_the_front(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    (mass,) = lab.ask("mass")
    crash = next(job for job in lab.ask("crash", most=4) if job.sample == mass.sample)
    release(database, [mass.lease])
    stop(database, "wing", cancel_running=False)
    assert lab.tell(mass, 1.0).state == "done"
    assert lab.tell(crash, 2.0).state == "done"
    assert [item.sample for item in front(database, "wing")] == [mass.sample]
    lab.check_counters()
