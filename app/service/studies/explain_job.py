"""Why a job is where it is: what happened to it, who had it, and what it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, RowMapping

from app.domain.step_names import step_name
from app.domain.timestamps import iso
from app.errors import JobUnknown
from app.service.studies.health import ENDINGS
from app.service.work.workers import ALIVE_S
from app.store.database import Database
from app.store.studies.listings import (
    database_time,
    find_job,
    find_sample,
    jobs_held,
    live_workers,
    queue_head,
    values_of,
)
from app.store.studies.studies import find_study_by_id, guests, objectives_of
from app.store.work.attempts import last_attempts
from counterpoise.wire.codes import Ending
from counterpoise.wire.views import AttemptStory, JobStory

MOST_AHEAD = 1000
MOST_ATTEMPTS = 100
TAIL = 2000  # characters of a message


@dataclass(frozen=True, slots=True)
class Pool:
    """The live workers that take an objective's jobs, and those that would if they were not drained."""

    names: list[str]
    slots: int
    busy: int
    drained: list[str]


def explain_job(database: Database, number: int) -> JobStory:
    with database.read() as connection:
        job = find_job(connection, number)
        if job is None:
            raise JobUnknown(f"there is no job {number}; `counterpoise study` and GET /studies/NAME/jobs list them")
        study = find_study_by_id(connection, job["study_id"])
        objectives = objectives_of(connection, study.id)
        mine = next(row for row in objectives if row.id == job["objective_id"])
        sample = find_sample(connection, job["sample_id"])
        tried = last_attempts(connection, number, MOST_ATTEMPTS)
        told = [one for one in values_of(connection, [job["sample_id"]]) if one["objective_id"] == mine.id]
        waits = job["state"] == "ready"
        ahead = _ahead(connection, job) if waits and job["ready_at"] is None else None
        pool = _pool(connection, study, mine) if waits else None
        now = database_time(connection)
    names = {row.id: row.name for row in objectives}
    spec = study.spec
    return JobStory(
        job=number,
        study=study.name,
        sample=job["sample_id"],
        step=step_name(sample["kind"], sample["number"], sample["objective"], [o["name"] for o in spec["objectives"]]),
        objective=mine.name,
        also=[names[guest] for guest in guests(objectives)[mine.id]],
        cheap_only=job["cheap_only"],
        x=dict(zip([variable["name"] for variable in spec["variables"]], sample["x"], strict=True)),
        state=job["state"],
        value=next((one["value"] for one in told if one["value"] is not None), None),
        ahead=ahead,
        why=_why(job, study, mine, tried, told, pool, ahead, now),
        attempts=[_attempt(one) for one in tried],
    )


def _ahead(connection: Connection, job: RowMapping) -> int:
    """Jobs before it in its queue; looks at no more than it counts."""
    queue = queue_head(connection, job["objective_id"], MOST_AHEAD)
    return queue.index(job["id"]) if job["id"] in queue else MOST_AHEAD


def _pool(connection: Connection, study: Row[Any], objective: Row[Any]) -> Pool:
    def takes(worker: RowMapping) -> bool:
        pairs = ((worker["studies"], study.name), (worker["objectives"], objective.name))
        return all("*" in wanted or name in wanted for wanted, name in pairs)

    held = jobs_held(connection)
    alive = [worker for worker in live_workers(connection, ALIVE_S, held) if takes(worker)]
    able = [worker for worker in alive if not worker["drained"]]
    return Pool(
        names=[worker["name"] for worker in able],
        slots=sum(worker["slots"] for worker in able),
        busy=sum(min(len(held.get(worker["id"], ())), worker["slots"]) for worker in able),
        drained=[worker["name"] for worker in alive if worker["drained"]],
    )


def _attempt(row: RowMapping) -> AttemptStory:
    return AttemptStory(
        number=row["number"],
        worker=row["worker"],
        leased_at=iso(row["leased_at"]),
        ended_at=iso(row["ended_at"]),
        outcome=row["outcome"],
        value=row["value"],
        failure=row["failure"],
        message=row["message"][-TAIL:] if row["message"] else None,
        duration_s=row["duration_s"],
    )


def _why(
    job: RowMapping,
    study: Row[Any],
    objective: Row[Any],
    tried: Sequence[RowMapping],
    told: Sequence[RowMapping],
    pool: Pool | None,
    ahead: int | None,
    now: float,
) -> list[str]:
    match job["state"]:
        case "ready":
            return _why_ready(job, study, objective, tried, pool, ahead)
        case "leased":
            return _why_leased(job, objective, tried, now)
        case "done":
            return [_why_done(tried, told)]
        case "failed":
            return [_why_failed(job, study, told)]
    return [_why_superseded(job, study)]


