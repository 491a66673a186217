"""Ask: jobs for workers.

Many asks are served in one transaction, whatever their number.
"""

import random
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

from app.domain.jobs import Lease, LeaseRequest
from app.domain.studies import Definition, Queue
from app.domain.times import iso
from app.domain.workers import WorkerSeen
from app.fault_points import point
from app.store.database import Connection, Database
from app.store.studies.studies import definitions_of, open_queues
from app.store.work.lease_queue import any_ready, lease_jobs, open_attempts
from app.store.work.workers import drained_among, register_workers
from counterpoise.wire.work import ALL, Ask, Job, matches

QueueIds = tuple[int, ...]


def any_jobs_for(database: Database, asks: Sequence[Ask]) -> bool:
    """Whether there is a job for any of these asks.

    Reads only, in a constant number of queries.
    """
    with database.read() as connection:
        queues = open_queues(connection, studies_of(asks))
        wanted: set[int] = set()
        for ask in asks:
            wanted.update(_wanted(ask, queues))
        return bool(wanted) and any_ready(connection, sorted(wanted))


def drained_workers(database: Database, asks: Sequence[Ask]) -> set[str]:
    """The workers among these that get no jobs, so that they need not wait."""
    with database.read() as connection:
        return drained_among(connection, {ask.worker for ask in asks})


def serve_asks(
    database: Database, asks: Sequence[Ask], heartbeat_s: float
) -> list[list[Job]]:
    """Lease jobs for all of these asks at once; returns a list of jobs for each, in
    their order.
    """
    jobs = database.write(_serve, asks, heartbeat_s)
    point("ask.committed")
    return jobs


def _serve(
    connection: Connection, asks: Sequence[Ask], heartbeat_s: float
) -> list[list[Job]]:
    workers = register_workers(connection, [_seen(ask) for ask in asks])
    queues = open_queues(connection, studies_of(asks))
    groups: dict[QueueIds, list[int]] = {}  # by queues wanted: indices of asks
    for index, ask in enumerate(asks):
        wanted = _wanted(ask, queues)
        if wanted and not workers[ask.worker].drained:
            groups.setdefault(wanted, []).append(index)
    leases: list[list[Lease]] = [[] for _ in asks]
    for batch in _disjoint_batches(groups):
        requests = []
        for wanted in batch:
            limit = sum(asks[index].max_jobs for index in groups[wanted])
            requests.append(LeaseRequest(_from_random_study(wanted, queues), limit))
        leased = lease_jobs(connection, requests)
        for wanted in batch:
            available = [lease for lease in leased if lease.objective in wanted]
            _deal(available, groups[wanted], asks, leases)
    with_workers = []
    for ask, own in zip(asks, leases, strict=True):
        worker = workers[ask.worker].id
        with_workers += [(lease, worker, ask.instance) for lease in own]
    open_attempts(connection, with_workers)
    point("ask.written")
    return _jobs(connection, leases, heartbeat_s)


def _seen(ask: Ask) -> WorkerSeen:
    return WorkerSeen(
        name=ask.worker,
        studies=tuple(ask.studies),
        objectives=tuple(ask.objectives),
        slots=ask.max_jobs,
        instance=ask.instance,
    )


def studies_of(asks: Iterable[Ask]) -> list[str] | None:
    """The names of the studies that these asks are for; None: all."""
    names = set(chain.from_iterable(ask.studies for ask in asks))
    return None if ALL in names else sorted(names)


def _wanted(ask: Ask, queues: Sequence[Queue]) -> QueueIds:
    return tuple(queue.id for queue in queues if _is_wanted(ask, queue))


def _is_wanted(ask: Ask, queue: Queue) -> bool:
    return matches(ask.studies, queue.study_name) and matches(
        ask.objectives, queue.objective
    )


def _disjoint_batches(groups: Iterable[QueueIds]) -> list[list[QueueIds]]:
    """Batches in which no queue occurs twice, because a statement must not lease one
    job twice. Mostly one batch.

    FIFO between groups of asks that share a queue: the later group is in no earlier
    batch. Asks of one group are served in turn.
    """
    batches: list[list[QueueIds]] = []
    for group in groups:
        position = 0
        for number, batch in enumerate(batches, 1):
            if any(set(group) & set(other) for other in batch):
                position = number
        if position == len(batches):
            batches.append([])
        batches[position].append(group)
    return batches


def _from_random_study(wanted: QueueIds, queues: Sequence[Queue]) -> list[int]:
    """The queues, beginning at a random study: in a fixed order the first study would
    starve the others.
    """
    study_of = {queue.id: queue.study for queue in queues}
    studies = list(dict.fromkeys(study_of[queue] for queue in wanted))
    first = random.randrange(len(studies))  # noqa: S311
    ranks = {
        study: rank for rank, study in enumerate(studies[first:] + studies[:first])
    }
    return sorted(wanted, key=lambda queue: ranks[study_of[queue]])


def _deal(
    available: Sequence[Lease],
    members: Sequence[int],
    asks: Sequence[Ask],
    leases: list[list[Lease]],
) -> None:
    """One lease to each ask in turn, so that no ask takes all that others wait for."""
    left = list(available)
    while left:
        for index in members:
            if left and len(leases[index]) < asks[index].max_jobs:
                leases[index].append(left.pop(0))


def _jobs(
    connection: Connection, leases: Sequence[Sequence[Lease]], heartbeat_s: float
) -> list[list[Job]]:
    studies = {lease.study for lease in chain.from_iterable(leases)}
    definitions = definitions_of(connection, studies)

    def jobs_of(own: Sequence[Lease]) -> list[Job]:
        return [_job(lease, definitions[lease.study], heartbeat_s) for lease in own]

    return [jobs_of(own) for own in leases]


def _job(lease: Lease, study: Definition, heartbeat_s: float) -> Job:
    run = study.runs[lease.objective]
    variables = [variable.name for variable in study.spec.variables]
    return Job(
        job=lease.job,
        lease=lease.lease,
        study=study.name,
        sample=lease.sample,
        objective=run.name,
        also=run.also,
        x=dict(zip(variables, lease.x, strict=True)),
        attempt=lease.attempt,
        seed=_job_seed(study.seed, lease.x, run.name),
        expires_at=iso(lease.expires_at),
        heartbeat_s=min(heartbeat_s, run.lease_s / 3.0),
        timeout_s=run.timeout_s,
    )


def _job_seed(seed: int, x: Sequence[float], objective: str) -> int:
    """The same for every attempt, and in any database."""
    identity = f"{seed}:{x}:{objective}".encode()
    return int.from_bytes(blake2b(identity, digest_size=4).digest()) >> 1
