"""Workers, known by the name that they give."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from counterpoise.wire.codes import FailureKind, Outcome
from counterpoise.wire.work import matches

ALIVE_S = 120.0  # workers poll at least every minute
FAILURE_COUNTS = tuple(FailureKind)
# How an attempt's outcome counts for its worker; a failure counts as its kind, released
# and overtaken ones not at all.
COUNTED_AS = {
    Outcome.DONE: "done",
    Outcome.LATE: "done",
    Outcome.DUPLICATE: "done",
    Outcome.EXPIRED: "lost",
}


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker that asked, and what it asked for."""

    name: str
    studies: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    slots: int = 1
    instance: str | None = None  # of its process


@dataclass(frozen=True, slots=True)
class HeldLease:
    job: int
    leased_at: float


@dataclass(frozen=True, slots=True)
class RunningJob:
    job: int
    objective: int
    objective_name: str
    worker_id: int
    worker: str
    leased_at: float


@dataclass(frozen=True, slots=True)
class Worker:
    id: int
    name: str
    first_seen_at: float
    last_seen_at: float
    studies: list[str]  # that it asked for last
    objectives: list[str]
    slots: int  # the most jobs that it ever asked for at once
    drained: bool
    done: int
    failures: dict[str, int]
    busy_s: float
    # When a process asked under this name although another one had begun to.
    shared_at: float | None = None
    left_at: float | None = None  # when it said goodbye, until it asks again

    def is_shared(self, now: float) -> bool:
        """Whether two processes ask under this name."""
        return self.shared_at is not None and abs(now - self.shared_at) < ALIVE_S

    def takes(self, study: str, objective: str) -> bool:
        """Whether it asks for these jobs, drained or not."""
        return matches(self.studies, study) and matches(self.objectives, objective)

    def is_alive(self, held: Sequence[HeldLease], now: float) -> bool:
        """It asked recently and has not ended, or holds a job: a worker that computes
        for hours does not ask.
        """
        was_seen = abs(now - self.last_seen_at) < ALIVE_S
        return bool(held) or (was_seen and self.left_at is None)

    def busy_share(self, held: Sequence[HeldLease], now: float) -> float:
        """Share of its slots' time, from first to last seen, in which they held jobs.

        At most 1: several processes with one name may hold more jobs than it asked for
        at once.
        """
        present_s = (now if held else self.last_seen_at) - self.first_seen_at
        if present_s <= 0:
            return 0.0
        busy_s = self.busy_s + sum(now - lease.leased_at for lease in held)
        return min(max(busy_s / (present_s * self.slots), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """The live workers that take an objective's jobs, and those that would if they were
    not drained.
    """

    able: Sequence[Worker]
    drained: Sequence[Worker]
    slots: int = 0  # of those that are able
    busy: int = 0

    @property
    def has_free_slots(self) -> bool:
        return self.busy < self.slots


def pool_of(
    workers: Iterable[Worker],
    held: Mapping[int, Sequence[HeldLease]],
    study: str,
    objective: str,
) -> WorkerPool:
    """`workers`: live ones; `held`: their leases, by worker."""
    taking = [worker for worker in workers if worker.takes(study, objective)]
    able = [worker for worker in taking if not worker.drained]
    return WorkerPool(
        able=able,
        drained=[worker for worker in taking if worker.drained],
        slots=sum(worker.slots for worker in able),
        # Several processes with one name may hold more than it asked for
        busy=sum(min(len(held.get(worker.id, ())), worker.slots) for worker in able),
    )
