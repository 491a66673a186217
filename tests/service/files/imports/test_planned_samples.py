"""Imported values of planned samples settle their jobs."""

from app.store.database import Database
from app.store.tables import attempts
from tests.service.files.imports.import_rows import (
    faults_of,
    import_rows,
    infeasible_row,
    row,
)
from tests.service.lab import Lab


def test_a_value_of_a_planned_sample_settles_its_job(database: Database) -> None:
    lab = Lab(database)
    lab.plan()
    ready, leased = lab.ask("crash", most=2)
    lab.expire(ready)
    told = import_rows(
        lab, [row(job.x["a"], job.x["b"], crash=7.0) for job in (ready, leased)]
    )
    assert (told.values_added, told.partial) == (2, 0)
    assert [lab.job(job.job)["state"] for job in (ready, leased)] == ["done", "done"]
    lab.check_counters()
    assert {one["outcome"] for one in lab.rows(attempts)} == {"expired", "overtaken"}
    assert lab.tell(leased, 8.0).status == 200
    assert {one["outcome"] for one in lab.rows(attempts)} == {"expired", "duplicate"}
    assert (7.0, None) in lab.values()
    assert (8.0, None) not in lab.values()
    lab.check_counters()


def test_importing_the_last_value_of_a_batch_makes_the_next_step_due(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    *most, last = lab.ask(most=100)
    for job in most:
        lab.tell(job)
    assert lab.view().phase == "initial"
    import_rows(lab, [row(last.x["a"], last.x["b"], **{last.objective: 3.0})])
    assert lab.view().phase == "search"
    assert lab.run().evaluated_full == 10
    lab.check_counters()


def test_a_failed_job_is_done_by_an_imported_value_and_a_ready_one_fails_as_infeasible(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    one, other = lab.ask("crash", most=2)
    lab.fail(one, "error")
    lab.expire(other)
    import_rows(
        lab, [row(one.x["a"], one.x["b"], crash=3.0), infeasible_row(other, "crash")]
    )
    assert [lab.job(job.job)["state"] for job in (one, other)] == [
        "done",
        "infeasible",
    ]
    assert lab.values() == [(None, "error"), (3.0, None), (None, "infeasible")]
    lab.check_counters()


def test_the_values_of_a_run_come_together(database: Database) -> None:
    objectives = [
        {"name": "drag"},
        {"name": "lift", "same_run_as": "drag"},
        {"name": "mass"},
    ]
    lab = Lab(database, objectives=objectives)
    lab.plan()
    one, other, third = lab.ask("drag", most=3)
    ((_, words),) = faults_of(lab, [row(one.x["a"], one.x["b"], lift=1.0)])
    assert (
        words
        == "lift comes out of the run of drag, which is still awaited here; give drag too"
    )
    import_rows(
        lab,
        [
            row(one.x["a"], one.x["b"], drag=1.0, lift=2.0),
            row(other.x["a"], other.x["b"], drag=3.0),
        ],
    )
    assert lab.values() == [(1.0, None), (2.0, None), (3.0, None), (None, "error")]
    assert (
        import_rows(lab, [row(other.x["a"], other.x["b"], lift=4.0)]).values_added == 1
    )
    assert lab.tell(third, also={"lift": 1.0}).state == "done"
    lab.check_counters()
    # Without jobs nothing is awaited; and of a run of which something is known, no job
    # is made.
    assert import_rows(lab, [row(0.5, 0.5, lift=1.0)], evaluate=True).jobs == 1
    assert [
        job.objective for job in lab.ask(most=100) if job.x == {"a": 0.5, "b": 0.5}
    ] == ["mass"]


def test_an_infeasible_part_of_a_run_is_recorded_as_such(database: Database) -> None:
    objectives = [
        {"name": "drag"},
        {"name": "lift", "same_run_as": "drag"},
        {"name": "mass"},
    ]
    lab = Lab(database, objectives=objectives)
    lab.plan()
    one, other, third = lab.ask("drag", most=3)
    import_rows(
        lab, [infeasible_row(one, "lift", drag=1.0), infeasible_row(other, "drag")]
    )
    assert lab.values() == [
        (1.0, None),
        (None, "infeasible"),
        (None, "infeasible"),
        (None, "infeasible"),
    ]
    assert (
        import_rows(
            lab, [infeasible_row(one, "lift", drag=1.0), infeasible_row(other, "drag")]
        ).unchanged
        == 2
    )
    ((_, words),) = faults_of(lab, [infeasible_row(third, "drag", lift=1.0)])
    assert (
        words
        == "lift comes out of the run of drag, which is infeasible here; leave one of them out"
    )
    assert len(lab.values()) == 4
    lab.check_counters()


def test_an_infeasible_point_settles_leased_and_failed_jobs(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    one, other = lab.ask("crash", most=2)
    lab.fail(other, "error")
    rows = [infeasible_row(one, "crash"), infeasible_row(other, "crash")]
    assert import_rows(lab, rows).unchanged == 0
    assert [lab.job(job.job)["state"] for job in (one, other)] == [
        "infeasible",
        "failed",
    ]
    assert lab.values() == [(None, "error"), (None, "infeasible"), (None, "infeasible")]
    assert [row["outcome"] for row in lab.rows(attempts)] == ["overtaken", "failed"]
    assert import_rows(lab, rows).unchanged == 2
    assert len(lab.values()) == 3
    lab.check_counters()
    # A finished simulation is never thrown away
    assert lab.tell(one, 2.0).state == "done"
    lab.check_counters()
