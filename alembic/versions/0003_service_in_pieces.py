"""How long servers were there, gaps left out, and the leases that outages keep.

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(
        "pulse",
        sa.Column("served_s", sa.Double(), server_default=sa.text("0"), nullable=False),
    )
    op.create_table(
        "kept_leases",
        sa.Column("job_id", ID, autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("served_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "expires_at", name=op.f("pk_kept_leases")),
    )


def downgrade() -> None:
    op.drop_table("kept_leases")
    op.drop_column("pulse", "served_s")
