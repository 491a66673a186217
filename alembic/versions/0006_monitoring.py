"""What the dashboard needs: attempts by objective and time, the models of a study's last
step, points of the engineer's own and excluded samples.

Revision: 0006 Follows: 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
TIMELINE = "ix_attempts_objective_id_leased_at_id"


def upgrade() -> None:
    objective = sa.Column(
        "objective_id", ID, server_default=sa.text("0"), nullable=False
    )
    op.add_column("attempts", objective)
    op.execute(
        "UPDATE attempts SET objective_id ="
        " (SELECT jobs.objective_id FROM jobs WHERE jobs.id = attempts.job_id)"
    )
    op.create_index(TIMELINE, "attempts", ["objective_id", "leased_at", "id"])
    op.create_table(
        "step_models",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("step_id", ID, nullable=False),
        sa.Column("arrays", sa.LargeBinary(), nullable=False),
        sa.Column("front", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["step_id"],
            ["steps.id"],
            name="fk_step_models_step_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name="fk_step_models_study_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("study_id", name="pk_step_models"),
    )
    op.create_index("ix_step_models_step_id", "step_models", ["step_id"])
    _add_exclusions()


def _add_exclusions() -> None:
    for name in ("in_budget", "excluded"):
        op.add_column(
            "samples",
            sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False),
        )
    op.create_table(
        "exclusions",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sample_id", ID, nullable=False),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sample_id"],
            ["samples.id"],
            name="fk_exclusions_sample_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name="fk_exclusions_study_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("study_id", "seq", name="pk_exclusions"),
    )
    op.create_index("ix_exclusions_sample_id", "exclusions", ["sample_id"])


def downgrade() -> None:
    op.drop_index("ix_exclusions_sample_id", "exclusions")
    op.drop_table("exclusions")
    for name in ("in_budget", "excluded"):
        op.drop_column("samples", name)
    op.drop_index("ix_step_models_step_id", "step_models")
    op.drop_table("step_models")
    op.drop_index(TIMELINE, "attempts")
    op.drop_column("attempts", "objective_id")
