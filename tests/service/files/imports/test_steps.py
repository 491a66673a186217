"""What steps read and propose after an import."""

import numpy as np

from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.service.studies.lifecycle import resume
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.tables import samples, steps
from tests.service.files.imports.import_rows import (
    complete_row,
    import_rows,
    paused_lab,
    random_rows,
    row,
)
from tests.service.lab import Lab


def test_a_step_does_not_see_what_was_imported_after_it_became_due(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    for job in lab.ask(most=100):
        lab.tell(job)
    step = database.write(lambda connection: claim_step(connection, for_s=-1.0))
    assert step is not None
    assert step.kind == "search"
    early = compute_step(database, step)
    # Another source has the values of exactly what it will propose
    proposed = [complete_row(a, b) for a, b in early.full.tolist()]
    assert import_rows(lab, [*random_rows(20), *proposed]).complete == 23
    late = compute_step(database, step)
    np.testing.assert_array_equal(early.full, late.full)
    assert early.record["models"] == late.record["models"]
    assert early.record["hypervolume"] == late.record["hypervolume"]
    lab.run_until(step=2)
    second = next(
        one for one in lab.rows(steps) if one["kind"] == "search" and one["number"] == 2
    )
    # The points of the batch count once
    assert second["record"]["models"][1]["size"] == 4 + 3 + 20


def test_every_step_is_computed_again_with_the_same_result(database: Database) -> None:
    """Whatever was imported when: before the design, while it ran, during the search."""
    lab = paused_lab(database, initial_samples=10, budget=16)
    rows = random_rows(40)
    import_rows(lab, rows[:3])
    resume(database, "wing")
    lab.plan()
    for number, job in enumerate(lab.ask(most=100)):
        lab.tell(job)
        import_rows(lab, rows[3 + number : 4 + number])
        lab.plan()
    lab.run_until(step=1)
    import_rows(lab, rows[30:])
    lab.run()
    again = list(replay(database, "wing", None))
    assert {one.step.partition(":")[0] for one in again} == {
        "initial",
        "stream",
        "search",
        "closing",
    }
    assert [one.step for one in again if not one.equal] == []


def test_imported_points_are_never_proposed(database: Database) -> None:
    """A space of 12 points, of which 5 are known: the other 7 are proposed, then there
    is nothing left.
    """
    variables = [
        {"name": name, "low": 0, "high": high, "type": "int"}
        for name, high in (("a", 2), ("b", 3))
    ]
    objectives = [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 1.0},
    ]
    lab = paused_lab(
        database,
        variables=variables,
        objectives=objectives,
        budget=50,
        initial_samples=3,
    )
    infeasible = {"x": {"a": 0, "b": 0}, "failures": {"mass": "infeasible"}}
    import_rows(
        lab,
        [
            infeasible,
            *(row(a, b, mass=1.0 * a) for a, b in ((1, 1), (2, 2), (0, 3), (1, 0))),
        ],
    )
    resume(database, "wing")
    assert lab.run().evaluated_full == 7
    full = [tuple(one["x"]) for one in lab.rows(samples) if one["full"]]
    assert len(full) == len(set(full)) == 12


def test_imported_points_are_not_proposed_for_cheap_objectives_either(
    database: Database,
) -> None:
    variables = [
        {"name": name, "low": 0, "high": high, "type": "int"}
        for name, high in (("a", 2), ("b", 3))
    ]
    lab = paused_lab(database, variables=variables, budget=50, initial_samples=3)
    import_rows(
        lab,
        [row(a, b, crash=1.0 * a) for a, b in ((0, 0), (1, 1), (2, 2), (0, 3), (1, 0))],
    )
    resume(database, "wing")
    lab.run()
    found = lab.rows(samples)
    imported = {tuple(one["x"]) for one in found if one["imported_seq"]}
    assert len(imported) == 5
    assert any(one["promoted_by"] for one in found)  # was a cheap-only sample
    assert not imported & {tuple(one["x"]) for one in found if not one["imported_seq"]}
