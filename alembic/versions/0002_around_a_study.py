"""What engineers need around a running study.

Revision: 0002
Follows: 0001
"""

import json
from hashlib import blake2b

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
COUNTERS = ("expired", "late", "duplicate")

AT_ONCE = 10_000
# A worker's counters, and the attempts that each counts.
ENDED = {
    "done": "outcome IN ('done', 'late', 'duplicate')",
    "infeasible": "outcome = 'failed' AND failure = 'infeasible'",
    "error": "outcome = 'failed' AND failure = 'error'",
    "infrastructure": "outcome = 'failed' AND failure = 'infrastructure'",
    "lost": "outcome = 'expired'",
}


def upgrade() -> None:
    _add_imports()
    _add_worker_counters()
    _add_events_and_counters()


def downgrade() -> None:
    _drop_events_and_counters()
    _drop_worker_counters()
    _drop_imports()


def _add_imports() -> None:
    for name in ("imported", "imported_complete"):
        op.add_column(
            "studies",
            sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False),
        )
    op.add_column("samples", sa.Column("point", sa.String(length=16), nullable=True))
    op.add_column("samples", sa.Column("imported_seq", sa.BigInteger(), nullable=True))
    _name_points(op.get_bind())
    op.create_index(
        "ix_samples_study_id_point", "samples", ["study_id", "point"], unique=False
    )


def _name_points(connection: sa.Connection) -> None:
    """The short form of x, for samples that are there already."""
    samples = sa.table(
        "samples", sa.column("id"), sa.column("x", sa.JSON), sa.column("point")
    )
    last = 0
    while True:
        query = (
            sa.select(samples.c.id, samples.c.x)
            .where(samples.c.id > last)
            .order_by(samples.c.id)
            .limit(AT_ONCE)
        )
        rows = connection.execute(query).all()
        if not rows:
            return
        named = [{"one": row.id, "named": _point_of(row.x)} for row in rows]
        mine = samples.c.id == sa.bindparam("one")
        connection.execute(
            sa.update(samples).where(mine).values(point=sa.bindparam("named")), named
        )
        last = rows[-1].id


def _point_of(x: list[float]) -> str:
    return blake2b(
        json.dumps([float(each) + 0.0 for each in x]).encode(), digest_size=8
    ).hexdigest()


def _drop_imports() -> None:
    op.drop_index("ix_samples_study_id_point", table_name="samples")
    for name in ("imported_seq", "point"):
        with op.batch_alter_table("samples") as batch:
            batch.drop_column(name)
    for name in ("imported_complete", "imported"):
        with op.batch_alter_table("studies") as batch:
            batch.drop_column(name)


def _add_worker_counters() -> None:
    op.add_column(
        "workers",
        sa.Column("slots", sa.Integer(), server_default=sa.text("1"), nullable=False),
    )
    op.add_column(
        "workers",
        sa.Column("drained", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    mine = "FROM attempts WHERE attempts.worker_id = workers.id"
    for name, which in ENDED.items():
        op.add_column(
            "workers",
            sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False),
        )
        op.execute(f"UPDATE workers SET {name} = (SELECT count(*) {mine} AND {which})")  # noqa: S608
    op.add_column(
        "workers",
        sa.Column("busy_s", sa.Double(), server_default=sa.text("0"), nullable=False),
    )
    op.execute(
        f"UPDATE workers SET busy_s = (SELECT coalesce(sum(ended_at - leased_at), 0.0) {mine})"  # noqa: S608
    )


def _drop_worker_counters() -> None:
    for name in ("busy_s", *reversed(ENDED), "drained", "slots"):
        with op.batch_alter_table("workers") as batch:
            batch.drop_column(name)


def _add_events_and_counters() -> None:
    op.create_table(
        "feed",
        sa.Column("until", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("study", sa.String(length=100), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.CheckConstraint("since < until", name=op.f("ck_feed_not_empty")),
        sa.PrimaryKeyConstraint("until", name=op.f("pk_feed")),
    )
    op.create_index("ix_feed_study_id_seq", "feed", ["study_id", "seq"])
    op.create_index("ix_steps_done_at", "steps", ["done_at"])
    for counter in COUNTERS:
        op.add_column(
            "objectives",
            sa.Column(
                counter, sa.Integer(), server_default=sa.text("0"), nullable=False
            ),
        )


def _drop_events_and_counters() -> None:
    for counter in reversed(COUNTERS):
        op.drop_column("objectives", counter)
    op.drop_index("ix_steps_done_at", "steps")
    op.drop_table("feed")
