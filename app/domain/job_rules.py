"""What becomes of a job when a worker speaks, or falls silent: pure rules, no database.

| the lease is      | value                      | infeasible             | error, infrastructure        |
|-------------------|----------------------------|------------------------|------------------------------|
| current           | done                       | failed                 | ready again, or failed       |
| over, job unheld  | done, late                 | failed, late           | noted                        |
| over, job leased  | done, the other is too late| noted                  | noted                        |
| over, job done    | kept as a further attempt  | noted                  | noted                        |
"""

from dataclasses import dataclass

from app.domain.changes import Change, JobRow
from app.store.work.apply import LONGEST_BACKOFF_S

FIRST_BACKOFF_S = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    max_attempts: int
    max_losses: int
    step: int  # the study's last search step: cheap-only jobs of older ones are overtaken
    stopped: bool


def told_value(job: JobRow) -> Change | None:
    """None: a value is there already, and the first one stands."""
    return None if job.state == "done" else Change(job, "done", errors=job.errors, losses=job.losses)


def told_failure(job: JobRow, lease: str, kind: str, limits: Limits) -> Change | None:
    """None: nothing changes, the attempt is noted."""
    current = job.state == "leased" and job.lease == lease
    if kind == "infeasible":
        unheld = job.state in ("ready", "superseded")
        return Change(job, "failed", errors=job.errors, losses=job.losses) if current or unheld else None
    if not current:
        return None
    return failed_again(job, limits) if kind == "error" else lost(job, limits)


def failed_again(job: JobRow, limits: Limits) -> Change:
    errors = job.errors + 1
    if errors >= limits.max_attempts:
        return Change(job, "failed", errors=errors, losses=job.losses)
    return _returned(job, limits, errors=errors, losses=job.losses, backoff_s=None)


def lost(job: JobRow, limits: Limits) -> Change:
    """The lease expired, or the node or the licence failed: not the simulation's fault, but not for ever."""
    losses = job.losses + 1
    if losses >= limits.max_losses:
        return Change(job, "failed", errors=job.errors, losses=losses)
    return _returned(job, limits, errors=job.errors, losses=losses, backoff_s=backoff(losses))


def released(job: JobRow, limits: Limits) -> Change:
    return _returned(job, limits, errors=job.errors, losses=job.losses, backoff_s=None)


def backoff(losses: int) -> float:
    return min(FIRST_BACKOFF_S * 2.0 ** (losses - 1), LONGEST_BACKOFF_S)


def _returned(job: JobRow, limits: Limits, *, errors: int, losses: int, backoff_s: float | None) -> Change:
    overtaken = limits.stopped or (job.cheap_only and job.step < limits.step)
    state = "superseded" if overtaken else "ready"
    return Change(job, state, errors=errors, losses=losses, backoff_s=None if overtaken else backoff_s)
