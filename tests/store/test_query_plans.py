"""Leasing and settling must cost the same at any size: their plans may neither scan nor
sort the jobs.
"""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import (
    BindParameter,
    Connection,
    Table,
    bindparam,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql.asyncpg import dialect as numbered_parameters
from sqlalchemy.dialects.postgresql.psycopg import dialect as psycopg_dialect
from sqlalchemy.sql import ClauseElement

from app.store.database import Database
from app.store.monitoring.attempts import BEGUN_FROM, RUNNING_AT
from app.store.sql.in_array import in_array
from app.store.studies.points import SAMPLES_AT
from app.store.tables import (
    LEASED,
    READY,
    attempts,
    jobs,
    metadata,
    sample_values,
    samples,
    steps,
)
from app.store.work.apply_changes import WRITE
from app.store.work.attempt_counts import COUNT_ATTEMPTS
from app.store.work.lease_deadlines import PAST_AND_KEPT
from app.store.work.lease_queue import (
    ANY_HEAD_POSTGRESQL,
    ANY_HEAD_SQLITE,
    TAKE_HEADS_POSTGRESQL,
    TAKE_HEADS_SQLITE,
)
from app.store.work.row_locks import (
    LOCK_JOBS_OF_LEASES,
    LOCK_STUDIES_OF_LEASES,
    READY_JOBS,
)
from tests.store.small_study import SmallStudy


@pytest.fixture
def study(database: Database) -> SmallStudy:
    """Enough jobs, and fresh statistics, that a planner that could scan would think
    twice.
    """
    study = SmallStudy(database, budget=10_000)
    study.add_full(3000)
    study.add_cheap_only(3000)

    def spread_over_steps(connection: Connection) -> None:
        row = {
            "study_id": study.id,
            "kind": "search",
            "due_seq": 0,
            "due_at": 0.0,
            "inputs": {},
        }
        connection.execute(
            insert(steps), [{**row, "number": number} for number in range(100)]
        )
        first = connection.execute(select(func.min(steps.c.id))).scalar_one()
        connection.execute(update(samples).values(step_id=first + samples.c.id % 100))
        connection.execute(text("ANALYZE"))

    database.write(spread_over_steps)
    return study


def faults(connection: Connection, statement: ClauseElement) -> list[str]:
    """What in the plan of this statement, made for any parameters, grows with the
    number of rows.
    """
    if connection.dialect.name == "sqlite":
        compiled = statement.compile(
            connection, compile_kwargs={"render_postcompile": True}
        )
        names = compiled.positiontup or []  # type: ignore[attr-defined]
        parameters = tuple(compiled.params[name] for name in names)
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", parameters)
        plan = [str(row.detail) for row in rows]
        scans = [
            line
            for line in plan
            if line.startswith("SCAN") and line.split()[1] in {*metadata.tables, "job"}
        ]
        # This index holds nothing but what is due.
        return [
            line for line in scans if line != "SCAN steps USING INDEX ix_steps_due"
        ] + [line for line in plan if "TEMP B-TREE FOR ORDER" in line]
    (tree,) = generic_plan(connection, statement)
    nodes = postgresql_nodes(tree["Plan"])
    return [
        node["Node Type"]
        for node in nodes
        if node["Node Type"] in ("Seq Scan", "Sort") and big(node)
    ]


def generic_plan(
    connection: Connection, statement: ClauseElement
) -> list[dict[str, Any]]:
    dialect = numbered_parameters()  # type: ignore[no-untyped-call]
    generic = str(statement.compile(dialect=dialect))
    driver = connection.connection.driver_connection
    assert driver is not None
    cursor = driver.cursor()
    cursor.execute(
        f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {generic}".replace("%", "%%").encode()
    )
    (tree,) = cursor.fetchone()
    plan: list[dict[str, Any]] = tree if isinstance(tree, list) else json.loads(tree)
    return plan


def big(node: dict[str, Any]) -> bool:
    """Studies, objectives and workers are few; a scan of them is no fault."""
    return node.get("Relation Name") not in ("studies", "objectives", "workers")


def postgresql_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from postgresql_nodes(child)


def test_leasing_seeks_each_queues_head(study: SmallStudy) -> None:
    take = TAKE_HEADS_SQLITE if study.database.is_sqlite else TAKE_HEADS_POSTGRESQL
    assert study.database.write(lambda connection: faults(connection, take)) == []


def test_jobs_given_by_number_are_found_by_index(study: SmallStudy) -> None:
    with study.database.read() as connection:
        assert (
            faults(
                connection,
                select(jobs)
                .where(in_array(jobs.c.id, "ids", "[3]"))
                .order_by(jobs.c.id),
            )
            == []
        )
        both = (
            update(jobs)
            .where(in_array(jobs.c.id, "ids", "[3]"), jobs.c.attempts == 1)
            .values(attempts=2)
        )
        assert faults(connection, both) == []


def test_known_points_are_found_by_index(study: SmallStudy) -> None:
    with study.database.read() as connection:
        assert (
            faults(
                connection, SAMPLES_AT.params(study=1, points='["0123456789abcdef"]')
            )
            == []
        )


RARELY_MANY = {
    "what a step supersedes": READY_JOBS[1],
    "what backs off": READY_JOBS[0],
    "leases that an outage keeps": PAST_AND_KEPT,
}


@pytest.mark.parametrize("what", [*RARELY_MANY, "a look for jobs"])
def test_a_few_jobs_among_those_of_many_studies_are_found_by_index(
    database: Database, what: str
) -> None:
    for number in range(12):
        SmallStudy(database, name=f"study{number}", budget=1000).add_full(300)
    database.write(lambda connection: connection.execute(text("ANALYZE")))
    look = (
        ANY_HEAD_SQLITE.params(queues="[1]")
        if database.is_sqlite
        else ANY_HEAD_POSTGRESQL
    )
    statement = RARELY_MANY.get(what, look)
    with database.read() as connection:
        if database.is_sqlite:
            found = faults(
                connection,
                statement.params(study=1)
                if what in list(RARELY_MANY)[:2]
                else statement,
            )
            assert [
                fault for fault in found if fault.startswith(("SCAN jobs", "SCAN job"))
            ] == []
        else:
            nodes = postgresql_nodes(generic_plan(connection, statement)[0]["Plan"])
            assert [
                n
                for n in nodes
                if n.get("Relation Name") == "jobs" and n["Node Type"] == "Seq Scan"
            ] == []


OFTEN = {
    "leasing": TAKE_HEADS_POSTGRESQL,
    "a tell's studies": LOCK_STUDIES_OF_LEASES,
    "a tell's jobs": LOCK_JOBS_OF_LEASES,
    "what a tell writes": WRITE.postgresql,
    "a tell's workers": COUNT_ATTEMPTS,
}


@pytest.mark.parametrize("what", OFTEN)
def test_what_asks_and_tells_do_seeks_by_index(study: SmallStudy, what: str) -> None:
    if study.database.is_sqlite:
        pytest.skip("its statements for many rows are those for one")
    study.take(3000)
    study.database.write(lambda connection: connection.execute(text("ANALYZE")))
    with study.database.read() as connection:
        (tree,) = generic_plan(connection, OFTEN[what])
    assert [
        node for node in postgresql_nodes(tree["Plan"]) if reads_all_of_a_table(node)
    ] == []


@pytest.mark.parametrize("what", OFTEN)
def test_what_asks_and_tells_do_is_short_enough_to_be_read_once(what: str) -> None:
    """Of longer statements psycopg looks for the parameters each time anew."""
    assert len(str(OFTEN[what].compile(dialect=psycopg_dialect()))) <= 4096  # type: ignore[no-untyped-call]


def test_plans_are_made_anew_when_tables_may_have_grown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server prepares its statements in its first second, when to read all of an
    empty table costs least.
    """
    if database.is_sqlite:
        pytest.skip("it keeps no plans that depend on sizes")
    monkeypatch.setattr("app.store.sql.postgresql.FIRST_PLANS_S", 1e9)
    scans = {}
    for renewed in (False, True):
        server = Database(database.url, pool_size=1)
        database.write(
            lambda connection: connection.execute(
                text("CREATE TABLE grows (id integer PRIMARY KEY)")
            )
        )
        database.write(lambda connection: connection.execute(text("ANALYZE grows")))
        for _ in range(10):
            with server.read() as connection:
                connection.execute(
                    text("SELECT id FROM grows WHERE id = :one"), {"one": 1}
                ).all()
        fill = text("INSERT INTO grows SELECT generate_series(1, 10000)")
        database.write(lambda connection, fill=fill: connection.execute(fill))  # type: ignore[misc]
        if renewed:
            monkeypatch.setattr(
                "app.store.sql.postgresql.time", SimpleNamespace(monotonic=lambda: 2e9)
            )
        with server.read() as connection:
            name = connection.execute(
                text(
                    "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%FROM grows%'"
                )
            ).scalar_one()
            plan = connection.exec_driver_sql(
                f'EXPLAIN (FORMAT JSON) EXECUTE "{name}" (1)'
            ).scalar_one()
        scans[renewed] = plan[0]["Plan"]["Node Type"]
        server.close()
        database.write(lambda connection: connection.execute(text("DROP TABLE grows")))
    assert scans == {False: "Seq Scan", True: "Index Only Scan"}


def reads_all_of_a_table(node: dict[str, Any]) -> bool:
    by_index = any(key in node for key in ("Index Cond", "Recheck Cond"))
    return (
        "Relation Name" in node
        and "Scan" in node["Node Type"]
        and big(node)
        and not by_index
    )


def test_the_test_would_notice_a_sort_over_all_ready_jobs(study: SmallStudy) -> None:
    """The query that must not be written: one order over several queues."""
    several = jobs.c.objective_id.in_([bindparam("one", 1), bindparam("two", 2)])
    bad = (
        select(jobs.c.id)
        .where(several, jobs.c.state == READY)
        .order_by(jobs.c.cheap_only, jobs.c.id)
        .limit(1)
    )
    with study.database.read() as connection:
        assert faults(connection, bad) != []


PAGE: BindParameter[int] = bindparam("after", 0)
INDEXED = {
    "leased jobs of an objective": select(func.count()).where(
        jobs.c.objective_id == PAGE, jobs.c.state == LEASED
    ),
    "leases that are over": select(jobs.c.id).where(
        jobs.c.state == LEASED, jobs.c.expires_at < bindparam("now", 1.0)
    ),
    "back-offs that are over": select(jobs.c.id).where(
        jobs.c.state == READY,
        jobs.c.ready_at.is_not(None),
        jobs.c.ready_at < bindparam("now", 1.0),
    ),
    "a page of jobs": select(jobs)
    .where(jobs.c.study_id == 1, jobs.c.id > PAGE)
    .order_by(jobs.c.id)
    .limit(10),
    "a page of samples": select(samples)
    .where(samples.c.study_id == 1, samples.c.id > PAGE)
    .order_by(samples.c.id)
    .limit(10),
    "the samples of a step": select(samples).where(samples.c.step_id == PAGE),
    "the values of a sample": select(sample_values).where(
        sample_values.c.sample_id == PAGE
    ),
    "what was learnt since": select(sample_values)
    .where(sample_values.c.study_id == 1, sample_values.c.seq > PAGE)
    .order_by(sample_values.c.seq)
    .limit(10),
    "the last durations of an objective": select(sample_values.c.duration_s)
    .where(
        sample_values.c.objective_id == PAGE, sample_values.c.duration_s.is_not(None)
    )
    .order_by(sample_values.c.seq.desc())
    .limit(10),
    "the attempts of a worker": select(attempts).where(attempts.c.worker_id == PAGE),
    "the attempts of a job": select(attempts).where(attempts.c.job_id == PAGE),
    "the attempt of a lease": select(attempts).where(
        attempts.c.lease == bindparam("lease", "x")
    ),
    "attempts of an objective by time": BEGUN_FROM,
    "attempts that ran at a time": RUNNING_AT,
    "steps that are due": select(steps.c.id)
    .where(steps.c.state == text("'due'"))
    .order_by(steps.c.due_at)
    .limit(1),
}


def test_what_is_asked_often_has_an_index(study: SmallStudy) -> None:
    def plans(connection: Connection) -> dict[str, list[str]]:
        if (
            not study.database.is_sqlite
        ):  # some tables are nearly empty here, where a scan is the better plan
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            connection.execute(text("SET LOCAL enable_sort = off"))
        return {what: faults(connection, query) for what, query in INDEXED.items()}

    assert {
        what: found for what, found in study.database.write(plans).items() if found
    } == {}


@pytest.mark.parametrize("table", [jobs, samples], ids=lambda table: table.name)
def test_a_page_reads_only_its_own_study(study: SmallStudy, table: Table) -> None:
    """The primary key would do for the order, by reading the other studies' rows as
    well.
    """
    other = SmallStudy(study.database, name="other")
    other.add_full(20)
    query = (
        select(table)
        .where(table.c.study_id == other.id, table.c.id > 0)
        .order_by(table.c.id)
        .limit(10)
    )

    def plan(connection: Connection) -> str:
        connection.execute(text("ANALYZE"))
        prefix = "EXPLAIN QUERY PLAN" if study.database.is_sqlite else "EXPLAIN"
        sql = query.compile(connection, compile_kwargs={"literal_binds": True})
        return " ".join(
            str(row[-1]) for row in connection.execute(text(f"{prefix} {sql}"))
        )

    assert f"ix_{table.name}_study_id_id" in study.database.write(plan)
