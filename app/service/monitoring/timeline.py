"""The timeline of a study, page by page: what the slots of its workers did."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.monitoring.timeline import (
    Bar,
    Slot,
    SlotAssignment,
    SlotAttempt,
    merge_bursts,
    utilisation,
)
from app.domain.planning.ratios import LAST_DURATIONS
from app.domain.studies import Objective
from app.domain.times import iso
from app.service.monitoring.queues import queue_depths
from app.service.monitoring.timeline_cursor import TimelineCursor, decode, encode
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.monitoring.attempts import (
    JobOfSample,
    WorkerPresence,
    attempts_by_id,
    attempts_from,
    attempts_running_at,
    names_of_workers,
    presence_of_workers,
    samples_of_jobs,
    start_of_latest,
)
from app.store.sql.clock import database_time
from app.store.studies.evaluations import last_durations
from app.store.studies.studies import objectives_of
from counterpoise.wire.monitoring.timeline import (
    SlotRow,
    Timeline,
    TimelineItem,
    Utilisation,
)

# Attempts of each objective before the beginning that may still run there
LOOK_BACK = 500
# Without a resolution: this part of the range in which the study was not finished
PARTS = 1000
# Held slots that a cursor carries, so that a URL stays short enough for proxies
MOST_HELD = 1000


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    start: float | None = None
    end: float | None = None
    latest: int | None = None  # attempts before the end, instead of a start
    resolution_s: float | None = None
    limit: int = 5000  # attempts to read
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    """Attempts of one page with their slots, and where it ends."""

    assigned: list[tuple[SlotAttempt, Slot]]
    workers: Mapping[int, WorkerPresence]
    start: float
    until: float
    next: TimelineCursor | None


def timeline(database: Database, name: str, request: TimelineRequest) -> Timeline:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        now = database_time(connection)
        end = now if request.end is None else request.end
        request = _with_start(connection, objectives, request, end)
        start = study.created_at if request.start is None else request.start
        page = _read_page(connection, objectives, request, start, end, now)
        # In a finished study no slot is expected to work
        ended = end if study.finished_at is None else min(end, study.finished_at)
        resolution_s = request.resolution_s
        if resolution_s is None:
            resolution_s = max(ended - start, 0.0) / PARTS
        bars = merge_bursts(page.assigned, resolution_s, now)
        items = _items(connection, objectives, bars)
        queues = queue_depths(connection, study, objectives)
    return Timeline(
        start=iso(start),
        end=iso(end),
        until=iso(page.until),
        now=iso(now),
        resolution_s=resolution_s,
        slots=_slot_rows(items),
        items=items,
        next=None if page.next is None else encode(page.next),
        utilisation=_utilisation(objectives, page, ended, now),
        queues=queues,
    )


def _with_start(
    connection: Connection,
    objectives: Sequence[Objective],
    request: TimelineRequest,
    end: float,
) -> TimelineRequest:
    """The request with the start that its number of latest attempts means."""
    if request.latest is None or request.start is not None:
        return request
    runs = [objective.id for objective in objectives if objective.has_jobs]
    start = start_of_latest(connection, runs, end, request.latest)
    return replace(request, start=start)


def _read_page(
    connection: Connection,
    objectives: Sequence[Objective],
    request: TimelineRequest,
    start: float,
    end: float,
    now: float,
) -> _Page:
    runs = [objective.id for objective in objectives if objective.has_jobs]
    running: list[SlotAttempt] = []
    cursor = None if request.cursor is None else decode(request.cursor)
    if cursor is not None:
        start = cursor.time
    elif request.start is not None:
        running = attempts_running_at(connection, runs, start, LOOK_BACK)
    after = 0 if cursor is None else cursor.after
    begun = attempts_from(connection, runs, start, after, end, request.limit)
    ids = {attempt.worker for attempt in [*running, *begun]}
    workers = presence_of_workers(connection, ids)
    declared = {id_: worker.slots for id_, worker in workers.items()}
    slots = SlotAssignment(now, declared)
    if cursor is not None:
        _occupy(connection, slots, cursor)
    assigned = [(attempt, slots.assign(attempt)) for attempt in [*running, *begun]]
    if len(begun) < request.limit:
        return _Page(assigned, workers, start, end, None)
    last = begun[-1]
    held = [(attempt.id, number) for attempt, number in slots.held_at(last.started_at)]
    following = TimelineCursor(last.started_at, last.id, tuple(held[:MOST_HELD]))
    return _Page(assigned, workers, start, last.started_at, following)


def _occupy(
    connection: Connection, slots: SlotAssignment, cursor: TimelineCursor
) -> None:
    numbers = dict(cursor.held)
    for id_, attempt in attempts_by_id(connection, list(numbers)).items():
        slots.occupy(attempt, min(numbers[id_], MOST_HELD))


def _items(
    connection: Connection, objectives: Sequence[Objective], bars: Sequence[Bar]
) -> list[TimelineItem]:
    single = [bar.only for bar in bars if bar.only is not None]
    jobs = samples_of_jobs(connection, {attempt.job for attempt in single})
    workers = names_of_workers(connection, {bar.slot[0] for bar in bars})
    medians = _medians(connection, single)
    names = {objective.id: objective.name for objective in objectives}
    return [_item(bar, names, workers, jobs, medians) for bar in bars]


def _medians(
    connection: Connection, attempts: Sequence[SlotAttempt]
) -> dict[int, float]:
    """Median duration by objective, of objectives that run."""
    running = {attempt.objective for attempt in attempts if attempt.ended_at is None}
    durations = last_durations(connection, sorted(running), LAST_DURATIONS)
    return {run: statistics.median(times) for run, times in durations.items() if times}


def _item(
    bar: Bar,
    names: Mapping[int, str],
    workers: Mapping[int, str],
    jobs: Mapping[int, JobOfSample],
    medians: Mapping[int, float],
) -> TimelineItem:
    worker, slot = bar.slot
    counts = Counter(names[attempt.objective] for attempt in bar.attempts)
    busy_s = sum(attempt.end(bar.end) - attempt.started_at for attempt in bar.attempts)
    item = TimelineItem(
        worker=workers[worker],
        slot=slot,
        start=iso(bar.start),
        end=iso(bar.end),
        count=len(bar.attempts),
        failed=bar.failed,
        busy_s=busy_s,
        objectives=dict(counts),
    )
    attempt = bar.only
    if attempt is None:
        return item
    item.end = iso(attempt.ended_at)
    item.job, item.attempt = attempt.job, attempt.number
    item.outcome, item.failure = attempt.outcome, attempt.failure
    if attempt.job in jobs:
        item.sample = jobs[attempt.job].sample
        item.cheap_only = jobs[attempt.job].cheap_only
    if attempt.ended_at is None and attempt.objective in medians:
        item.expected_end = iso(attempt.started_at + medians[attempt.objective])
    return item


def _slot_rows(items: Sequence[TimelineItem]) -> list[SlotRow]:
    slots = sorted({(item.worker, item.slot) for item in items})
    return [SlotRow(worker=worker, slot=slot) for worker, slot in slots]


def _utilisation(
    objectives: Sequence[Objective], page: _Page, ended: float, now: float
) -> list[Utilisation]:
    idle_until = {
        id_: min(worker.last_seen_at, ended) for id_, worker in page.workers.items()
    }
    times = utilisation(page.assigned, page.start, page.until, now, idle_until)
    found = []
    for objective in objectives:
        time = times.get(objective.id)
        if time is not None:
            found.append(
                Utilisation(
                    objective=objective.name,
                    slots=time.slots,
                    busy_s=time.busy_s,
                    other_s=time.other_s,
                    idle_s=time.idle_s,
                    share=time.share,
                )
            )
    return found
