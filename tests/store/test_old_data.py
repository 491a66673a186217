"""A database that the first version wrote, its studies in every state: it upgrades, and
every study goes on.

`written_by_0001.json` was written by `tests/store/eventful.py` of commit b1d9b53, run
with the code of commit ee1d5c7, the last one whose newest migration is 0001.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, MetaData, text

from app.service.files.export import export
from app.service.planning.replay import replay
from app.service.planning.versions import versions
from app.service.studies.lifecycle import extend, resume
from app.service.work.expire import clean_up, expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import attempts, metadata, sample_values
from app.store.upgrade import drift, head, migration_config, upgrade
from counterpoise.wire.work import Tell
from tests.service.lab import Lab
from tests.store.table_rows import rows_of

SMALL: dict[str, Any] = {
    "budget": 8,
    "batch_size": 2,
    "generations": 3,
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 3.0},
    ],
}
# All that a study could declare then: a log scale, integers, two values of one run, a
# maximised objective.
RICH: dict[str, Any] = {
    **SMALL,
    "variables": [
        {"name": "a", "low": 0.01, "high": 1.0, "scale": "log"},
        {"name": "b", "type": "int", "low": 0, "high": 12},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {
            "name": "crash",
            "evaluation_time_s": 3.0,
            "unit": "N",
            "lease_s": 120,
            "timeout_s": 3600,
        },
        {"name": "lift", "direction": "maximize", "same_run_as": "crash"},
    ],
}
FILE = json.loads(Path(__file__).with_name("written_by_0001.json").read_text())
VERSIONS = FILE.pop("versions")
Rows = list[dict[str, Any]]
RENAMED = {"pulse": "server_uptime"}  # tables, by their first name
OLD: dict[str, Rows] = {
    name: [dict(zip(columns, row, strict=True)) for row in rows]
    for name, (columns, *rows) in FILE.items()
}
STUDIES = {row["name"]: row["id"] for row in OLD["studies"]}
SPECS = {name: RICH if name in ("searching", "fresh") else SMALL for name in STUDIES}


@pytest.fixture
def upgraded(empty_url: str) -> Iterator[Database]:
    """The database of the first version, after its upgrade."""
    database = Database(empty_url)
    database.migrate(
        lambda connection: command.upgrade(migration_config(connection), "0001")
    )
    database.write(fill)
    assert upgrade(database) == ("0001", head())
    yield database
    database.close()


def fill(connection: Connection) -> None:
    tables = MetaData()
    tables.reflect(connection)
    for name, rows in OLD.items():
        connection.execute(tables.tables[name].insert(), rows)
        if (
            connection.dialect.name == "postgresql"
            and "id" in rows[0]
            and name != "pulse"
        ):
            # As pg_restore does: rows that bring their numbers along do not move the
            # counter.
            connection.execute(
                text(f"SELECT setval('{name}_id_seq', (SELECT max(id) FROM {name}))")  # noqa: S608
            )


def test_the_file_has_every_state_there_is() -> None:
    def seen(table: str, *columns: str) -> set[Any]:
        return {
            tuple(row[column] for column in columns) if columns[1:] else row[columns[0]]
            for row in OLD[table]
        }

    assert seen("studies", "phase") == {"initial", "search", "finished"}
    assert seen("studies", "state") == {"active", "paused"}
    assert seen("jobs", "state") == {"ready", "leased", "done", "failed", "superseded"}
    assert seen("attempts", "outcome") == {
        None,
        "done",
        "failed",
        "expired",
        "released",
        "late",
        "duplicate",
    }
    assert seen("steps", "kind", "state") >= {
        (kind, "due") for kind in ("initial", "stream", "search")
    }
    assert seen("steps", "kind", "state") >= {
        (kind, "done") for kind in ("initial", "stream", "search", "closing")
    }
    assert seen("samples", "full") == {True, False}
    assert {row["study_id"] for row in OLD["jobs"] if row["state"] == "leased"} >= {
        2,
        3,
        4,
        5,
        6,
    }
    assert any(row["claim"] for row in OLD["steps"])


ENDINGS = {
    None: None,
    "the budget is used up": "budget_used",
    "it was stopped": "stopped",
}


def is_infeasible(job: dict[str, Any]) -> bool:
    """Whether the last result of a failed job is that its point is infeasible."""
    results = [
        row["failure"]
        for row in OLD["sample_values"]
        if (row["sample_id"], row["objective_id"])
        == (job["sample_id"], job["objective_id"])
    ]
    return bool(job["state"] == "failed" and results[-1] == "infeasible")


INFEASIBLE = [row for row in OLD["jobs"] if is_infeasible(row)]


def converted(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row as the newest schema has it."""
    if name == "studies":
        return row | {"ending": ENDINGS[row["ending"]]}
    if name == "jobs" and row in INFEASIBLE:
        return row | {"state": "infeasible"}
    if name == "objectives":
        run = row["same_run_as"] or row["id"]
        infeasible = sum(job["objective_id"] == run for job in INFEASIBLE)
        return row | {"failed": row["failed"] - infeasible}
    return row


