"""Leasing and settling must cost the same at any size: their plans may neither scan nor sort the jobs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, text
from sqlalchemy.sql import Executable

from app.store.database import Database
from app.store.tables import jobs
from app.store.transitions import Told, lease, settle, take_heads
from tests.store.small_study import SmallStudy


@pytest.fixture
def study(database: Database) -> SmallStudy:
    """Enough jobs, and fresh statistics, that a planner that could scan would think twice."""
    study = SmallStudy(database, budget=10_000)
    study.add_full(3000)
    study.add_cheap_only(3000)
    database.write(lambda connection: connection.execute(text("ANALYZE")))
    return study


def sqlite_plan(connection: Connection, statement: str) -> list[str]:
    return [str(row.detail) for row in connection.execute(text(f"EXPLAIN QUERY PLAN {statement}"))]


def postgresql_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from postgresql_nodes(child)


def faults(connection: Connection, statement: Executable) -> list[str]:
    """What in the plan of this statement grows with the number of jobs."""
    sql = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))  # type: ignore[attr-defined]
    if connection.dialect.name == "sqlite":
        plan = sqlite_plan(connection, sql)
        return [line for line in plan if line.startswith("SCAN jobs") or "TEMP B-TREE FOR ORDER" in line]
    rows = connection.execute(text(f"EXPLAIN (FORMAT JSON) {sql}")).scalar_one()
    tree = rows if isinstance(rows, list) else json.loads(rows)
    nodes = list(postgresql_nodes(tree[0]["Plan"]))
    return [
        node["Node Type"]
        for node in nodes
        if (node["Node Type"] == "Seq Scan" and node.get("Relation Name") == "jobs") or node["Node Type"] == "Sort"
    ]


@pytest.mark.parametrize("limit", [1, 16])
def test_leasing_seeks_each_queues_head(study: SmallStudy, limit: int) -> None:
    def plan(connection: Connection) -> list[str]:
        return faults(connection, take_heads(list(study.queues.values()), limit))

    assert study.database.write(plan) == []


def test_the_test_would_notice_a_sort_over_all_ready_jobs(study: SmallStudy) -> None:
    """The query that must not be written: one order over several queues."""
    bad = (
        select(jobs.c.id)
        .where(jobs.c.objective_id.in_(study.queues.values()))
        .order_by(jobs.c.cheap_only, jobs.c.id)
        .limit(1)
    )
    with study.database.read() as connection:
        assert faults(connection, bad) != []


def test_leased_jobs_are_counted_by_index(study: SmallStudy) -> None:
    mass = study.queues["mass"]
    with study.database.read() as connection:
        assert (
            faults(connection, select(func.count()).where(jobs.c.objective_id == mass, jobs.c.state == "leased")) == []
        )
        due = select(jobs.c.id).where(jobs.c.state == "leased", jobs.c.expires_at < 1.0)
        assert faults(connection, due) == []
        ripe = select(jobs.c.id).where(jobs.c.state == "ready", jobs.c.ready_at.is_not(None), jobs.c.ready_at < 1.0)
        assert faults(connection, ripe) == []


def test_the_number_of_statements_does_not_grow_with_the_batch(study: SmallStudy) -> None:
    from sqlalchemy import event

    def count(size: int) -> int:
        statements: list[str] = []

        def work(connection: Connection) -> None:
            event.listen(connection, "before_cursor_execute", lambda *args: statements.append(args[2]))
            leases = lease(connection, list(study.queues.values()), study.worker, size)
            assert len(leases) == size
            settle(connection, [Told(one.job, one.lease, value=1.0) for one in leases])

        study.database.write(work)
        return len(statements)

    assert count(64) == count(2) <= 12
