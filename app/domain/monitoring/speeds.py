"""How fast each worker is at each run, compared with the other workers."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.monitoring.timeline import FAILED, SlotAttempt
from counterpoise.wire.codes import Outcome

RETURNED = (Outcome.DONE, Outcome.LATE)
ENOUGH = 3  # runs of a worker, and of the others, to compare their medians
SLOW = 1.5


@dataclass(frozen=True, slots=True)
class Speed:
    worker: int
    objective: int
    done: int
    failed: int
    median_s: float | None
    pace: float | None

    @property
    def is_slow(self) -> bool:
        return self.done >= ENOUGH and self.pace is not None and self.pace >= SLOW


def speeds(attempts: Sequence[SlotAttempt]) -> list[Speed]:
    """One record per worker and objective, the slowest first."""
    by_run: dict[int, list[SlotAttempt]] = {}
    for attempt in attempts:
        by_run.setdefault(attempt.objective, []).append(attempt)
    found = []
    for objective, of_run in sorted(by_run.items()):
        workers = sorted({attempt.worker for attempt in of_run})
        found += [_speed(of_run, objective, worker) for worker in workers]
    return sorted(found, key=lambda speed: -(speed.pace or 0.0))


def _speed(of_run: Sequence[SlotAttempt], objective: int, worker: int) -> Speed:
    own = [attempt for attempt in of_run if attempt.worker == worker]
    others = [attempt for attempt in of_run if attempt.worker != worker]
    times, other_times = _durations(own), _durations(others)
    median_s = statistics.median(times) if times else None
    pace = None
    if median_s is not None and len(other_times) >= ENOUGH:
        usual_s = statistics.median(other_times)
        pace = median_s / usual_s if usual_s > 0 else None
    return Speed(
        worker=worker,
        objective=objective,
        done=len(times),
        failed=sum(attempt.outcome in FAILED for attempt in own),
        median_s=median_s,
        pace=pace,
    )


def _durations(attempts: Sequence[SlotAttempt]) -> list[float]:
    returned = [attempt for attempt in attempts if attempt.outcome in RETURNED]
    return [attempt.took_s for attempt in returned if attempt.took_s is not None]
