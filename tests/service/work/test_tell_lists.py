"""A list of tells has the same effect as its tells one by one: which tells arrive
together is chance.
"""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table

from app.service.work import tell as telling
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import (
    attempts,
    events,
    jobs,
    objectives,
    sample_values,
    samples,
    steps,
    studies,
    workers,
)
from app.store.work.apply_changes import apply_all
from counterpoise.wire.work import Failure, Job, Tell
from tests.service.lab import Lab, also_of

TABLES = (
    studies,
    objectives,
    steps,
    samples,
    jobs,
    attempts,
    sample_values,
    events,
    workers,
)
RUNS = [
    {"name": "mass", "evaluation_time_s": 1.0},
    {"name": "crash", "evaluation_time_s": 3.0},
    {"name": "lift", "same_run_as": "crash"},
]


def tell_of(job: Job, rng: random.Random) -> Tell:
    words: dict[str, Any] = {
        "job": job.job,
        "lease": job.lease,
        "duration_s": rng.choice([0.1, 1.0, 9.0]),
    }
    if rng.random() < 0.2:
        kind = rng.choice(["infeasible", "error", "infrastructure"])
        return Tell(
            **words,
            failure=Failure(kind=kind, message=rng.choice(["", "NULL", '{"a\\', "ä"])),
        )
    also = {name: rng.random() for name in job.also if rng.random() < 0.8}
    return Tell(**words, value=rng.choice([rng.random(), 1e100, 5e-324]), also=also)


def rows(lab: Lab, table: Table) -> list[dict[str, Any]]:
    """Without times.

    Steps without their ids, study by study: between studies there is no order.
    """
    left_out = {"at", "busy_s", *(["id"] if table is steps else [])}
    found = []
    for row in lab.rows(table):
        kept = {
            name: value
            for name, value in row.items()
            if name not in left_out and not name.endswith("_at")
        }
        found.append(kept)
    return sorted(found, key=lambda row: row["study_id"]) if table is steps else found


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_list_over_studies_leaves_what_its_tells_one_by_one_would(
    sqlite_template: Path, tmp_path: Path, seed: int
) -> None:
    """Streams and the first search step become due in its middle; others of its studies
    have nothing due.
    """
    rng = random.Random(seed)  # noqa: S311
    both = [tmp_path / "list.db", tmp_path / "single.db"]
    shutil.copy(sqlite_template, both[0])
    database = Database(f"sqlite:///{both[0]}")
    labs = [
        Lab(database),
        Lab(
            database,
            name="car",
            initial_samples=40,
            budget=50,
            max_attempts=1,
            objectives=RUNS,
        ),
    ]
    labs.append(
        Lab(database, name="measured", objectives=[{"name": "mass"}, {"name": "crash"}])
    )
    labs[0].plan()
    held = labs[0].ask(most=60) + labs[2].ask(most=60, worker="other")
    held += labs[1].ask("mass", most=25) + labs[1].ask("crash", most=5)
    labs[0].expire(*rng.sample(held, 5))
    labs[0].end_backoffs()
    held += labs[0].ask(most=2)  # some jobs are spoken of twice
    database.close()
    shutil.copy(*both)
    words = [tell_of(job, rng) for job in rng.sample(held, len(held))]
    left: list[dict[str, Any]] = []
    for file, lists in zip(both, ([words], [[word] for word in words]), strict=True):
        labs[0].database = Database(f"sqlite:///{file}")
        answers = []
        for tells in lists:
            answers += tell(labs[0].database, tells)
        left.append(
            {"answers": answers}
            | {table.name: rows(labs[0], table) for table in TABLES}
        )
        labs[0].database.close()
    assert {step["kind"] for step in left[0]["steps"]} == {
        "initial",
        "stream",
        "search",
    }
    for name in left[0]:
        assert left[0][name] == left[1][name], name


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_is_split_only_where_a_step_becomes_due(
    database: Database, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    """Applied one by one, each tell would be as many statements as the whole list."""
    rounds: list[int] = []

    def counted(connection: Any, parts: Any) -> None:
        rounds.append(len(parts))
        apply_all(connection, parts)

    monkeypatch.setattr(telling, "apply_all", counted)
    lab = Lab(database, objectives=RUNS)
    lab.run_until(1)
    held = lab.ask(most=60)[::order]
    full = [job for job in held if job.objective == "crash"]
    assert full
    assert len(held) > len(full) + len(lab.rows(steps))
    rounds.clear()
    tells = [lab.tell_of(job, also=also_of(job)) for job in held]
    assert all(told.status == 200 for told in tell(database, tells))
    # With the full samples first, the step is due in the middle; with them last, at the
    # end.
    assert len(rounds) == (2 if order == 1 else 1)
    assert [step["number"] for step in lab.rows(steps) if step["kind"] == "search"] == [
        1,
        2,
    ]


@pytest.mark.parametrize("as_list", [True, False])
def test_a_repeated_tell_is_recorded_before_later_tells(
    database: Database, as_list: bool
) -> None:
    lab = Lab(database)
    lab.run_until(1)
    held = lab.ask(most=60)
    old = next(job for job in held if lab.job(job.job)["cheap_only"])
    full = [job for job in held if not lab.job(job.job)["cheap_only"]]
    lab.expire(old)
    lab.end_backoffs()
    (new,) = [job for job in lab.ask(most=5, worker="other") if job.job == old.job]
    *others, last = full
    tell(database, [lab.tell_of(job) for job in others])
    failed = Tell(job=old.job, lease=old.lease, failure=Failure(kind="error"))
    words = [failed, lab.tell_of(new), lab.tell_of(last)]
    for part in [words] if as_list else [[word] for word in words]:
        assert all(told.status == 200 for told in tell(database, part))
    *_, step = (step for step in lab.rows(steps) if step["kind"] == "search")
    assert step["number"] == 2
    cheap = lab.job(old.job)
    (value,) = (
        row for row in lab.rows(sample_values) if row["sample_id"] == cheap["sample_id"]
    )
    assert value["seq"] <= step["due_seq"]
