"""Insert jobs of samples, and count them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Integer, update

from app.domain.studies import CoObjectives
from app.store.sql.bulk import bulk_insert, bulk_update
from app.store.tables import jobs, objectives, samples
from counterpoise.wire.codes import JobState

NO_WAITING_RUNS: Mapping[int, Collection[int]] = MappingProxyType({})


def add_jobs(
    connection: Connection,
    study: int,
    wanted: Mapping[int, Sequence[int]],
    co_objectives: CoObjectives,
    *,
    number: int = 0,
    cheap_only: bool = False,
    ruled_out: Collection[int] = (),
    waiting: Mapping[int, Collection[int]] = NO_WAITING_RUNS,
) -> None:
    """Ready jobs of existing samples: sample -> objectives.

    `number`: that of the search step that wants them. `ruled_out`: samples whose jobs
    are superseded from the beginning. `waiting`: sample -> objectives whose jobs wait.
    """
    opened = [
        {
            "sample": sample,
            "opened": outputs_of(runs, co_objectives),
            "held_back": outputs_of(list(waiting.get(sample, ())), co_objectives),
        }
        for sample, runs in sorted(wanted.items())
        if sample not in ruled_out
    ]
    _OPEN_SAMPLE.execute(connection, opened)
    rows: list[dict[str, Any]] = []
    for sample, runs in wanted.items():
        shared: dict[str, Any] = {
            "study_id": study,
            "sample_id": sample,
            "cheap_only": cheap_only,
            "step": number,
            "state": JobState.SUPERSEDED if sample in ruled_out else JobState.READY,
        }
        waiting_runs = waiting.get(sample, ())
        for run in runs:
            state = {"state": JobState.WAITING} if run in waiting_runs else {}
            rows.append(shared | {"objective_id": run} | state)
    insert_jobs(connection, rows, co_objectives)


_OPEN_SAMPLE = bulk_update(
    {"sample": samples.c.id.type, "opened": Integer(), "held_back": Integer()},
    lambda given: (
        update(samples)
        .where(samples.c.id == given["sample"])
        .values(
            open=samples.c.open + given["opened"],
            waiting=samples.c.waiting + given["held_back"],
        )
    ),
)


def insert_jobs(
    connection: Connection,
    rows: Sequence[Mapping[str, Any]],
    co_objectives: CoObjectives,
) -> None:
    _INSERT_JOBS.execute(connection, rows)
    created = Counter(row["objective_id"] for row in rows)
    created_full = Counter(row["objective_id"] for row in rows if not row["cheap_only"])
    waiting = Counter(
        row["objective_id"] for row in rows if row["state"] is JobState.WAITING
    )
    superseded = Counter(
        row["objective_id"] for row in rows if row["state"] is JobState.SUPERSEDED
    )
    for objective in list(created):
        for co_objective in co_objectives.get(objective, ()):
            created[co_objective] += created[objective]
            superseded[co_objective] += superseded[objective]
    counts = [
        {
            "objective": objective,
            "more": created[objective],
            "more_full": created_full[objective],
            "more_waiting": waiting[objective],
            "more_superseded": superseded[objective],
        }
        for objective in sorted(created)
    ]
    _COUNT_JOBS.execute(connection, counts)


_INSERT_JOBS = bulk_insert(
    jobs, ("study_id", "objective_id", "sample_id", "cheap_only", "step", "state"), {}
)
_COUNT_JOBS = bulk_update(
    {
        "objective": objectives.c.id.type,
        "more": Integer(),
        "more_full": Integer(),
        "more_waiting": Integer(),
        "more_superseded": Integer(),
    },
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["objective"])
        .values(
            created=objectives.c.created + given["more"],
            open_full=objectives.c.open_full + given["more_full"],
            waiting=objectives.c.waiting + given["more_waiting"],
            superseded=objectives.c.superseded + given["more_superseded"],
        )
    ),
)


def outputs_of(runs: Sequence[int], co_objectives: CoObjectives) -> int:
    """How many outputs these runs have."""
    return sum(1 + len(co_objectives.get(run, ())) for run in runs)
