"""Imported samples count for the initial design, never for the budget."""

from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.studies.lifecycle import extend, pause, resume
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.tables import samples, steps
from tests.service.files.imports.import_rows import (
    design_sizes,
    import_rows,
    paused_lab,
    random_rows,
)
from tests.service.lab import Lab


def test_complete_samples_take_the_place_of_the_designs(database: Database) -> None:
    lab = paused_lab(database)
    assert lab.plan() == 0
    assert import_rows(lab, random_rows(3)).complete == 3
    resume(database, "wing")
    assert lab.plan() == 1
    assert design_sizes(lab) == [1]
    view = lab.view()
    assert (view.imported, view.planned_full, view.evaluated_full) == (3, 1, 0)
    assert lab.run().evaluated_full == 10  # the budget is as it was
    assert len(lab.rows(samples)) >= 13
    lab.check_counters()


def test_search_begins_at_once_when_the_whole_design_is_known(
    database: Database,
) -> None:
    lab = paused_lab(database)
    import_rows(lab, random_rows(6))
    resume(database, "wing")
    assert lab.plan() == 2
    assert [(step["kind"], step["inputs"]["size"]) for step in lab.rows(steps)] == [
        ("initial", 0),
        ("search", 3),
    ]
    view = lab.run()
    assert (view.phase, view.evaluated_full, view.imported) == ("finished", 10, 6)
    assert not any(step["kind"] == "stream" for step in lab.rows(steps))
    lab.check_counters()


def test_the_stream_of_a_shorter_design_is_shorter(database: Database) -> None:
    """n r_j evaluations are those for which the slow workers leave time; they evaluate
    n - k samples.
    """
    lab = paused_lab(database, initial_samples=20, budget=30)
    import_rows(lab, random_rows(15))
    resume(database, "wing")
    lab.plan()
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    assert lab.plan() == 1
    assert [
        step["inputs"]["size"] for step in lab.rows(steps) if step["kind"] == "stream"
    ] == [5 * 4 - 5]


def test_a_design_prepared_before_an_import_is_not_committed(
    database: Database,
) -> None:
    lab = Lab(database)
    step = database.write(lambda connection: claim_step(connection, 60.0))
    assert step is not None
    early = compute_step(database, step)
    import_rows(lab, random_rows(3))
    assert not commit_step(database, step, early)
    assert lab.plan() == 1
    assert lab.view().planned_full == 1


def test_extending_a_study_whose_design_is_still_due_makes_no_second_one(
    database: Database,
) -> None:
    lab = Lab(database)
    extend(database, "wing", 12)
    assert lab.plan() == 1
    assert lab.view().planned_full == 4


def test_a_paused_study_can_be_filled_and_started(database: Database) -> None:
    lab = paused_lab(database)
    assert lab.view().state == "paused"
    # The same specification again changes nothing
    assert Lab(database).view().state == "paused"
    pause(database, "wing")
    import_rows(lab, random_rows(4))
    assert lab.plan() == 0
    resume(database, "wing")
    assert lab.run().phase == "finished"
