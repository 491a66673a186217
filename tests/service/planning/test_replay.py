"""Replay: every kind of step is the same again, whatever happened since; what was
changed is found.
"""

from typing import Any

import pytest
from sqlalchemy import update

from app.errors import RequestRefused, StudyUnknown
from app.service.planning.replay import Replayed, replay
from app.service.studies.lifecycle import extend, resume, retry, stop
from app.store.database import Database
from app.store.tables import jobs, samples, steps
from tests.service.files.imports.import_rows import complete_row, import_rows, row
from tests.service.lab import Lab

SMALL: dict[str, Any] = {
    "budget": 8,
    "batch_size": 2,
    "generations": 3,
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 15.0},
    ],
}


@pytest.fixture
def lab(database: Database) -> Lab:
    return Lab(database, **SMALL)


def stream(lab: Lab) -> None:
    """Two generations of the cheap objective's stream, while no worker evaluates the other
    one.
    """
    for _ in range(2):
        assert lab.plan()
        tell_cheap(lab)
    assert lab.plan()


def tell_cheap(lab: Lab) -> None:
    for job in lab.ask("mass", most=100):
        lab.tell(job)


def replayed(lab: Lab, step: str | None = None) -> dict[str, Replayed]:
    return {each.step: each for each in replay(lab.database, lab.name, step)}


def differing(found: dict[str, Replayed]) -> list[Replayed]:
    return [step for step in found.values() if not step.equal]


def kinds(found: dict[str, Replayed]) -> set[str]:
    return {name.partition(":")[0] for name in found}


def test_every_kind_of_step_is_the_same_again(lab: Lab) -> None:
    stream(lab)
    lab.run()
    found = replayed(lab)
    assert kinds(found) == {"initial", "stream", "search", "closing"}
    assert differing(found) == []
    assert {one.largest_distance for one in found.values()} == {0.0, None}
    assert sum(one.samples for one in found.values()) == len(lab.rows(samples))
    assert all(
        one.samples == one.equal_samples == one.proposed_now for one in found.values()
    )
    assert found["initial"].samples == 4
    assert found["closing:8"].samples == 0
    assert all(one.versions == {} for one in found.values())


def test_what_came_later_changes_no_replay(lab: Lab) -> None:
    """A failure with a later retry, values of the stream during the search and of the
    end after it, an extension.
    """
    stream(lab)
    (failing,) = lab.ask("crash")
    (slow,) = lab.ask("mass")
    assert lab.fail(failing, "infeasible").status == 200
    lab.run_until(2)
    assert lab.tell(slow).status == 200
    assert retry(lab.database, lab.name, ["crash"], infeasible=True) == 1
    held = lab.ask(most=2)
    stop(lab.database, lab.name, cancel_running=False)
    for job in held:
        lab.tell(job)
    extend(lab.database, lab.name, 12)
    lab.run()
    found = replayed(lab)
    assert kinds(found) == {"initial", "stream", "search", "closing"}
    assert differing(found) == []


def test_a_second_design_has_a_name_of_its_own(lab: Lab) -> None:
    lab.plan()
    stop(lab.database, lab.name, cancel_running=False)
    extend(lab.database, lab.name, 12)
    lab.run()
    found = replayed(lab)
    assert {"initial", "initial:1"} <= set(found)
    assert differing(found) == []


def test_imports_before_during_and_after_change_no_replay(database: Database) -> None:
    """A step reads what was known when it became due: what was imported before that,
    and nothing after.
    """
    lab = Lab(database, paused=True, **SMALL)
    import_rows(lab, [complete_row(0.3, 0.6), row(0.9, 0.1, mass=1.0)])
    resume(database, lab.name)
    lab.plan()
    tell_cheap(lab)  # which makes a generation due, though none is planned yet
    import_rows(lab, [complete_row(0.2, 0.7)])
    assert lab.plan() == 1
    lab.run_until(1)
    import_rows(lab, [complete_row(0.1, 0.8), row(0.25, 0.5, crash=2.0)], evaluate=True)
    lab.run()
    import_rows(lab, [complete_row(0.5, 0.5)])
    found = replayed(lab)
    assert kinds(found) == {"initial", "stream", "search", "closing"}
    assert differing(found) == []
    assert sum(one.samples for one in found.values()) == len(lab.rows(samples)) - 6


def change(lab: Lab, statement: Any) -> None:
    lab.database.write(lambda connection: connection.execute(statement))


