"""Overlapping steps, samples that are withdrawn or promoted, processes of workers, and
infeasible results apart from failures.

Revision: 0005 Follows: 0004
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations.base import BatchOperations

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

JOB_STATES = ("ready", "leased", "done", "failed", "superseded")
NEW_JOB_STATES = (
    "waiting",
    "ready",
    "leased",
    "done",
    "infeasible",
    "failed",
    "superseded",
)
ADD_UP = "open_full >= 0 AND done + failed + superseded <= created"
NEW_ADD_UP = (
    "open_full >= 0 AND waiting >= 0"
    " AND done + infeasible + failed + superseded + waiting <= created"
)
LAST_ID = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :table")
FORGET_LAST_ID = sa.text("DELETE FROM sqlite_sequence WHERE name = :table")
SET_LAST_ID = sa.text(
    "INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last_id)"
)
UNSETTLED_FULL = '"full" AND open > 0'
# Jobs whose last result is that the point is infeasible.
INFEASIBLE_JOB = """
    jobs.state = 'failed' AND 'infeasible' = (
        SELECT v.failure FROM sample_values v
        WHERE v.sample_id = jobs.sample_id AND v.objective_id = jobs.objective_id
        ORDER BY v.seq DESC LIMIT 1
    )
"""
COUNT_INFEASIBLE = """
    (SELECT count(*) FROM jobs
     WHERE jobs.objective_id = coalesce(objectives.same_run_as, objectives.id)
       AND jobs.state = 'infeasible')
"""
INFEASIBLE_SAMPLE = """
    EXISTS (
        SELECT 1 FROM sample_values v
        WHERE v.sample_id = samples.id AND v.failure = 'infeasible'
          AND NOT EXISTS (
              SELECT 1 FROM sample_values w
              WHERE w.sample_id = v.sample_id AND w.objective_id = v.objective_id
                AND w.value IS NOT NULL))
"""


def upgrade() -> None:
    _add_counters("studies", ["withdrawn", "slow_slots", "lookahead"])
    _add_counters("objectives", ["waiting", "infeasible"])
    _replace_check("objectives", "counters_add_up", NEW_ADD_UP)
    _add_to_samples()
    op.add_column("attempts", sa.Column("instance", sa.String(64)))
    for name in ("instance", "other_instance"):
        op.add_column("workers", sa.Column(name, sa.String(64)))
    for name in ("shared_at", "left_at"):
        op.add_column("workers", sa.Column(name, sa.Double()))
    _replace_check("jobs", "state", _is_one_of(NEW_JOB_STATES))
    is_waiting = sa.text("state = 'waiting'")
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["objective_id"],
        postgresql_where=is_waiting,
        sqlite_where=is_waiting,
    )
    op.execute(f"UPDATE jobs SET state = 'infeasible' WHERE {INFEASIBLE_JOB}")  # noqa: S608
    op.execute(
        f"UPDATE objectives SET infeasible = {COUNT_INFEASIBLE},"  # noqa: S608
        f" failed = failed - {COUNT_INFEASIBLE}"
    )
    op.execute(f"UPDATE samples SET infeasible = true WHERE {INFEASIBLE_SAMPLE}")  # noqa: S608


def downgrade() -> None:
    op.drop_index("ix_jobs_waiting", "jobs")
    op.execute("UPDATE jobs SET state = 'failed' WHERE state = 'infeasible'")
    op.execute("UPDATE jobs SET state = 'ready' WHERE state = 'waiting'")
    op.execute("UPDATE objectives SET failed = failed + infeasible")
    _replace_check("jobs", "state", _is_one_of(JOB_STATES))
    for name in ("shared_at", "left_at", "instance", "other_instance"):
        op.drop_column("workers", name)
    op.drop_column("attempts", "instance")
    op.drop_index("ix_samples_promoted_by", "samples")
    op.drop_index("ix_samples_unsettled", "samples")
    with _copied("samples") as batch:
        for name in ("infeasible", "waiting", "promoted_by"):
            batch.drop_column(name)
    _replace_check("objectives", "counters_add_up", ADD_UP)
    for name in ("waiting", "infeasible"):
        op.drop_column("objectives", name)
    for name in ("withdrawn", "slow_slots", "lookahead"):
        op.drop_column("studies", name)


def _add_counters(table: str, names: Sequence[str]) -> None:
    for name in names:
        op.add_column(
            table,
            sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False),
        )


def _add_to_samples() -> None:
    _add_counters("samples", ["waiting"])
    op.add_column(
        "samples",
        sa.Column(
            "infeasible", sa.Boolean(), server_default=sa.false(), nullable=False
        ),
    )
    with _copied("samples") as batch:
        batch.add_column(sa.Column("promoted_by", ID, nullable=True))
        batch.create_foreign_key(
            op.f("fk_samples_promoted_by"),
            "steps",
            ["promoted_by"],
            ["id"],
            ondelete="CASCADE",
        )
    op.create_index("ix_samples_promoted_by", "samples", ["promoted_by"])
    op.create_index(
        "ix_samples_unsettled",
        "samples",
        ["study_id", "id"],
        postgresql_where=sa.text(UNSETTLED_FULL),
        sqlite_where=sa.text(UNSETTLED_FULL),
    )


def _is_one_of(states: Sequence[str]) -> str:
    return f"state IN ({', '.join(repr(state) for state in states)})"


def _replace_check(table: str, name: str, condition: str) -> None:
    constraint = op.f(f"ck_{table}_{name}")
    with _copied(table) as batch:
        batch.drop_constraint(constraint, type_="check")
        batch.create_check_constraint(constraint, condition)


@contextmanager
def _copied(table: str) -> Iterator[BatchOperations]:
    """Change a table; SQLite copies it, and must not reuse the ids of deleted rows."""
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    of_table = {"table": table}
    last_id = None
    if is_sqlite:
        last_id = connection.execute(LAST_ID, of_table).scalar_one_or_none()
    with op.batch_alter_table(
        table, table_kwargs={"sqlite_autoincrement": True}
    ) as batch:
        yield batch
    if last_id is not None:
        connection.execute(FORGET_LAST_ID, of_table)
        connection.execute(SET_LAST_ID, {**of_table, "last_id": last_id})
