"""Jobs for the values that imported samples lack."""

from app.service.studies.front import front
from app.service.studies.lifecycle import extend, resume, retry, stop
from app.service.work.heartbeat import heartbeat
from app.store.database import Database
from tests.service.files.imports.import_rows import (
    design_sizes,
    import_rows,
    paused_lab,
    random_rows,
    row,
)
from tests.service.lab import Lab


def test_jobs_are_made_of_missing_values_and_their_samples_are_no_budget(
    database: Database,
) -> None:
    lab = paused_lab(database)
    assert (
        import_rows(lab, [row(0.5, 0.5, mass=1.0), row(0.1, 0.9)], evaluate=True).jobs
        == 3
    )
    resume(database, "wing")
    got = lab.ask(most=10)
    assert sorted((job.objective, job.x["a"]) for job in got) == [
        ("crash", 0.1),
        ("crash", 0.5),
        ("mass", 0.1),
    ]
    for job in got:
        assert lab.tell(job).state == "done"
    lab.check_counters()
    assert lab.view().evaluated_full == 0
    assert [item.sample for item in front(database, "wing")]
    lab.plan()
    assert design_sizes(lab) == [4]  # when it was planned, they were not complete
    assert lab.run().evaluated_full == 10
    lab.check_counters()


def test_an_infeasible_sample_gets_no_jobs(database: Database) -> None:
    lab = paused_lab(database)
    found = import_rows(lab, [row(0.5, 0.5, mass="infeasible")], evaluate=True)
    assert (found.partial, found.jobs) == (1, 0)
    assert import_rows(lab, [row(0.5, 0.5)], evaluate=True).jobs == 0
    lab.check_counters()


def test_jobs_may_be_asked_for_later(database: Database) -> None:
    lab = paused_lab(database)
    import_rows(lab, [row(0.5, 0.5, mass=1.0)])
    assert import_rows(lab, [row(0.5, 0.5)], evaluate=True).jobs == 1
    lab.check_counters()
    resume(database, "wing")
    (job,) = lab.ask("crash")
    assert lab.tell(job).state == "done"
    lab.check_counters()


def test_a_stopped_study_takes_imports_and_gives_their_jobs_up(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    import_rows(lab, [row(0.5, 0.5)], evaluate=True)
    stop(database, "wing", cancel_running=False)
    assert (lab.view().planned_full, lab.view().imported) == (0, 1)
    lab.check_counters()
    assert import_rows(lab, random_rows(2)).complete == 2
    assert lab.view().phase == "finished"
    extend(database, "wing", 11)
    view = lab.run()
    assert (view.phase, view.evaluated_full, view.imported) == ("finished", 11, 3)
    assert design_sizes(lab) == [4, 2]
    lab.check_counters()


def test_jobs_that_are_imported_after_a_stop_are_not_cancelled(
    database: Database,
) -> None:
    lab = Lab(database)
    stop(database, "wing", cancel_running=True)
    import_rows(lab, [row(0.5, 0.5)], evaluate=True)
    (job,) = lab.ask("crash")
    assert not heartbeat(database, [job.lease])[0].cancel


def test_failed_jobs_of_imported_samples_can_be_retried(database: Database) -> None:
    lab = paused_lab(database, max_attempts=1)
    import_rows(lab, [row(0.5, 0.5, mass=1.0)], evaluate=True)
    resume(database, "wing")
    lab.fail(lab.ask("crash")[0], "error")
    assert retry(database, "wing", None) == 1
    lab.check_counters()
    lab.tell(lab.ask("crash")[0])
    lab.check_counters()
