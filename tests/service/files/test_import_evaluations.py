"""Known evaluations become data of a study: all of a request or none, once, and never
budget.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import ImportInvalid
from app.service.files.csv_reader import read_csv
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.service.studies.lifecycle import extend, pause, resume, retry, stop
from app.service.studies.listings import front, list_samples
from app.service.work.heartbeat import heartbeat
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.tables import (
    attempts,
    events,
    jobs,
    sample_values,
    samples,
    steps,
    studies,
)
from counterpoise.wire.views import Imported
from counterpoise.wire.work import Job
from tests.service.lab import Lab

Row = dict[str, Any]


def row(a: float, b: float, **values: Any) -> Row:
    return {"x": {"a": a, "b": b}, "values": values}


def complete(a: float, b: float) -> Row:
    return row(a, b, mass=a + 0.1 * b, crash=(1.0 - a) ** 2 + b)


def some(count: int) -> list[Row]:
    return [
        complete(a, b) for a, b in np.random.default_rng(7).random((count, 2)).tolist()
    ]


def bring(
    lab: Lab, rows: Sequence[Row], *, evaluate: bool = False, dry_run: bool = False
) -> Imported:
    content = json.dumps(rows).encode()
    read = lambda spec: read_json(spec, content)  # noqa: E731
    return import_evaluations(
        lab.database, lab.name, read, evaluate=evaluate, dry_run=dry_run
    )


def faults(lab: Lab, rows: Sequence[Row]) -> list[tuple[str, str]]:
    before = [
        lab.rows(table)
        for table in (studies, samples, sample_values, events, jobs, steps)
    ]
    with pytest.raises(ImportInvalid) as caught:
        bring(lab, rows)
    assert [
        lab.rows(table)
        for table in (studies, samples, sample_values, events, jobs, steps)
    ] == before
    return [(fault.pointer, fault.detail) for fault in caught.value.faults]


def paused(database: Database, **spec: Any) -> Lab:
    return Lab(database, paused=True, **spec)


def designs(lab: Lab) -> list[int]:
    return [
        step["inputs"]["size"] for step in lab.rows(steps) if step["kind"] == "initial"
    ]


def test_complete_samples_take_the_place_of_the_designs(database: Database) -> None:
    lab = paused(database)
    assert lab.plan() == 0
    assert bring(lab, some(3)).complete == 3
    resume(database, "wing")
    assert lab.plan() == 1
    assert designs(lab) == [1]
    view = lab.view()
    assert (view.imported, view.planned_full, view.evaluated_full) == (3, 1, 0)
    assert lab.run().evaluated_full == 10  # the budget is as it was
    assert len(lab.rows(samples)) >= 13
    lab.check_counters()


def test_search_begins_at_once_when_the_whole_design_is_known(
    database: Database,
) -> None:
    lab = paused(database)
    bring(lab, some(6))
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
    lab = paused(database, initial_samples=20, budget=30)
    bring(lab, some(15))
    resume(database, "wing")
    lab.plan()
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    assert lab.plan() == 1
    assert [
        step["inputs"]["size"] for step in lab.rows(steps) if step["kind"] == "stream"
    ] == [5 * 4 - 5]


def test_the_same_rows_again_change_nothing(database: Database) -> None:
    lab = paused(database)
    rows = [
        *some(2),
        row(0.5, 0.5, mass=1.0),
        {"x": {"a": 0.1, "b": 0.2}, "failures": {"crash": "infeasible"}},
    ]
    assert bring(lab, rows, evaluate=True).model_dump() == {
        "rows": 4,
        "complete": 2,
        "partial": 2,
        "values_added": 0,
        "jobs": 2,
        "unchanged": 0,
        "ignored": 0,
        "dry_run": False,
    }
    before = [
        lab.rows(table)
        for table in (studies, samples, sample_values, events, jobs, steps)
    ]
    again = bring(lab, rows, evaluate=True)
    assert (
        again.unchanged,
        again.complete,
        again.partial,
        again.jobs,
        again.values_added,
    ) == (4, 0, 0, 0, 0)
    assert [
        lab.rows(table)
        for table in (studies, samples, sample_values, events, jobs, steps)
    ] == before


def test_a_dry_run_says_the_same_and_writes_nothing(database: Database) -> None:
    lab = paused(database)
    rows = [*some(2), row(0.5, 0.5, mass=1.0)]
    told = bring(lab, rows, dry_run=True)
    assert lab.rows(samples) == []
    assert [each["kind"] for each in lab.rows(events)] == ["created", "step_due"]
    assert told.model_copy(update={"dry_run": False}) == bring(lab, rows)


def test_missing_values_are_added_and_may_complete_a_sample(database: Database) -> None:
    lab = paused(database)
    bring(lab, [row(0.5, 0.5, mass=1.0), row(0.25, 0.5, mass=1.0)])
    assert designs(lab) == [4]
    assert bring(lab, [row(0.5, 0.5, crash=2.0)]).values_added == 1
    assert designs(lab) == [3]
    assert [item.values for item in front(database, "wing")] == [
        {"mass": 1.0, "crash": 2.0}
    ]
    lab.check_counters()


def test_rows_of_the_same_point_are_one_sample(database: Database) -> None:
    lab = paused(database)
    told = bring(
        lab, [row(0.5, 0.0, mass=1.0), row(0.5, -0.0, crash=2.0), row(0.5, 0, mass=1.0)]
    )
    assert (told.complete, told.partial, told.unchanged) == (1, 0, 1)
    assert len(lab.rows(samples)) == 1


def test_contradictions_are_bad_rows(database: Database) -> None:
    lab = paused(database)
    bring(lab, [row(0.5, 0.5, mass=1.0)])
    found = faults(
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
    ((_, words),) = faults(
        lab, [{"x": {"a": 0.5, "b": 0.5}, "failures": {"mass": "infeasible"}}]
    )
    assert words == "mass is 1.0 at this point, not infeasible: a value never changes"


def test_of_a_failure_and_a_value_in_one_file_the_value_counts_in_either_order(
    database: Database,
) -> None:
    """As in a study: a value may follow a failure.

    Its export, which has both, can be imported.
    """
    lab = paused(database)
    first, second = (
        {"x": {"a": a, "b": 0.5}, "failures": {"mass": "infeasible"}}
        for a in (0.1, 0.2)
    )
    file = [first, row(0.1, 0.5, mass=1.0), row(0.2, 0.5, mass=2.0, crash=3.0), second]
    bring(lab, file)
    assert sorted(lab.values()) == [(1.0, None), (2.0, None), (3.0, None)]
    bring(lab, file)
    assert len(lab.values()) == 3


def test_jobs_are_made_of_missing_values_and_their_samples_are_no_budget(
    database: Database,
) -> None:
    lab = paused(database)
    assert bring(lab, [row(0.5, 0.5, mass=1.0), row(0.1, 0.9)], evaluate=True).jobs == 3
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
    assert designs(lab) == [4]  # when it was planned, they were not complete
    assert lab.run().evaluated_full == 10
    lab.check_counters()


def test_jobs_may_be_asked_for_later(database: Database) -> None:
    lab = paused(database)
    bring(lab, [row(0.5, 0.5, mass=1.0)])
    assert bring(lab, [row(0.5, 0.5)], evaluate=True).jobs == 1
    lab.check_counters()
    resume(database, "wing")
    (job,) = lab.ask("crash")
    assert lab.tell(job).state == "done"
    lab.check_counters()


def test_rows_without_values_are_ignored_unless_jobs_are_made(
    database: Database,
) -> None:
    lab = paused(database)
    told = bring(lab, [row(0.5, 0.5), row(0.5, 0.5, mass=None)])
    assert (told.ignored, told.partial) == (2, 0)
    assert lab.rows(samples) == []


def test_a_value_of_a_planned_sample_settles_its_job(database: Database) -> None:
    lab = Lab(database)
    lab.plan()
    ready, leased = lab.ask("crash", most=2)
    lab.expire(ready)
    told = bring(
        lab, [row(job.x["a"], job.x["b"], crash=7.0) for job in (ready, leased)]
    )
    assert (told.values_added, told.partial) == (2, 0)
    assert [lab.job(job.job)["state"] for job in (ready, leased)] == ["done", "done"]
    lab.check_counters()
    assert {one["outcome"] for one in lab.rows(attempts)} == {"expired", "overtaken"}
    assert lab.tell(leased, 8.0).detail.startswith("kept as a further attempt")
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
    bring(lab, [row(last.x["a"], last.x["b"], **{last.objective: 3.0})])
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
    bring(lab, [row(one.x["a"], one.x["b"], crash=3.0), infeasible(other, "crash")])
    assert [lab.job(job.job)["state"] for job in (one, other)] == ["done", "failed"]
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
    ((_, words),) = faults(lab, [row(one.x["a"], one.x["b"], lift=1.0)])
    assert (
        words
        == "lift comes out of the run of drag, which is still awaited here; give drag too"
    )
    bring(
        lab,
        [
            row(one.x["a"], one.x["b"], drag=1.0, lift=2.0),
            row(other.x["a"], other.x["b"], drag=3.0),
        ],
    )
    assert lab.values() == [(1.0, None), (2.0, None), (3.0, None), (None, "error")]
    assert bring(lab, [row(other.x["a"], other.x["b"], lift=4.0)]).values_added == 1
    assert lab.tell(third, also={"lift": 1.0}).state == "done"
    lab.check_counters()
    # Without jobs nothing is awaited; and of a run of which something is known, no job
    # is made.
    assert bring(lab, [row(0.5, 0.5, lift=1.0)], evaluate=True).jobs == 1
    assert [
        job.objective for job in lab.ask(most=100) if job.x == {"a": 0.5, "b": 0.5}
    ] == ["mass"]


def infeasible(job: Job, *names: str, **values: float) -> Row:
    return {
        "x": dict(job.x),
        "values": values,
        "failures": dict.fromkeys(names, "infeasible"),
    }


def test_an_infeasible_part_of_a_run_is_recorded_as_such(database: Database) -> None:
    objectives = [
        {"name": "drag"},
        {"name": "lift", "same_run_as": "drag"},
        {"name": "mass"},
    ]
    lab = Lab(database, objectives=objectives)
    lab.plan()
    one, other, third = lab.ask("drag", most=3)
    bring(lab, [infeasible(one, "lift", drag=1.0), infeasible(other, "drag")])
    assert lab.values() == [
        (1.0, None),
        (None, "infeasible"),
        (None, "infeasible"),
        (None, "infeasible"),
    ]
    assert (
        bring(
            lab, [infeasible(one, "lift", drag=1.0), infeasible(other, "drag")]
        ).unchanged
        == 2
    )
    ((_, words),) = faults(lab, [infeasible(third, "drag", lift=1.0)])
    assert (
        words
        == "lift comes out of the run of drag, which is infeasible here; leave one of them out"
    )
    assert len(lab.values()) == 4
    lab.check_counters()


def test_an_infeasible_point_overtakes_who_computes_it_and_explains_who_failed(
    database: Database,
) -> None:
    lab = Lab(database, max_attempts=1)
    lab.plan()
    one, other = lab.ask("crash", most=2)
    lab.fail(other, "error")
    rows = [infeasible(one, "crash"), infeasible(other, "crash")]
    assert bring(lab, rows).unchanged == 0
    assert [lab.job(job.job)["state"] for job in (one, other)] == ["failed", "failed"]
    assert lab.values() == [(None, "error"), (None, "infeasible"), (None, "infeasible")]
    assert [row["outcome"] for row in lab.rows(attempts)] == ["overtaken", "failed"]
    assert bring(lab, rows).unchanged == 2
    assert len(lab.values()) == 3
    lab.check_counters()
    # A finished simulation is never thrown away
    assert lab.tell(one, 2.0).state == "done"
    lab.check_counters()


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
    # Somebody has just measured what it will propose
    proposed = [complete(a, b) for a, b in early.full.tolist()]
    assert bring(lab, [*some(20), *proposed]).complete == 23
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


def test_a_design_prepared_before_an_import_is_not_committed(
    database: Database,
) -> None:
    lab = Lab(database)
    step = database.write(lambda connection: claim_step(connection, 60.0))
    assert step is not None
    early = compute_step(database, step)
    bring(lab, some(3))
    assert not commit_step(database, step, early)
    assert lab.plan() == 1
    assert lab.view().planned_full == 1


def test_every_step_is_computed_again_with_the_same_result(database: Database) -> None:
    """Whatever was imported when: before the design, while it ran, during the search."""
    lab = paused(database, initial_samples=10, budget=16)
    rows = some(40)
    bring(lab, rows[:3])
    resume(database, "wing")
    lab.plan()
    for number, job in enumerate(lab.ask(most=100)):
        lab.tell(job)
        bring(lab, rows[3 + number : 4 + number])
        lab.plan()
    lab.run_until(step=1)
    bring(lab, rows[30:])
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
    lab = paused(
        database,
        variables=variables,
        objectives=objectives,
        budget=50,
        initial_samples=3,
    )
    infeasible = {"x": {"a": 0, "b": 0}, "failures": {"mass": "infeasible"}}
    bring(
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
    lab = paused(database, variables=variables, budget=50, initial_samples=3)
    bring(
        lab,
        [row(a, b, crash=1.0 * a) for a, b in ((0, 0), (1, 1), (2, 2), (0, 3), (1, 0))],
    )
    resume(database, "wing")
    lab.run()
    found = lab.rows(samples)
    imported = {tuple(one["x"]) for one in found if one["imported_seq"]}
    assert len(imported) == 5
    assert any(not one["full"] for one in found)
    assert not imported & {tuple(one["x"]) for one in found if not one["imported_seq"]}


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
    assert bring(lab, [row(job.x["a"], job.x["b"], mass=5.0)]).unchanged == 1
    assert faults(lab, [row(job.x["a"], job.x["b"], mass=6.0)])
    told = bring(lab, [row(job.x["a"], job.x["b"], crash=1.0)])
    assert (told.complete, told.values_added) == (1, 0)
    lab.check_counters()
    assert bring(lab, [row(job.x["a"], job.x["b"], mass=5.0, crash=1.0)]).unchanged == 1


def test_a_stopped_study_takes_imports_and_gives_their_jobs_up(
    database: Database,
) -> None:
    lab = Lab(database)
    lab.plan()
    bring(lab, [row(0.5, 0.5)], evaluate=True)
    stop(database, "wing", cancel_running=False)
    assert (lab.view().planned_full, lab.view().imported) == (0, 1)
    lab.check_counters()
    assert bring(lab, some(2)).complete == 2
    assert lab.view().phase == "finished"
    extend(database, "wing", 11)
    view = lab.run()
    assert (view.phase, view.evaluated_full, view.imported) == ("finished", 11, 3)
    assert designs(lab) == [4, 2]
    lab.check_counters()


def test_jobs_that_are_imported_after_a_stop_are_not_cancelled(
    database: Database,
) -> None:
    lab = Lab(database)
    stop(database, "wing", cancel_running=True)
    bring(lab, [row(0.5, 0.5)], evaluate=True)
    (job,) = lab.ask("crash")
    assert not heartbeat(database, [job.lease])[0].cancel


def test_failed_jobs_of_imported_samples_can_be_retried(database: Database) -> None:
    lab = paused(database, max_attempts=1)
    bring(lab, [row(0.5, 0.5, mass=1.0)], evaluate=True)
    resume(database, "wing")
    lab.fail(lab.ask("crash")[0], "error")
    assert retry(database, "wing", None) == 1
    lab.check_counters()
    lab.tell(lab.ask("crash")[0])
    lab.check_counters()


def test_extending_a_study_whose_design_is_still_due_makes_no_second_one(
    database: Database,
) -> None:
    lab = Lab(database)
    extend(database, "wing", 12)
    assert lab.plan() == 1
    assert lab.view().planned_full == 4


def test_a_paused_study_can_be_filled_and_started(database: Database) -> None:
    lab = paused(database)
    assert lab.view().state == "paused"
    # The same specification again changes nothing
    assert Lab(database).view().state == "paused"
    pause(database, "wing")
    bring(lab, some(4))
    assert lab.plan() == 0
    resume(database, "wing")
    assert lab.run().phase == "finished"


def test_imported_points_and_values_are_kept_to_the_last_bit(
    database: Database,
) -> None:
    variables = [
        {"name": "a", "low": -1e300, "high": 1e300},
        {"name": "b", "low": 0, "high": 9, "type": "int"},
    ]
    lab = paused(database, variables=variables)
    rows = [
        row(a, 3.0, mass=0.1 + a % 1)
        for a in (1e23, 5e-324, 0.1 + 0.2, -1e300, 1e22 / 3)
    ]
    bring(lab, rows)
    kept = [one for _, one in list_samples(database, "wing", 0, 10, None)]
    assert [row(float(one.x["a"]), one.x["b"], **one.values) for one in kept] == rows
    assert all(one.step is None and one.full for one in kept)
    assert bring(lab, rows).unchanged == 5


@pytest.fixture
def sqlite_lab(sqlite_template: Path, tmp_path: Path) -> Iterator[Lab]:
    """Reading files needs no second database."""
    shutil.copy(sqlite_template, tmp_path / "counterpoise.db")
    database = Database(f"sqlite:///{tmp_path / 'counterpoise.db'}")
    yield Lab(database)
    database.close()


HEADER = "a,b,mass,crash\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("line 1", "the file is empty; its first line names the columns")]),
        ("a;b;mass\n0,5;1;2\n", [("line 1", "the columns are separated by a semicolon; separate them by commas")]),
        ("a\tb\n", [("line 1", "the columns are separated by a tab")]),
        ("a,b,mas\n", [("line 1, mas", "the study has no variable or objective 'mas'; did you mean 'mass'?")]),
        ("a,b,colour\n", [("line 1, colour", "'colour'; leave this column out")]),
        ("a,mass,mass\n", [("line 1, mass", "there are two such columns"), ("line 1", "there is no column 'b'")]),
        (HEADER + "0.1,0.2,1\n", [("line 2", "the row has 3 cells and the header 4")]),
        (HEADER + '"0,1",0.2,1,\n', [("line 2, a", "'0,1' is not a number; write decimals with a point")]),
        (HEADER + "\n0.1,,1,\n", [("line 3, b", "variable 'b' needs a value")]),
        (HEADER + "0.1,1.5,1,\n0.1,0.2,nan,\n", [("line 2, b", "1.5 is outside 0.0 to 1.0"), ("line 3, mass", "nan")]),
        (HEADER + "0.1,1e999,inf,\n", [("line 2, b", "inf is outside"), ("line 2, mass", "'inf' is not a number")]),
        (HEADER + "0.1,0.2,1e101,\n", [("line 2, mass", "a value lies within -1e+100 and 1e+100, not 1e+101")]),
        (HEADER + "0.1,0.2,1_000,١\n", [("line 2, mass", "'1_000' is not"), ("line 2, crash", "is not a number")]),
        (HEADER + '0.1,"0.2\n', [("line 2", "not CSV: unexpected end of data")]),
        ('a,"b\n0.1,0.2\n', [("line 1", "not CSV: unexpected end of data")]),
        (HEADER + '0.1,"0.2"3,1,\n', [("line 2", "not CSV")]),
    ],
)  # fmt: skip
def test_bad_csv_is_said_line_by_line(
    sqlite_lab: Lab, text: str, found: list[tuple[str, str]]
) -> None:
    check_faults(sqlite_lab, read_csv, text.encode(), found)


def test_text_in_another_encoding_is_said(sqlite_lab: Lab) -> None:
    check_faults(
        sqlite_lab,
        read_csv,
        (HEADER + "0.1,0.2,1,ü").encode("latin-1"),
        [("line 2", "this is not UTF-8 text")],
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", [("#", "not JSON")]),
        ('{"x": {}}', [("#", "must be a list of")]),
        ('{"items": 3}', [("#", "must be a list of")]),
        ("[3]", [("#/0", "must be an object such as")]),
        ('{"items": [{"y": 1}]}', [("#/items/0/y", "there is no such field; there are x, values, failures")]),
        ('[{"x": [1, 2]}]', [("#/0/x", "must be an object: name to value")]),
        ('[{"x": {"a": 0.5, "c": 1}}]', [("#/0/x/c", "the study has no variable 'c'")]),
        ('[{"x": {"a": 0.5, "b": 0}, "values": {"mas": 1}}]', [("#/0/values/mas", "'mas'; did you mean 'mass'?")]),
        ('[{"x": {"a": true, "b": NaN}}]', [("#/0/x/a", "True is not a number"), ("#/0/x/b", "nan is outside")]),
        ('[{"x": {"a": 0, "b": 0}, "values": {"mass": Infinity}}]', [("#/0/values/mass", "a value lies within")]),
        ('[{"x": {"a": 0.5}}, {"x": {"a": 0.5, "b": "0.5"}}]', [("#/0/x/b", "needs a value"), ("#/1/x/b", "'0.5' is")]),
        ('[{"x": {"a": 1%s, "b": 0}}]' % ("0" * 400), [("#/0/x/a", "is outside 0.0 to 1.0")]),
        ('[{"x": {"a": 0, "b": 0}, "failures": {"mass": "no"}}]', [("#/0/failures/mass", "'no' is no kind")]),
        ('[{"x": {"a": 0, "b": 0}, "failures": {"mass": [1]}}]', [("#/0/failures/mass", "[1] is no kind of failure")]),
        ('[{"x": {"\\ud800": 1}}]', [("#/0/x/?", "the study has no variable")]),
        ("[" * 100_000, [("#", "not JSON")]),
    ],
)  # fmt: skip
def test_bad_json_is_said_by_pointer(
    sqlite_lab: Lab, text: str, found: list[tuple[str, str]]
) -> None:
    check_faults(sqlite_lab, read_json, text.encode(), found)


def test_integers_are_whole(sqlite_lab: Lab) -> None:
    lab = Lab(
        sqlite_lab.database,
        name="ribs",
        variables=[{"name": "a", "type": "int", "low": 1, "high": 5}],
    )
    found = [
        ("line 2, a", "'a' is an integer, 2.5 is not"),
        ("line 3, a", "6.0 is outside 1.0 to 5.0"),
    ]
    check_faults(lab, read_csv, b"a,mass\n2.5,1\n6,1\n3.0,1\n", found)


def check_faults(
    lab: Lab, reader: Any, content: bytes, found: list[tuple[str, str]]
) -> None:
    with pytest.raises(ImportInvalid) as caught:
        import_evaluations(
            lab.database,
            lab.name,
            lambda spec: reader(spec, content),
            evaluate=False,
            dry_run=False,
        )
    said = [(fault.pointer, fault.detail) for fault in caught.value.faults]
    assert [place for place, _ in said] == [place for place, _ in found]
    for (_, words), (_, wanted) in zip(said, found, strict=True):
        assert wanted in words
