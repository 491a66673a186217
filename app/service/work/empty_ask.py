"""Why there is nothing for an ask, and which of the names in it stand for nothing."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from app.service.work.ask import ALL
from app.store.database import Database
from app.store.studies.studies import Queue, find_queues, objectives_of_all, study_names
from app.store.work.lease_queue import any_ready
from app.store.work.workers import drained_among
from counterpoise.wire.codes import EmptyReason, Ending
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import Ask, Asked

RETRY_AFTER_S = {
    EmptyReason.DRAINED: 60.0,
    EmptyReason.PLANNING: 1.0,
    EmptyReason.ALL_LEASED: 5.0,
    EmptyReason.PAUSED: 30.0,
    EmptyReason.FINISHED: 60.0,
}
MOST_NAMES = 3  # an ask may hold a thousand wrong ones


def explain(database: Database, ask: Ask) -> Asked:
    """Why there is nothing for this ask."""
    with database.read() as connection:
        queues = find_queues(connection, None if ALL in ask.studies else ask.studies)
        resting = drained_among(connection, [ask.worker])
        unknown = [*_unknown_studies(connection, ask, queues), *_unknown_objectives(connection, ask, queues)]
        given_up = _given_up(connection, queues)
    reason, words = _drained(ask) if resting else _reason(ask, queues, given_up)
    detail = _sentences([*([words] if words else []), *unknown])
    return Asked(jobs=[], reason=reason, detail=detail, retry_after_s=RETRY_AFTER_S.get(reason, 10.0))


def _drained(ask: Ask) -> tuple[EmptyReason, str]:
    return EmptyReason.DRAINED, f"worker {ask.worker!r} is drained: it gets no more jobs until it is undrained"


def _reason(ask: Ask, queues: Sequence[Queue], given_up: Collection[int]) -> tuple[EmptyReason, str]:
    """No words where those about unknown names say it."""
    if not queues and ALL not in ask.studies:
        return EmptyReason.NO_SUCH_STUDY, ""
    if not queues:
        return EmptyReason.NO_STUDIES, "there is no study yet; create one with `counterpoise study create`"
    named = [queue for queue in queues if ALL in ask.objectives or queue.objective in ask.objectives]
    if not named:
        return EmptyReason.NO_SUCH_OBJECTIVE, ""
    unfinished = [q for q in named if q.phase != "finished" or (q.open > 0 and q.id not in given_up)]
    if not unfinished:
        running = any(queue.open > 0 for queue in named)
        return (
            EmptyReason.FINISHED,
            f"the study is finished{'; jobs still with workers do not come back' if running else ''}",
        )
    active = [queue for queue in unfinished if queue.state != "paused"]
    if not active:
        return EmptyReason.PAUSED, "the study is paused; resume it to go on"
    if any(queue.open > 0 for queue in active):
        return EmptyReason.ALL_LEASED, "all jobs are with workers, or back off after a failure"
    return EmptyReason.PLANNING, "the next jobs are being planned, or wait for values of other objectives"


def _given_up(connection: Connection, queues: Sequence[Queue]) -> set[int]:
    """Queues of stopped studies in which nothing is ready: what is leased there never returns to ready."""
    stopped = [queue.id for queue in queues if queue.ending == Ending.STOPPED and queue.open > 0]
    return {queue for queue in stopped if not any_ready(connection, [queue])}


def _unknown_studies(connection: Connection, ask: Ask, queues: Sequence[Queue]) -> list[str]:
    there = {queue.study_name for queue in queues}
    wrong = [] if ALL in ask.studies else [name for name in dict.fromkeys(ask.studies) if name not in there]
    known = study_names(connection) if wrong else []
    return [f"there is no study {name!r}{did_you_mean(name, known)}" for name in wrong[:MOST_NAMES]] + _others(
        wrong, "studies"
    )


def _unknown_objectives(connection: Connection, ask: Ask, queues: Sequence[Queue]) -> list[str]:
    own = {queue.objective for queue in queues}
    wrong = [] if ALL in ask.objectives else [name for name in dict.fromkeys(ask.objectives) if name not in own]
    if not wrong or not queues:
        return []
    run = _runs_of_guests(connection, queues)
    names = sorted({queue.study_name for queue in queues})
    where = ", ".join(names[:MOST_NAMES]) + (" and others" if len(names) > MOST_NAMES else "")
    return [
        f"objective {name!r} has no jobs of its own; its value comes with {run[name]!r}"
        if name in run
        else f"there is no objective {name!r} in {where}{did_you_mean(name, own)}"
        for name in wrong[:MOST_NAMES]
    ] + _others(wrong, "objectives")


def _runs_of_guests(connection: Connection, queues: Sequence[Queue]) -> dict[str, str]:
    """By objective that comes with another one's run: that one."""
    of_all = objectives_of_all(connection, list(dict.fromkeys(queue.study for queue in queues)))
    name = {queue.id: queue.objective for queue in queues}
    return {row.name: name[row.same_run_as] for rows in of_all.values() for row in rows if row.same_run_as in name}


def _others(wrong: Sequence[str], what: str) -> list[str]:
    left = len(wrong) - MOST_NAMES
    return [f"nor are there jobs for {left} more of the {what}"] if left > 0 else []


def _sentences(parts: Sequence[str]) -> str:
    first, *others = parts
    return first + "".join(
        f"{'' if before.endswith('?') else '.'} {after[0].upper()}{after[1:]}"
        for before, after in zip(parts, others, strict=False)
    )
