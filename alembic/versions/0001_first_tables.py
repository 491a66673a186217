"""The first tables.

Revision: 0001
Follows: None
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("spec", DOCUMENT, nullable=False),
        sa.Column(
            "phase", sa.String(length=10), server_default="initial", nullable=False
        ),
        sa.Column(
            "state", sa.String(length=10), server_default="active", nullable=False
        ),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column(
            "sequence", sa.BigInteger(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "planned_full", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "settled_full", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("step", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "cancel_running", sa.Boolean(), server_default=sa.false(), nullable=False
        ),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("ending", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "phase IN ('initial', 'search', 'finished')", name=op.f("ck_studies_phase")
        ),
        sa.CheckConstraint(
            "state IN ('active', 'paused')", name=op.f("ck_studies_state")
        ),
        sa.CheckConstraint(
            "planned_full <= budget", name=op.f("ck_studies_plan_within_budget")
        ),
        sa.CheckConstraint(
            "settled_full BETWEEN 0 AND planned_full",
            name=op.f("ck_studies_settled_within_plan"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("name", name=op.f("uq_studies_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "workers",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("first_seen_at", sa.Double(), nullable=False),
        sa.Column("last_seen_at", sa.Double(), nullable=False),
        sa.Column("studies", DOCUMENT, nullable=False),
        sa.Column("objectives", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
        sa.UniqueConstraint("name", name=op.f("uq_workers_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "events",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("body", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_events_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_events")),
    )
    op.create_table(
        "objectives",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("same_run_as", ID, nullable=True),
        sa.Column("lease_s", sa.Double(), nullable=False),
        sa.Column("timeout_s", sa.Double(), nullable=True),
        sa.Column("ratio", sa.Double(), server_default=sa.text("1"), nullable=False),
        sa.Column("cheap", sa.Boolean(), nullable=True),
        sa.Column("created", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "superseded", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "open_full", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column(
            "generation", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.CheckConstraint(
            "open_full >= 0 AND done + failed + superseded <= created",
            name=op.f("ck_objectives_counters_add_up"),
        ),
        sa.ForeignKeyConstraint(
            ["same_run_as"],
            ["objectives.id"],
            name=op.f("fk_objectives_same_run_as"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_objectives_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_objectives")),
        sa.UniqueConstraint(
            "study_id", "name", name=op.f("uq_objectives_study_id_name")
        ),
        sa.UniqueConstraint(
            "study_id", "position", name=op.f("uq_objectives_study_id_position")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "steps",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column(
            "objective", sa.Integer(), server_default=sa.text("(-1)"), nullable=False
        ),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=10), server_default="due", nullable=False),
        sa.Column("due_seq", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("inputs", DOCUMENT, nullable=False),
        sa.Column("claim", sa.String(length=32), nullable=True),
        sa.Column("claim_expires_at", sa.Double(), nullable=True),
        sa.Column("faults", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("retry_at", sa.Double(), nullable=True),
        sa.Column("done_at", sa.Double(), nullable=True),
        sa.Column("record", DOCUMENT, nullable=True),
        sa.CheckConstraint(
            "(kind = 'stream') = (objective >= 0)",
            name=op.f("ck_steps_objective_of_streams_only"),
        ),
        sa.CheckConstraint(
            "kind IN ('initial', 'stream', 'search', 'closing')",
            name=op.f("ck_steps_kind"),
        ),
        sa.CheckConstraint("state IN ('due', 'done')", name=op.f("ck_steps_state")),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_steps_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint(
            "study_id",
            "kind",
            "objective",
            "number",
            name=op.f("uq_steps_study_id_kind_objective_number"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_steps_due",
        "steps",
        ["due_at"],
        postgresql_where=sa.text("state = 'due'"),
        sqlite_where=sa.text("state = 'due'"),
    )

    op.create_table(
        "samples",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("step_id", ID, nullable=True),
        sa.Column("full", sa.Boolean(), nullable=False),
        sa.Column("given_up", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("x", DOCUMENT, nullable=False),
        sa.Column("open", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.CheckConstraint("open >= 0", name=op.f("ck_samples_open")),
        sa.ForeignKeyConstraint(
            ["step_id"],
            ["steps.id"],
            name=op.f("fk_samples_step_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_samples_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_samples")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_samples_step_id", "samples", ["step_id"])
    op.create_index("ix_samples_study_id_id", "samples", ["study_id", "id"])

    op.create_table(
        "jobs",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("objective_id", ID, nullable=False),
        sa.Column("sample_id", ID, nullable=False),
        sa.Column("cheap_only", sa.Boolean(), nullable=False),
        sa.Column("step", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "state", sa.String(length=10), server_default="ready", nullable=False
        ),
        sa.Column("ready_at", sa.Double(), nullable=True),
        sa.Column("lease", sa.String(length=32), nullable=True),
        sa.Column("leased_at", sa.Double(), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column(
            "attempts", sa.Integer(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("errors", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("losses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint(
            "(state = 'leased') = (lease IS NOT NULL)",
            name=op.f("ck_jobs_leased_has_lease"),
        ),
        sa.CheckConstraint(
            "state IN ('ready', 'leased', 'done', 'failed', 'superseded')",
            name=op.f("ck_jobs_state"),
        ),
        sa.CheckConstraint(
            "(lease IS NULL) = (expires_at IS NULL)",
            name=op.f("ck_jobs_lease_has_deadline"),
        ),
        sa.ForeignKeyConstraint(
            ["objective_id"],
            ["objectives.id"],
            name=op.f("fk_jobs_objective_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["sample_id"],
            ["samples.id"],
            name=op.f("fk_jobs_sample_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_jobs_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint(
            "sample_id", "objective_id", name=op.f("uq_jobs_sample_id_objective_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_jobs_backoff",
        "jobs",
        ["ready_at"],
        postgresql_where=sa.text("state = 'ready' AND ready_at IS NOT NULL"),
        sqlite_where=sa.text("state = 'ready' AND ready_at IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_expiry",
        "jobs",
        ["expires_at"],
        postgresql_where=sa.text("state = 'leased'"),
        sqlite_where=sa.text("state = 'leased'"),
    )
    op.create_index(
        "ix_jobs_head",
        "jobs",
        ["objective_id", "cheap_only", "id"],
        postgresql_where=sa.text("state = 'ready' AND ready_at IS NULL"),
        sqlite_where=sa.text("state = 'ready' AND ready_at IS NULL"),
    )
    op.create_index(
        "ix_jobs_leased",
        "jobs",
        ["objective_id"],
        postgresql_where=sa.text("state = 'leased'"),
        sqlite_where=sa.text("state = 'leased'"),
    )
    op.create_index("ix_jobs_study_id_id", "jobs", ["study_id", "id"])

    op.create_table(
        "sample_values",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sample_id", ID, nullable=False),
        sa.Column("objective_id", ID, nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("failure", sa.String(length=20), nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.CheckConstraint(
            "failure IN ('infeasible', 'error', 'infrastructure', 'lost')",
            name=op.f("ck_sample_values_failure"),
        ),
        sa.CheckConstraint(
            "(value IS NULL) <> (failure IS NULL)",
            name=op.f("ck_sample_values_value_or_failure"),
        ),
        sa.ForeignKeyConstraint(
            ["objective_id"],
            ["objectives.id"],
            name=op.f("fk_sample_values_objective_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["sample_id"],
            ["samples.id"],
            name=op.f("fk_sample_values_sample_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_sample_values_study_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("study_id", "seq", name=op.f("pk_sample_values")),
    )
    op.create_index(
        "ix_sample_values_objective_id_seq", "sample_values", ["objective_id", "seq"]
    )
    op.create_index(
        "ix_sample_values_sample_id_objective_id",
        "sample_values",
        ["sample_id", "objective_id"],
    )
    op.create_index(
        "uq_sample_values_one_value",
        "sample_values",
        ["sample_id", "objective_id"],
        unique=True,
        postgresql_where=sa.text("value IS NOT NULL"),
        sqlite_where=sa.text("value IS NOT NULL"),
    )

    op.create_table(
        "attempts",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(length=32), nullable=False),
        sa.Column("worker_id", ID, nullable=False),
        sa.Column("leased_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.String(length=10), nullable=True),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("failure", sa.String(length=20), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.Column("details", DOCUMENT, nullable=True),
        sa.CheckConstraint(
            "(ended_at IS NULL) = (outcome IS NULL)",
            name=op.f("ck_attempts_ended_has_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["workers.id"],
            name=op.f("fk_attempts_worker_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("job_id", "number", name=op.f("uq_attempts_job_id_number")),
        sa.UniqueConstraint("lease", name=op.f("uq_attempts_lease")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_attempts_worker_id", "attempts", ["worker_id"])
    op.create_table(
        "pulse",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("resumed_at", sa.Double(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_pulse_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pulse")),
    )


def downgrade() -> None:
    for table in (
        "pulse",
        "attempts",
        "sample_values",
        "jobs",
        "samples",
        "steps",
        "objectives",
        "events",
        "workers",
        "studies",
    ):
        op.drop_table(table)
