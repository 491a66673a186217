"""Name the table of the servers' time of service after what it holds.

Revision: 0007 Follows: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    move("pulse", "server_uptime")


def downgrade() -> None:
    move("server_uptime", "pulse")


def move(old: str, new: str) -> None:
    """Into a new table: SQLite does not rename constraints."""
    op.create_table(
        new,
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("resumed_at", sa.Double(), nullable=False),
        sa.Column("served_s", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f(f"ck_{new}_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{new}")),
    )
    columns = "id, seen_at, resumed_at, served_s"
    op.execute(f"INSERT INTO {new} ({columns}) SELECT {columns} FROM {old}")  # noqa: S608
    op.drop_table(old)