def test_an_upgrade_keeps_what_was_there(upgraded: Database) -> None:
    assert drift(upgraded) == []
    assert INFEASIBLE
    for name, rows in OLD.items():
        now = rows_of(upgraded, metadata.tables[RENAMED.get(name, name)])
        kept = [{column: row[column] for column in rows[0]} for row in now]
        assert kept == [converted(name, row) for row in rows]
    samples = rows_of(upgraded, metadata.tables["samples"])
    infeasible = {row["id"] for row in samples if row["infeasible"]}
    assert infeasible == {job["sample_id"] for job in INFEASIBLE}


def exported(database: Database, study: str, what: Any) -> Rows:
    items: Rows = json.loads("".join(export(database, study, what, "json")))["items"]
    return items


def test_exports_are_what_was_in_it(upgraded: Database) -> None:
    objectives = {row["id"]: row["name"] for row in OLD["objectives"]}
    workers = {row["id"]: row["name"] for row in OLD["workers"]}
    for study, number in STUDIES.items():
        samples = {
            row["id"]: row for row in OLD["samples"] if row["study_id"] == number
        }
        told: dict[int, dict[str, float | None]] = {sample: {} for sample in samples}
        for row in OLD["sample_values"]:
            if row["study_id"] == number and row["value"] is not None:
                told[row["sample_id"]][objectives[row["objective_id"]]] = row["value"]
        found = exported(upgraded, study, "samples")
        assert [
            (one["sample"], one["full"], list(one["x"].values()), one["values"])
            for one in found
        ] == [
            (sample, row["full"], row["x"], told[sample])
            for sample, row in samples.items()
        ]
        jobs = {
            row["id"]: converted("jobs", row)
            for row in OLD["jobs"]
            if row["study_id"] == number
        }
        ended = {
            (
                row["job_id"],
                jobs[row["job_id"]]["state"],
                workers[row["worker_id"]],
                row["outcome"],
                row["value"],
            )
            for row in OLD["attempts"]
            if row["job_id"] in jobs
        }
        never = {
            (job, row["state"], None, None, None)
            for job, row in jobs.items()
            if row["attempts"] == 0
        }
        items = exported(upgraded, study, "jobs")
        assert {
            tuple(one[key] for key in ("job", "state", "worker", "outcome", "value"))
            for one in items
        } == (ended | never)
        records = [row["record"] for row in OLD["steps"] if row["study_id"] == number]
        assert [one["record"] for one in exported(upgraded, study, "steps")] == records


@pytest.mark.slow_on("postgresql")
def test_every_study_goes_on_to_its_end(upgraded: Database) -> None:
    # And the server records that it is up
    labs = {name: Lab(upgraded, name=name, **SPECS[name]) for name in STUDIES}
    running = [row for row in OLD["attempts"] if row["outcome"] is None]
    assert expire_leases(upgraded) == 0
    assert all(
        one.expires_at for one in heartbeat(upgraded, [row["lease"] for row in running])
    )
    lifts = {
        row["id"]
        for row in OLD["objectives"]
        if row["name"] == "crash" and row["study_id"] == STUDIES["searching"]
    }
    jobs = {row["id"]: row for row in OLD["jobs"]}
    for row in running:
        also = {"lift": 0.25} if jobs[row["job_id"]]["objective_id"] in lifts else {}
        (answer,) = tell(
            upgraded,
            [Tell(job=row["job_id"], lease=row["lease"], value=0.5, also=also)],
        )
        assert answer.status == 200
    after = {row["lease"]: row for row in rows_of(upgraded, attempts)}
    assert {
        (after[row["lease"]]["outcome"], after[row["lease"]]["value"])
        for row in running
    } == {("done", 0.5)}

    clean_up(upgraded)
    resume(upgraded, "paused")
    for name in ("finished", "stopped"):
        extend(upgraded, name, 10)
    for lab in labs.values():
        assert lab.run().phase == "finished"
        assert lab.view().evaluated_full == lab.view().budget
        lab.check_counters()
    now = rows_of(upgraded, sample_values)
    assert [row for row in now if row in OLD["sample_values"]] == OLD["sample_values"]
    assert_replays(upgraded)


def assert_replays(database: Database) -> None:
    before = {
        (row["study_id"], row["kind"], row["number"])
        for row in OLD["steps"]
        if row["state"] == "done"
    }
    for study, number in STUDIES.items():
        for one in replay(database, study, None):
            kind, _, last = one.step.partition(":")
            of_old = (number, kind, int(last.rpartition(":")[2] or 0)) in before
            assert one.samples == one.proposed_now, one
            # Another processor, or another library, may compute another last bit of
            # what was computed elsewhere.
            assert one.equal or (of_old and versions() != VERSIONS), one
