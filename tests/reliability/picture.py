"""A study as the tables have it and as the model has it, to be compared; and promises that need no model."""

from typing import Any

from sqlalchemy import select

from app.store.database import Database
from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, steps, studies
from tests.reliability.model import Model, Step


def identity(step: Any) -> Step:
    return step.kind, step.objective, step.number


def picture(database: Database) -> dict[str, Any]:
    """All that the model knows, read from the tables."""
    with database.read() as connection:
        (study,) = connection.execute(select(studies)).all()
        rows = connection.execute(select(objectives).order_by(objectives.c.position)).all()
        happened = connection.execute(
            select(
                events,
                sample_values.c.sample_id,
                sample_values.c.objective_id,
                sample_values.c.value,
                sample_values.c.failure,
            )
            .outerjoin(
                sample_values,
                (sample_values.c.study_id == events.c.study_id) & (sample_values.c.seq == events.c.seq),
            )
            .order_by(events.c.seq)
        ).all()
        names = {row.id: row.name for row in rows}
        planned = connection.execute(select(steps).order_by(steps.c.done_at, steps.c.id)).all()
        return {
            "study": (study.phase, study.state, study.budget, study.step, study.planned_full, study.settled_full),
            "ending": (study.ending == "stopped", study.cancel_running),
            "imported": (study.imported, study.imported_complete),
            "samples": {
                row.id: (row.full, row.given_up, row.imported_seq is not None, row.open)
                for row in connection.execute(select(samples))
            },
            "jobs": {
                row.id: (
                    (row.sample_id, names[row.objective_id], row.cheap_only, row.step, row.state, row.lease),
                    (row.attempts, row.errors, row.losses, row.ready_at is not None),
                )
                for row in connection.execute(select(jobs))
            },
            "attempts": {
                row.lease: (
                    (row.job_id, row.number, row.outcome, row.value, row.failure),
                    (row.details or {}).get("also", {}),
                )
                for row in connection.execute(select(attempts))
            },
            "log": [(row.kind, row.sample_id, names.get(row.objective_id), row.value, row.failure) for row in happened],
            "counters": {row.name: (row.created, row.done, row.failed, row.superseded, row.open_full) for row in rows},
            "mishaps": {row.name: (row.expired, row.late, row.duplicate) for row in rows},
            "due": {identity(row) for row in planned if row.state == "due"},
            "done": sorted(identity(row) for row in planned if row.state == "done"),
        }


def differing(seen: Any, wanted: Any) -> str:
    """Only what differs, of tables."""
    if not isinstance(seen, dict):
        return f"{seen} is not {wanted}"
    keys = sorted(key for key in {**seen, **wanted} if seen.get(key) != wanted.get(key))
    return "; ".join(f"{key}: {seen.get(key)} is not {wanted.get(key)}" for key in keys)


def expected(model: Model) -> dict[str, Any]:
    return {
        "study": (
            model.phase,
            "active" if model.active else "paused",
            model.budget,
            model.step,
            len(model.planned),
            len(model.settled),
        ),
        "ending": (model.stopped, model.cancel),
        "imported": (sum(one.imported for one in model.samples.values()), model.imported_complete),
        "samples": {id_: (one.full, one.given_up, one.imported, model.open(id_)) for id_, one in model.samples.items()},
        "jobs": {
            id_: (
                (job.sample, job.objective, job.cheap_only, job.step, job.state, job.lease),
                (job.attempts, job.errors, job.losses, job.waits),
            )
            for id_, job in model.jobs.items()
        },
        "attempts": {
            lease: ((one.job, one.number, one.outcome, one.value, one.failure), one.also)
            for lease, one in model.attempts.items()
        },
        "log": model.log,
        "counters": model.counters(),
        "mishaps": model.mishaps(),
        "due": set(model.due),
        "done": sorted(model.done),
    }


def check_promises(database: Database) -> None:
    """Those that need no model to be judged."""
    with database.read() as connection:
        wanted = connection.execute(
            select(jobs.c.objective_id, samples.c.x, samples.c.id)
            .join(samples, samples.c.id == jobs.c.sample_id)
            .where(samples.c.step_id.is_not(None))
        ).all()
        brought = connection.execute(
            select(sample_values.c.objective_id, samples.c.x, samples.c.id)
            .join(samples, samples.c.id == sample_values.c.sample_id)
            .where(samples.c.imported_seq.is_not(None))
        ).all()
        told = connection.execute(select(sample_values).where(sample_values.c.value.is_not(None))).all()
        faults = connection.execute(select(steps.c.fault).where(steps.c.faults > 0)).all()
        running = connection.execute(select(attempts).where(attempts.c.outcome.is_(None))).all()
        leased = connection.execute(select(jobs.c.id, jobs.c.lease).where(jobs.c.state == "leased")).all()
        (study,) = connection.execute(select(studies)).all()
        numbers = list(connection.execute(select(events.c.seq).order_by(events.c.seq)).scalars())
    points = [(row.objective_id, tuple(row.x)) for row in wanted]
    assert len(set(points)) == len(points), "a point was proposed twice"
    known = {(row.objective_id, tuple(row.x)): row.id for row in brought}
    again = [row for row in wanted if row.id > known.get((row.objective_id, tuple(row.x)), row.id)]
    assert again == [], "a point was proposed whose value had been imported"
    assert len({(row.sample_id, row.objective_id) for row in told}) == len(told), "two values of one objective"
    assert sorted((row.job_id, row.lease) for row in running) == sorted(map(tuple, leased)), (
        "not one live lease per leased job"
    )
    assert numbers == list(range(1, study.sequence + 1)), "the sequence has a gap"
    assert study.settled_full <= study.planned_full <= study.budget, "more was planned than the budget allows"
    assert faults == []
