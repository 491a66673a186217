"""Rows become samples and values: all rows of a request or none, and only once."""

from app.service.studies.front import front
from app.service.studies.listings import list_samples
from app.store.database import Database
from app.store.tables import events, samples
from tests.service.files.imports.import_rows import (
    design_sizes,
    faults_of,
    import_rows,
    paused_lab,
    random_rows,
    row,
    stored_rows,
)
from tests.service.lab import Lab


def test_the_same_rows_again_change_nothing(database: Database) -> None:
    lab = paused_lab(database)
    rows = [
        *random_rows(2),
        row(0.5, 0.5, mass=1.0),
        {"x": {"a": 0.1, "b": 0.2}, "failures": {"crash": "infeasible"}},
    ]
    assert import_rows(lab, rows, evaluate=True).model_dump() == {
        "rows": 4,
        "complete": 2,
        "partial": 2,
        "values_added": 0,
        "jobs": 1,  # none of the infeasible sample
        "unchanged": 0,
        "ignored": 0,
        "dry_run": False,
    }
    before = stored_rows(lab)
    again = import_rows(lab, rows, evaluate=True)
    assert (
        again.unchanged,
        again.complete,
        again.partial,
        again.jobs,
        again.values_added,
    ) == (4, 0, 0, 0, 0)
    assert stored_rows(lab) == before


def test_a_dry_run_reports_the_same_and_writes_nothing(database: Database) -> None:
    lab = paused_lab(database)
    rows = [*random_rows(2), row(0.5, 0.5, mass=1.0)]
    told = import_rows(lab, rows, dry_run=True)
    assert lab.rows(samples) == []
    assert [each["kind"] for each in lab.rows(events)] == ["created", "step_due"]
    assert told.model_copy(update={"dry_run": False}) == import_rows(lab, rows)


def test_missing_values_are_added_and_may_complete_a_sample(database: Database) -> None:
    lab = paused_lab(database)
    import_rows(lab, [row(0.5, 0.5, mass=1.0), row(0.25, 0.5, mass=1.0)])
    assert design_sizes(lab) == [4]
    assert import_rows(lab, [row(0.5, 0.5, crash=2.0)]).values_added == 1
    assert design_sizes(lab) == [3]
    assert [item.values for item in front(database, "wing")] == [
        {"mass": 1.0, "crash": 2.0}
    ]
    lab.check_counters()


def test_rows_of_the_same_point_are_one_sample(database: Database) -> None:
    lab = paused_lab(database)
    told = import_rows(
        lab, [row(0.5, 0.0, mass=1.0), row(0.5, -0.0, crash=2.0), row(0.5, 0, mass=1.0)]
    )
    assert (told.complete, told.partial, told.unchanged) == (1, 0, 1)
    assert len(lab.rows(samples)) == 1


def test_contradictions_are_bad_rows(database: Database) -> None:
    lab = paused_lab(database)
    import_rows(lab, [row(0.5, 0.5, mass=1.0)])
    found = faults_of(
        lab,
        [
            row(0.5, 0.5, mass=2.0),
            row(0.1, 0.1, mass=3.0),
            row(0.1, 0.1, mass=4.0),
        ],
    )
    assert [place for place, _ in found] == ["#/0", "#/2"]
    assert found[0][1] == "mass is 1.0 at this point, not 2.0: a value never changes"
    assert (
        found[1][1]
        == "the same point is given twice, with different values of mass; which one is right?"
    )
    ((_, words),) = faults_of(
        lab, [{"x": {"a": 0.5, "b": 0.5}, "failures": {"mass": "infeasible"}}]
    )
    assert words == "mass is 1.0 at this point, not infeasible: a value never changes"


def test_of_a_failure_and_a_value_in_one_file_the_value_counts_in_either_order(
    database: Database,
) -> None:
    """As in a study: a value may follow a failure.

    Its export, which has both, can be imported.
    """
    lab = paused_lab(database)
    first, second = (
        {"x": {"a": a, "b": 0.5}, "failures": {"mass": "infeasible"}}
        for a in (0.1, 0.2)
    )
    file = [first, row(0.1, 0.5, mass=1.0), row(0.2, 0.5, mass=2.0, crash=3.0), second]
    import_rows(lab, file)
    assert sorted(lab.values()) == [(1.0, None), (2.0, None), (3.0, None)]
    import_rows(lab, file)
    assert len(lab.values()) == 3


def test_rows_without_values_are_ignored_unless_jobs_are_made(
    database: Database,
) -> None:
    lab = paused_lab(database)
    told = import_rows(lab, [row(0.5, 0.5), row(0.5, 0.5, mass=None)])
    assert (told.ignored, told.partial) == (2, 0)
    assert lab.rows(samples) == []


def test_a_row_at_a_cheap_only_sample_becomes_a_sample_of_its_own_only_if_it_tells_more(
    database: Database,
) -> None:
    lab = Lab(database, initial_samples=20, budget=30)
    lab.plan()
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    lab.plan()
    (job,) = lab.ask("mass")
    lab.tell(job, 5.0)
    assert import_rows(lab, [row(job.x["a"], job.x["b"], mass=5.0)]).unchanged == 1
    assert faults_of(lab, [row(job.x["a"], job.x["b"], mass=6.0)])
    told = import_rows(lab, [row(job.x["a"], job.x["b"], crash=1.0)])
    assert (told.complete, told.values_added) == (1, 0)
    lab.check_counters()
    assert (
        import_rows(lab, [row(job.x["a"], job.x["b"], mass=5.0, crash=1.0)]).unchanged
        == 1
    )


def test_imported_points_and_values_are_kept_to_the_last_bit(
    database: Database,
) -> None:
    variables = [
        {"name": "a", "low": -1e300, "high": 1e300},
        {"name": "b", "low": 0, "high": 9, "type": "int"},
    ]
    lab = paused_lab(database, variables=variables)
    rows = [
        row(a, 3.0, mass=0.1 + a % 1)
        for a in (1e23, 5e-324, 0.1 + 0.2, -1e300, 1e22 / 3)
    ]
    import_rows(lab, rows)
    kept = [one for _, one in list_samples(database, "wing", 0, 10, None)]
    assert [row(float(one.x["a"]), one.x["b"], **one.values) for one in kept] == rows
    assert all(one.step is None and one.full for one in kept)
    assert import_rows(lab, rows).unchanged == 5
