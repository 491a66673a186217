"""The tables.

Times are seconds since 1970 in database time; x is a list in the order of the study's
variables.

Counters are stored, not computed: an objective's counters change in the transaction
that settles a job, so progress costs the same at 10^3 and 10^6 jobs. Leased jobs are
few (one per busy slot) and are counted by index; ready = created - leased - done -
infeasible - failed - superseded - waiting.

`sqlite_autoincrement`: without it SQLite reuses the id of a deleted last row; "job 17"
must always mean the same job.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from counterpoise.wire.codes import JobState

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
Document = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class Point(TypeDecorator[list[Any]]):
    """A list of numbers; of categories also texts and booleans.

    PostgreSQL keeps 1e23 as an integer, which is another number than the float it was.
    """

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return Document.dialect_impl(dialect)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else [_exact(coordinate) for coordinate in value]


EXACT = 2**53  # no integer variable goes so far


def _exact(coordinate: Any) -> Any:
    if isinstance(coordinate, str | bool) or abs(coordinate) < EXACT:
        return coordinate
    return float(coordinate)


# SQLite numbers rows by itself only in a column that is exactly INTEGER.
Id = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> "Column[int]":
    return Column("id", Id, primary_key=True, autoincrement=True)


def _reference(
    name: str, table: Table, *, key: bool = False, nullable: bool = False
) -> "Column[int]":
    return Column(
        name,
        Id,
        ForeignKey(table.c.id, ondelete="CASCADE"),
        primary_key=key,
        nullable=nullable,
    )


def _count(name: str) -> "Column[int]":
    return Column(name, Integer, nullable=False, server_default=text("0"))


studies = Table(
    "studies",
    metadata,
    _id(),
    Column("name", String(100), nullable=False),
    Column("spec", Document, nullable=False),
    Column("phase", String(10), nullable=False, server_default="initial"),
    Column("state", String(10), nullable=False, server_default="active"),
    Column("budget", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    # Numbers all that a step can read, in commit order and without gaps; taken under
    # this row's lock when settling.
    Column("sequence", BigInteger, nullable=False, server_default=text("0")),
    _count("planned_full"),
    _count("settled_full"),
    # Samples that left the plan because a run ruled them out.
    _count("withdrawn"),
    _count("step"),
    # Live slots that serve the slowest runs, and full samples to plan ahead because
    # planning takes time; followed with `overlap` or `batch_size` "auto".
    _count("slow_slots"),
    _count("lookahead"),
    # Imported samples are data, not budget. Complete ones replace samples of the
    # initial design.
    _count("imported"),
    _count("imported_complete"),
    # Set by a stop that advises workers to cancel running jobs.
    Column("cancel_running", Boolean, nullable=False, server_default=false()),
    Column("created_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("ending", Text),
    UniqueConstraint("name"),
    CheckConstraint("phase IN ('initial', 'search', 'finished')", name="phase"),
    CheckConstraint("state IN ('active', 'paused')", name="state"),
    CheckConstraint("planned_full <= budget", name="plan_within_budget"),
    CheckConstraint(
        "settled_full BETWEEN 0 AND planned_full", name="settled_within_plan"
    ),
    sqlite_autoincrement=True,
)

objectives = Table(
    "objectives",
    metadata,
    _id(),
    _reference("study_id", studies),
    Column("position", Integer, nullable=False),
    Column("name", String(100), nullable=False),
    # Set for an objective whose value comes with another objective's run: it has no
    # jobs of its own.
    Column("same_run_as", Id, ForeignKey("objectives.id", ondelete="CASCADE")),
    Column("lease_s", Double, nullable=False),
    Column("timeout_s", Double),
    # Evaluations of this objective that fit into one of the slowest: declared, or
    # measured when a step became due.
    Column("ratio", Double, nullable=False, server_default=text("1")),
    # Fixed when search begins; null before.
    Column("cheap", Boolean),
    _count("created"),
    _count("waiting"),
    _count("done"),
    _count("infeasible"),
    _count("failed"),
    _count("superseded"),
    # Unsettled jobs of full samples; the stream of an initial design follows it.
    _count("open_full"),
    _count("generation"),
    # Leases that expired; values told after that; values told after another lease's
    # value.
    _count("expired"),
    _count("late"),
    _count("duplicate"),
    UniqueConstraint("study_id", "position"),
    UniqueConstraint("study_id", "name"),
    CheckConstraint(
        "open_full >= 0 AND waiting >= 0"
        " AND done + infeasible + failed + superseded + waiting <= created",
        name="counters_add_up",
    ),
    sqlite_autoincrement=True,
)

steps = Table(
    "steps",
    metadata,
    _id(),
    _reference("study_id", studies),
    Column("kind", String(10), nullable=False),
    # Position of a stream's objective, -1 for the other kinds: the identity must hold
    # no NULL, or it is not unique.
    Column("objective", Integer, nullable=False, server_default=text("-1")),
    Column("number", Integer, nullable=False),
    Column("state", String(10), nullable=False, server_default="due"),
    # The prefix of the study's sequence that the step reads, however late it is
    # executed.
    Column("due_seq", BigInteger, nullable=False),
    Column("due_at", Double, nullable=False),
    # What else it depends on, as it was when it became due: size, budget, ratios, cheap
    # objectives.
    Column("inputs", Document, nullable=False),
    Column("claim", String(32)),
    Column("claim_expires_at", Double),
    _count("faults"),
    Column("fault", Text),
    Column("retry_at", Double),
    Column("done_at", Double),
    Column("record", Document),
    UniqueConstraint("study_id", "kind", "objective", "number"),
    CheckConstraint("kind IN ('initial', 'stream', 'search', 'closing')", name="kind"),
    CheckConstraint("state IN ('due', 'done')", name="state"),
    CheckConstraint(
        "(kind = 'stream') = (objective >= 0)", name="objective_of_streams_only"
    ),
    Index(
        "ix_steps_due",
        "due_at",
        postgresql_where=text("state = 'due'"),
        sqlite_where=text("state = 'due'"),
    ),
    Index("ix_steps_done_at", "done_at"),
    sqlite_autoincrement=True,
)

# On PostgreSQL: the space of a page that is left for new versions of its rows. Most
# updates of samples and attempts change no indexed column, and then write no index.
FILL = {"fillfactor": 70}

_FULL = '"full"'
samples = Table(
    "samples",
    metadata,
    _id(),
    _reference("study_id", studies),
    _reference("step_id", steps, nullable=True),
    Column("full", Boolean, nullable=False),
    # Not evaluated on all outputs because of a stop or a withdrawal: no longer part of
    # the plan. Its values still count as data.
    Column("given_up", Boolean, nullable=False, server_default=false()),
    # A run has reported that the point is infeasible.
    Column("infeasible", Boolean, nullable=False, server_default=false()),
    # The search step that made a cheap-only sample a full one.
    _reference("promoted_by", steps, nullable=True),
    Column("x", Point, nullable=False),
    # A hash of x (`store.studies.points.point_hash`), by which a known point is found.
    Column("point", String(16)),
    # Imported, not proposed: the number of the study's sequence from which on steps
    # read it.
    Column("imported_seq", BigInteger),
    # An engineer's own point that counts towards the budget, although its place in the
    # sequence is `imported_seq`.
    Column("in_budget", Boolean, nullable=False, server_default=false()),
    # Left out of front and models; `exclusions` has when.
    Column("excluded", Boolean, nullable=False, server_default=false()),
    # Outputs not settled yet; a full sample is settled when this reaches 0.
    Column("open", Integer, nullable=False),
    # Those of them whose jobs wait for the cheap runs.
    _count("waiting"),
    Column("created_at", Double, nullable=False),
    CheckConstraint("open >= 0", name="open"),
    Index("ix_samples_study_id_id", "study_id", "id"),
    Index("ix_samples_step_id", "step_id"),
    Index("ix_samples_promoted_by", "promoted_by"),
    # Unsettled full samples are found among these: `open` changes with every value.
    Index(
        "ix_samples_full",
        "study_id",
        "id",
        postgresql_where=text(_FULL),
        sqlite_where=text(_FULL),
    ),
    Index("ix_samples_study_id_point", "study_id", "point"),
    sqlite_autoincrement=True,
    postgresql_with=FILL,
)

# Append-only: values and final failures, in the order of the study's sequence. A
# failure may later be followed by a value; a value is final.
sample_values = Table(
    "sample_values",
    metadata,
    _reference("study_id", studies, key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _reference("sample_id", samples),
    _reference("objective_id", objectives),
    Column("value", Double),
    Column("failure", String(20)),
    Column("duration_s", Double),
    Column("at", Double, nullable=False),
    CheckConstraint("(value IS NULL) <> (failure IS NULL)", name="value_or_failure"),
    CheckConstraint(
        "failure IN ('infeasible', 'error', 'infrastructure', 'lost')", name="failure"
    ),
    Index("ix_sample_values_sample_id_objective_id", "sample_id", "objective_id"),
    Index("ix_sample_values_objective_id_seq", "objective_id", "seq"),
    Index(
        "uq_sample_values_one_value",
        "sample_id",
        "objective_id",
        unique=True,
        postgresql_where=text("value IS NOT NULL"),
        sqlite_where=text("value IS NOT NULL"),
    ),
)

# Append-only: when samples were excluded and restored, in the order of the study's
# sequence.
exclusions = Table(
    "exclusions",
    metadata,
    _reference("study_id", studies, key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _reference("sample_id", samples),
    Column("excluded", Boolean, nullable=False),
    Index("ix_exclusions_sample_id", "sample_id"),
)

workers = Table(
    "workers",
    metadata,
    _id(),
    Column("name", String(200), nullable=False),
    Column("first_seen_at", Double, nullable=False),
    Column("last_seen_at", Double, nullable=False),
    # What it asked for last.
    Column("studies", Document, nullable=False),
    Column("objectives", Document, nullable=False),
    # The most jobs that it ever asked for at once.
    Column("slots", Integer, nullable=False, server_default=text("1")),
    # Its process: a random number that it draws when it starts; and the process that
    # had this name before, with the time when it asked although another one had begun.
    Column("instance", String(64)),
    Column("other_instance", String(64)),
    Column("shared_at", Double),
    # Set by its goodbye; cleared by its next ask.
    Column("left_at", Double),
    # Set by an engineer: it gets no more jobs.
    Column("drained", Boolean, nullable=False, server_default=false()),
    # How its attempts ended; updated last in the transaction that ends them.
    _count("done"),
    _count("infeasible"),
    _count("error"),
    _count("infrastructure"),
    _count("lost"),
    Column("busy_s", Double, nullable=False, server_default=text("0")),
    UniqueConstraint("name"),
    sqlite_autoincrement=True,
)

# Literals, not parameters: a plan prepared for any parameter cannot use an index for
# one state.
WAITING, READY, LEASED = (
    literal_column(f"'{state}'", String)
    for state in (JobState.WAITING, JobState.READY, JobState.LEASED)
)
_READY = "state = 'ready' AND ready_at IS NULL"
_BACKING_OFF = "state = 'ready' AND ready_at IS NOT NULL"
_LEASED = "state = 'leased'"
_WAITING = "state = 'waiting'"

jobs = Table(
    "jobs",
    metadata,
    _id(),
    _reference("study_id", studies),
    _reference("objective_id", objectives),
    _reference("sample_id", samples),
    Column("cheap_only", Boolean, nullable=False),
    # The search step that proposed it, 0 in the initial phase: a cheap-only job of an
    # older step is superseded.
    _count("step"),
    Column("state", String(10), nullable=False, server_default="ready"),
    # Set while a returned job backs off, and cleared afterwards, so that the head of
    # the queue is always available.
    Column("ready_at", Double),
    Column("lease", String(32)),
    Column("leased_at", Double),
    Column("expires_at", Double),
    _count("attempts"),
    _count("errors"),
    _count("losses"),
    UniqueConstraint("sample_id", "objective_id"),
    CheckConstraint(
        "state IN ('waiting', 'ready', 'leased', 'done', 'infeasible', 'failed',"
        " 'superseded')",
        name="state",
    ),
    CheckConstraint(
        "(state = 'leased') = (lease IS NOT NULL)", name="leased_has_lease"
    ),
    CheckConstraint(
        "(lease IS NULL) = (expires_at IS NULL)", name="lease_has_deadline"
    ),
    # A queue's head, in the order of leasing: full before cheap-only, then oldest.
    Index(
        "ix_jobs_head",
        "objective_id",
        "cheap_only",
        "id",
        postgresql_where=text(_READY),
        sqlite_where=text(_READY),
    ),
    Index(
        "ix_jobs_backoff",
        "ready_at",
        postgresql_where=text(_BACKING_OFF),
        sqlite_where=text(_BACKING_OFF),
    ),
    Index(
        "ix_jobs_expiry",
        "expires_at",
        postgresql_where=text(_LEASED),
        sqlite_where=text(_LEASED),
    ),
    Index(
        "ix_jobs_leased",
        "objective_id",
        postgresql_where=text(_LEASED),
        sqlite_where=text(_LEASED),
    ),
    Index(
        "ix_jobs_waiting",
        "objective_id",
        postgresql_where=text(_WAITING),
        sqlite_where=text(_WAITING),
    ),
    Index("ix_jobs_study_id_id", "study_id", "id"),
    sqlite_autoincrement=True,
)

UNSETTLED = jobs.c.state.in_((JobState.WAITING, JobState.READY, JobState.LEASED))
# The order of jobs where few are searched for. By the plain id SQLite would rather read
# all jobs, which come in that order, than sort the few that another index finds.
BY_NUMBER = jobs.c.id + literal_column("0")

attempts = Table(
    "attempts",
    metadata,
    _id(),
    _reference("job_id", jobs),
    Column("number", Integer, nullable=False),
    Column("lease", String(32), nullable=False),
    _reference("worker_id", workers),
    # The process of that worker.
    Column("instance", String(64)),
    Column("leased_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("outcome", String(10)),
    Column("value", Double),
    Column("failure", String(20)),
    Column("message", Text),
    Column("duration_s", Double),
    Column("details", Document),
    # The job's, for the timeline: the attempts of an objective in the order in which
    # they began. Without a foreign key, which every lease would have to check.
    Column("objective_id", Id, nullable=False, server_default=text("0")),
    UniqueConstraint("job_id", "number"),
    UniqueConstraint("lease"),
    CheckConstraint("(ended_at IS NULL) = (outcome IS NULL)", name="ended_has_outcome"),
    Index("ix_attempts_worker_id", "worker_id"),
    Index("ix_attempts_objective_id_leased_at_id", "objective_id", "leased_at", "id"),
    sqlite_autoincrement=True,
    postgresql_with=FILL,
)

# The models of a study's last search step, from which predictions are computed outside
# requests and without fitting. A later step replaces them.
step_models = Table(
    "step_models",
    metadata,
    _reference("study_id", studies, key=True),
    _reference("step_id", steps),
    # Training data and hyperparameters (`optimizer.models.model_arrays`).
    Column("arrays", LargeBinary, nullable=False),
    # The predicted front: points in the user's units, minimised means and deviations.
    Column("front", Document, nullable=False),
    Index("ix_step_models_step_id", "step_id"),
)

events = Table(
    "events",
    metadata,
    _reference("study_id", studies, key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("body", Document, nullable=False),
)

# The order of the events of all studies: the numbers above `since`, up to `until`, are
# those of one study up to `seq`. Written by the first reader, so that settling never
# waits for another study.
feed = Table(
    "feed",
    metadata,
    Column("until", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, nullable=False),
    # No foreign key: the last entry of a study reports its deletion. Then `seq` is
    # null.
    Column("study_id", Id, nullable=False),
    Column("study", String(100), nullable=False),
    Column("seq", BigInteger),
    Column("at", Double, nullable=False),
    CheckConstraint("since < until", name="not_empty"),
    Index("ix_feed_study_id_seq", "study_id", "seq"),
)

# One row: when an API server was last up. A gap is an outage, during which workers
# could send no heartbeats.
server_uptime = Table(
    "server_uptime",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seen_at", Double, nullable=False),
    Column("resumed_at", Double, nullable=False),
    # For how long servers have been up in total, gaps left out.
    Column("served_s", Double, nullable=False, server_default=text("0")),
    CheckConstraint("id = 1", name="one_row"),
)

# Leases past their deadline that are kept because of an outage, and how long servers
# had been up when a planner first saw that. A row holds for one deadline: a heartbeat
# moves the deadline, and the row is deleted.
kept_leases = Table(
    "kept_leases",
    metadata,
    # No foreign key: writing one would lock the job, and planners must not wait for
    # workers.
    Column("job_id", Id, primary_key=True, autoincrement=False),
    Column("expires_at", Double, primary_key=True),
    Column("served_s", Double, nullable=False),
)
