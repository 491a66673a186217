"""Ask: jobs for workers. Many asks are served in one transaction, whatever their number."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine

from app.domain.timestamps import iso
from app.fault_points import point
from app.store.database import Database
from app.store.studies.studies import Queue, find_queues, find_study_by_id, objectives_of
from app.store.work.lease_queue import Lease, Wish, any_ready, lease, open_attempts
from app.store.work.workers import Seen, drained_among, see_workers
from counterpoise.wire.work import Ask, Job

ALL = "*"


@dataclass(frozen=True, slots=True)
class Facts:
    """What never changes about a study's jobs."""

    name: str
    seed: int
    variables: tuple[str, ...]
    objectives: dict[int, str]
    also: dict[int, list[str]]
    lease_s: dict[int, float]
    timeout_s: dict[int, float | None]


def peek(database: Database, asks: Sequence[Ask]) -> bool:
    """Is there anything for any of these? Reads only, a constant number of queries."""
    with database.read() as connection:
        queues = _queues(connection, asks)
        wanted = sorted({queue.id for ask in asks for queue in _wanted(ask, queues)})
        return bool(wanted) and any_ready(connection, wanted)


def drained(database: Database, asks: Sequence[Ask]) -> set[str]:
    """The workers among these that get no jobs, so that there is nothing to wait for."""
    with database.read() as connection:
        return drained_among(connection, {ask.worker for ask in asks})


def serve(database: Database, asks: Sequence[Ask], heartbeat_s: float) -> list[list[Job]]:
    """Lease for all of these asks at once; a list of jobs for each, in their order."""
    shares = database.write(lambda connection: serve_all(connection, asks, heartbeat_s))
    point("ask.committed")
    return shares


def serve_all(connection: Connection, asks: Sequence[Ask], heartbeat_s: float) -> list[list[Job]]:
    workers = see_workers(connection, [Seen(a.worker, tuple(a.studies), tuple(a.objectives), a.max_jobs) for a in asks])
    queues = _queues(connection, asks)
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, ask in enumerate(asks):
        if not workers[ask.worker]["drained"]:
            groups.setdefault(tuple(queue.id for queue in _wanted(ask, queues)), []).append(index)
    shares: list[list[Lease]] = [[] for _ in asks]
    for part in _apart([wanted for wanted in groups if wanted]):
        most = {wanted: sum(asks[index].max_jobs for index in groups[wanted]) for wanted in part}
        leases = lease(connection, [Wish(_begin_anywhere(wanted, queues), most[wanted]) for wanted in part])
        for wanted in part:
            _deal([one for one in leases if one.objective in wanted], groups[wanted], asks, shares)
    open_attempts(
        connection, [(one, workers[ask.worker]["id"]) for ask, share in zip(asks, shares, strict=True) for one in share]
    )
    point("ask.written")
    return [[_job(connection, one, heartbeat_s) for one in share] for share in shares]


def _apart(groups: Iterable[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """Parts in which no queue occurs twice, as a statement must not give one job to two; mostly one.

    Who came first is in no later part than who wants the same.
    """
    parts: list[list[tuple[int, ...]]] = []
    for group in groups:
        taken = (number for number, part in enumerate(parts, 1) if any(set(group) & set(other) for other in part))
        after = max(taken, default=0)
        if after == len(parts):
            parts.append([])
        parts[after].append(group)
    return parts


def _deal(leases: Sequence[Lease], members: Sequence[int], asks: Sequence[Ask], shares: list[list[Lease]]) -> None:
    """One to each in turn, so that nobody takes all that others wait for."""
    left = list(leases)
    while left:
        for index in members:
            if left and len(shares[index]) < asks[index].max_jobs:
                shares[index].append(left.pop(0))


def _queues(connection: Connection, asks: Sequence[Ask]) -> list[Queue]:
    names = {name for ask in asks for name in ask.studies}
    return find_queues(connection, None if ALL in names else sorted(names))


def _wanted(ask: Ask, queues: Sequence[Queue]) -> list[Queue]:
    return [
        queue
        for queue in queues
        if (ALL in ask.studies or queue.study_name in ask.studies)
        and (ALL in ask.objectives or queue.objective in ask.objectives)
        and queue.state == "active"
        and queue.open > 0
    ]


def _begin_anywhere(wanted: Sequence[int], queues: Sequence[Queue]) -> list[int]:
    """The queues, beginning at a random study: with a fixed order the first study would starve the others."""
    study = {queue.id: queue.study for queue in queues}
    studies = list(dict.fromkeys(study[queue] for queue in wanted))
    first = random.randrange(len(studies))  # noqa: S311
    rank = {each: place for place, each in enumerate(studies[first:] + studies[:first])}
    return sorted(wanted, key=lambda queue: rank[study[queue]])


def _job(connection: Connection, one: Lease, heartbeat_s: float) -> Job:
    facts = facts_of(connection, one.study)
    word = f"{facts.seed}:{one.x}:{facts.objectives[one.objective]}".encode()  # the same in any database
    return Job(
        job=one.job,
        lease=one.lease,
        study=facts.name,
        sample=one.sample,
        objective=facts.objectives[one.objective],
        also=facts.also[one.objective],
        x=dict(zip(facts.variables, one.x, strict=True)),
        attempt=one.attempt,
        seed=int.from_bytes(blake2b(word, digest_size=4).digest()) >> 1,
        expires_at=iso(one.expires_at),
        heartbeat_s=min(heartbeat_s, facts.lease_s[one.objective] / 3.0),
        timeout_s=facts.timeout_s[one.objective],
    )


_cache: WeakKeyDictionary[Engine, dict[int, Facts]] = WeakKeyDictionary()


def facts_of(connection: Connection, study: int) -> Facts:
    """Kept per process: a study's specification never changes."""
    known = _cache.setdefault(connection.engine, {})
    if study not in known:
        if len(known) > 1000:
            known.clear()
        known[study] = _read_facts(connection, study)
    return known[study]


def _read_facts(connection: Connection, study: int) -> Facts:
    row, rows = find_study_by_id(connection, study), objectives_of(connection, study)
    return Facts(
        name=row.name,
        seed=row.seed,
        variables=tuple(variable["name"] for variable in row.spec["variables"]),
        objectives={each.id: each.name for each in rows},
        also={each.id: [guest.name for guest in rows if guest.same_run_as == each.id] for each in rows},
        lease_s={each.id: each.lease_s for each in rows},
        timeout_s={each.id: each.timeout_s for each in rows},
    )
