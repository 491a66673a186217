"""Let PostgreSQL update samples and attempts without touching their indexes.

An index whose predicate reads a column is written whenever that column changes, so
unsettled full samples are found among the full ones. A page with free space takes the
new version of its own rows.

Revision: 0008 Follows: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    replace_index("ix_samples_unsettled", "ix_samples_full", '"full"')
    set_on_postgresql("(fillfactor = 70)")


def downgrade() -> None:
    replace_index("ix_samples_full", "ix_samples_unsettled", '"full" AND open > 0')
    set_on_postgresql("(fillfactor = 100)")


def replace_index(old: str, new: str, predicate: str) -> None:
    op.drop_index(old, "samples")
    op.create_index(
        new,
        "samples",
        ["study_id", "id"],
        postgresql_where=sa.text(predicate),
        sqlite_where=sa.text(predicate),
    )


def set_on_postgresql(parameters: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in ("samples", "attempts"):
            op.execute(f"ALTER TABLE {table} SET {parameters}")