def _why_ready(
    job: RowMapping,
    study: Row[Any],
    objective: Row[Any],
    tried: Sequence[RowMapping],
    pool: Pool | None,
    ahead: int | None,
) -> list[str]:
    words = []
    if tried:
        last = tried[-1]
        words.append(f"attempt {last['number']}, with worker {last['worker']}, ended: {_outcome(last)}")
    if study.state == "paused":
        words.append(f"the study is paused; `counterpoise study resume {study.name}` lets it go on")
    if job["ready_at"] is not None:
        words.append(f"it backs off until {iso(job['ready_at'])}, as it was lost {_times(job['losses'])}")
    if ahead is not None:
        words.append(_place(ahead, objective.name))
    return words + (_why_nobody(objective, pool) if pool is not None else [])


def _place(ahead: int, objective: str) -> str:
    if ahead == 0:
        return f"it is the next in the queue of {objective}"
    before = (
        f"{MOST_AHEAD} or more jobs are" if ahead >= MOST_AHEAD else "1 job is" if ahead == 1 else f"{ahead} jobs are"
    )
    return f"{before} before it in the queue of {objective}"


def _why_nobody(objective: Row[Any], pool: Pool) -> list[str]:
    words = [f"drained, and so not asking for it: {', '.join(pool.drained[:3])}"] if pool.drained else []
    if not pool.names:
        return [*words, f"no live worker takes {objective.name}; start one, or look at `counterpoise workers`"]
    free = pool.slots - pool.busy
    able = f"{len(pool.names)} live worker{'' if len(pool.names) == 1 else 's'}"
    if free <= 0:
        return [*words, f"all {pool.slots} slots of {able} for {objective.name} are busy"]
    return [
        *words,
        f"{able} for {objective.name} with {free} free of {pool.slots} slots: it goes with one of the next asks",
    ]


def _why_leased(job: RowMapping, objective: Row[Any], tried: Sequence[RowMapping], now: float) -> list[str]:
    last = tried[-1]
    words = [f"worker {last['worker']} has had it since {iso(last['leased_at'])}, as attempt {last['number']}"]
    late = job["expires_at"] < now
    words.append(
        f"its lease ran out at {iso(job['expires_at'])}; unless it speaks, another worker gets the job in a moment"
        if late
        else f"its lease runs until {iso(job['expires_at'])}, and longer with every heartbeat"
    )
    if objective.timeout_s is not None:
        words.append(f"heartbeats help until {iso(last['leased_at'] + objective.timeout_s)}: timeout_s is over then")
    return words


def _why_done(tried: Sequence[RowMapping], told: Sequence[RowMapping]) -> str:
    value = next(one for one in told if one["value"] is not None)
    first = next((one for one in tried if one["outcome"] in ("done", "late")), None)
    if first is None:
        return f"its value was not told by a worker, but given at {iso(value['at'])}"
    late = ", after its lease had expired" if first["outcome"] == "late" else ""
    return f"worker {first['worker']} told its value at {iso(value['at'])}, in attempt {first['number']}{late}"


def _why_failed(job: RowMapping, study: Row[Any], told: Sequence[RowMapping]) -> str:
    kind = told[-1]["failure"] if told else None
    again = f"`counterpoise study retry {study.name}` runs it again"
    if kind == "infeasible":
        return f"the point has no value (infeasible), which is not retried; {again}"
    if kind == "error":
        return f"the simulation failed {_times(job['errors'])}, as often as max_attempts allows; {again}"
    return f"it was lost {_times(job['losses'])}, as often as max_losses allows; {again}"


def _why_superseded(job: RowMapping, study: Row[Any]) -> str:
    welcome = "a value would still be welcome"
    if job["cheap_only"] and job["step"] < study.step:
        return f"the search went on to step {job['step'] + 1} before anybody took it; {welcome}"
    if study.ending == Ending.STOPPED:
        return f"the study was stopped before anybody took it; {welcome}"
    why = ENDINGS[Ending(study.ending)] if study.ending else "the search went on"
    return f"it is no longer needed: {why}; {welcome}"


def _outcome(attempt: RowMapping) -> str:
    return attempt["failure"] or attempt["outcome"] or "it runs"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