def test_a_changed_sample_is_found_with_its_distance(lab: Lab) -> None:
    lab.run()
    step = next(
        row for row in lab.rows(steps) if row["kind"] == "search" and row["number"] == 1
    )
    first = next(
        row for row in lab.rows(samples) if row["step_id"] == step["id"] and row["full"]
    )
    a, b = first["x"]
    moved = a - 0.25 if a > 0.5 else a + 0.25  # both variables go from 0 to 1
    change(lab, update(samples).where(samples.c.id == first["id"]).values(x=[moved, b]))
    (found,) = replayed(lab, "search:1").values()
    assert not found.equal
    assert found.equal_samples == found.samples - 1
    assert found.largest_distance == pytest.approx(0.25, abs=1e-12)


def test_the_smallest_change_is_found(lab: Lab) -> None:
    lab.plan()
    first = lab.rows(samples)[0]
    a, b = first["x"]
    change(
        lab,
        update(samples)
        .where(samples.c.id == first["id"])
        .values(x=[a + 2.0**-53 * (1 if a < 0.5 else -1), b]),
    )
    (found,) = replayed(lab, "initial").values()
    assert (found.equal, found.equal_samples) == (False, 3)


def test_an_objective_that_was_not_asked_for_is_found(lab: Lab) -> None:
    lab.plan()
    job = lab.rows(jobs)[0]
    change(lab, jobs.delete().where(jobs.c.id == job["id"]))
    (found,) = replayed(lab, "initial").values()
    assert (found.equal, found.equal_samples, found.largest_distance) == (False, 3, 0.0)


def test_a_missing_full_sample_does_not_shift_the_cheap_only_ones(
    lab: Lab,
) -> None:
    lab.run()
    step = next(
        row for row in lab.rows(steps) if row["kind"] == "search" and row["number"] == 1
    )
    mine = [row for row in lab.rows(samples) if row["step_id"] == step["id"]]
    last = [row for row in mine if row["full"]][-1]
    change(lab, samples.delete().where(samples.c.id == last["id"]))
    (found,) = replayed(lab, "search:1").values()
    assert (found.equal, found.samples, found.proposed_now) == (
        False,
        len(mine) - 1,
        len(mine),
    )
    assert found.equal_samples == len(mine) - 1


def test_a_changed_value_is_found_by_the_closing_step_that_proposes_nothing(
    lab: Lab,
) -> None:
    lab.run()
    record = next(row["record"] for row in lab.rows(steps) if row["kind"] == "closing")
    was = record["hypervolume"]["value"]
    other = {**record, "hypervolume": {**record["hypervolume"], "value": was * 2}}
    change(lab, update(steps).where(steps.c.kind == "closing").values(record=other))
    (found,) = replayed(lab, "closing:8").values()
    assert not found.equal
    assert found.faults == [f"the hypervolume was {was * 2!r} and is now {was!r}"]


def test_another_version_is_reported_then_and_now(lab: Lab) -> None:
    lab.plan()
    (step,) = lab.rows(steps)
    said = step["record"]["versions"]
    assert {
        "python",
        "numpy",
        "scipy",
        "scikit-learn",
        "moocore",
        "counterpoise",
        "blas",
    } == set(said)
    assert "threads: " in said["blas"]
    then = {**said, "numpy": "1.0.0", "fftw": "3"}
    del then["blas"]
    change(lab, update(steps).values(record={**step["record"], "versions": then}))
    (found,) = replayed(lab, "initial").values()
    assert found.equal
    assert found.versions == {
        "numpy": ("1.0.0", said["numpy"]),
        "fftw": ("3", "not recorded"),
        "blas": ("not recorded", said["blas"]),
    }


def test_data_that_break_the_computation_are_a_finding(lab: Lab) -> None:
    lab.run_until(1)
    change(
        lab, update(steps).where(steps.c.kind == "search").values(inputs={"size": 2})
    )
    (found,) = replayed(lab, "search:1").values()
    assert not found.equal
    (fault,) = found.faults
    assert fault.startswith("computing it again failed: ValueError")
    assert "`settled`" in fault


def test_an_unknown_or_due_step_is_refused_with_a_reason(lab: Lab) -> None:
    with pytest.raises(
        RequestRefused, match="step initial of study 'wing' is due, not done"
    ):
        replayed(lab, "initial")
    lab.plan()
    with pytest.raises(
        RequestRefused, match=r"has no step 'initail'; did you mean 'initial'\?"
    ):
        replayed(lab, "initail")
    with pytest.raises(
        RequestRefused, match="has no step '12'; the last one done is initial"
    ):
        replayed(lab, "12")
    with pytest.raises(StudyUnknown, match="did you mean 'wing'"):
        list(replay(lab.database, "wign", None))
