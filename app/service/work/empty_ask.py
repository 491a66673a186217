"""Why an ask gets no jobs, and which of the names in it do not exist."""

from collections.abc import Collection, Sequence

from app.domain.studies import Queue
from app.service.work.ask import studies_of
from app.store.database import Connection, Database
from app.store.studies.studies import (
    find_queues,
    objectives_of_all,
    study_names,
)
from app.store.work.lease_queue import any_ready
from app.store.work.workers import drained_among
from counterpoise.wire.codes import EmptyReason, Ending, Phase, StudyState
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import ALL, Ask, Asked, matches

RETRY_AFTER_S = {
    EmptyReason.DRAINED: 60.0,
    EmptyReason.PLANNING: 1.0,
    EmptyReason.ALL_LEASED: 5.0,
    EmptyReason.PAUSED: 30.0,
    EmptyReason.FINISHED: 60.0,
}
DEFAULT_RETRY_AFTER_S = 10.0
MOST_NAMES = 3  # an ask may hold a thousand wrong ones


def explain_empty_ask(database: Database, ask: Ask) -> Asked:
    with database.read() as connection:
        queues = find_queues(connection, studies_of([ask]))
        is_drained = bool(drained_among(connection, [ask.worker]))
        unknown = _unknown_studies(connection, ask, queues) + _unknown_objectives(
            connection, ask, queues
        )
        abandoned = _abandoned_queues(connection, queues)
    if is_drained:
        reason = EmptyReason.DRAINED
        detail = f"worker {ask.worker!r} is drained: it gets no more jobs until it is undrained"
    else:
        reason, detail = _reason(ask, queues, abandoned)
    sentences = [detail, *unknown] if detail else unknown
    retry_after_s = RETRY_AFTER_S.get(reason, DEFAULT_RETRY_AFTER_S)
    return Asked(
        jobs=[], reason=reason, detail=_join(sentences), retry_after_s=retry_after_s
    )


def _reason(
    ask: Ask, queues: Sequence[Queue], abandoned: Collection[int]
) -> tuple[EmptyReason, str]:
    """No detail where the sentences about unknown names are enough."""
    if not queues and ALL not in ask.studies:
        return EmptyReason.NO_SUCH_STUDY, ""
    if not queues:
        return (
            EmptyReason.NO_STUDIES,
            "there is no study yet; create one with `counterpoise study create`",
        )
    wanted = [queue for queue in queues if matches(ask.objectives, queue.objective)]
    if not wanted:
        return EmptyReason.NO_SUCH_OBJECTIVE, ""
    unfinished = [queue for queue in wanted if _may_have_jobs(queue, abandoned)]
    if not unfinished:
        running = any(queue.unsettled > 0 for queue in wanted)
        rest = "; jobs still with workers do not come back" if running else ""
        return EmptyReason.FINISHED, f"the study is finished{rest}"
    active = [queue for queue in unfinished if queue.state is StudyState.ACTIVE]
    if not active:
        return EmptyReason.PAUSED, "the study is paused; resume it to go on"
    if any(queue.unsettled > 0 for queue in active):
        return (
            EmptyReason.ALL_LEASED,
            "all jobs are with workers, back off after a failure, or wait for cheap runs of their sample",
        )
    return (
        EmptyReason.PLANNING,
        "the next jobs are being planned, or wait for values of other objectives",
    )


def _may_have_jobs(queue: Queue, abandoned: Collection[int]) -> bool:
    """Whether there are jobs, now or later."""
    return queue.phase is not Phase.FINISHED or (
        queue.unsettled > 0 and queue.id not in abandoned
    )


def _abandoned_queues(connection: Connection, queues: Sequence[Queue]) -> set[int]:
    """Queues of stopped studies without ready jobs: leased jobs do not return to ready
    there.
    """
    stopped = [
        queue.id
        for queue in queues
        if queue.ending is Ending.STOPPED and queue.unsettled > 0
    ]
    return {queue for queue in stopped if not any_ready(connection, [queue])}


def _unknown_studies(
    connection: Connection, ask: Ask, queues: Sequence[Queue]
) -> list[str]:
    known = {queue.study_name for queue in queues}
    unknown = [name for name in dict.fromkeys(ask.studies) if name not in known]
    if ALL in ask.studies or not unknown:
        return []
    names = study_names(connection)
    sentences = [
        f"there is no study {name!r}{did_you_mean(name, names)}"
        for name in unknown[:MOST_NAMES]
    ]
    return sentences + _others(len(unknown), "studies")


def _unknown_objectives(
    connection: Connection, ask: Ask, queues: Sequence[Queue]
) -> list[str]:
    known = {queue.objective for queue in queues}
    unknown = [name for name in dict.fromkeys(ask.objectives) if name not in known]
    if ALL in ask.objectives or not unknown or not queues:
        return []
    runs = _runs_of_co_objectives(connection, queues)
    studies = sorted({queue.study_name for queue in queues})
    where = ", ".join(studies[:MOST_NAMES]) + (
        " and others" if len(studies) > MOST_NAMES else ""
    )
    sentences = []
    for name in unknown[:MOST_NAMES]:
        if name in runs:
            sentences.append(
                f"objective {name!r} has no jobs of its own; its value comes with {runs[name]!r}"
            )
        else:
            sentences.append(
                f"there is no objective {name!r} in {where}{did_you_mean(name, known)}"
            )
    return sentences + _others(len(unknown), "objectives")


def _runs_of_co_objectives(
    connection: Connection, queues: Sequence[Queue]
) -> dict[str, str]:
    """By objective that comes with another one's run: that one."""
    names = {queue.id: queue.objective for queue in queues}
    runs = {}
    for objectives in objectives_of_all(
        connection, {queue.study for queue in queues}
    ).values():
        for objective in objectives:
            if objective.same_run_as in names:
                runs[objective.name] = names[objective.same_run_as]
    return runs


def _others(unknown: int, what: str) -> list[str]:
    left = unknown - MOST_NAMES
    return (
        [f"there are no jobs for {left} more of the {what} either"] if left > 0 else []
    )


def _join(sentences: Sequence[str]) -> str:
    joined = sentences[0]
    for sentence in sentences[1:]:
        end = "" if joined.endswith("?") else "."
        joined += f"{end} {sentence[0].upper()}{sentence[1:]}"
    return joined
