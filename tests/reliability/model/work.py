"""Requests of workers: ask, tell, heartbeat, release; and leases that expire."""

from collections.abc import Iterable, Sequence

from tests.reliability.model.records import Attempt, Job, TellItem
from tests.reliability.model.steps import schedule_due_steps
from tests.reliability.model.study import StudyModel
from tests.reliability.model.transitions import (
    change_other_jobs,
    count_error,
    count_loss,
    return_to_queue,
    set_done,
    set_failed,
)

# Status of a tell, and the state of its job afterwards
Response = tuple[int, str | None]


def ask(model: StudyModel, runs: Sequence[str], max_jobs: int) -> list[int]:
    """The jobs to be leased, in the order of the queues: full before cheap-only, then
    oldest.
    """
    if not model.active:
        return []
    chosen: list[int] = []
    for run in model.rules.runs:
        if run in runs:
            chosen += _queue(model, run)[:max_jobs]
    return chosen[:max_jobs]


def _queue(model: StudyModel, run: str) -> list[int]:
    full: list[int] = []
    cheap_only: list[int] = []
    for number, job in sorted(model.jobs.items()):
        if job.objective == run and job.state == "ready" and not job.backs_off:
            queue = cheap_only if job.cheap_only else full
            queue.append(number)
    return full + cheap_only


def lease(model: StudyModel, number: int, token: str) -> None:
    job = model.jobs[number]
    assert job.state == "ready"
    job.move_to("leased", token)
    job.attempts += 1
    model.attempts[token] = Attempt(number, job.attempts)


def tell(model: StudyModel, items: Sequence[TellItem]) -> list[Response]:
    """One item after the other."""
    responses: list[Response] = []
    for item in items:
        attempt = model.attempts.get(item.lease)
        if attempt is None or attempt.job != item.job:
            responses.append((404, None))
            continue
        status = _tell_item(model, item)
        responses.append((status, model.jobs[item.job].state))
    return responses


def _tell_item(model: StudyModel, item: TellItem) -> int:
    attempt = model.attempts[item.lease]
    job = model.jobs[item.job]
    if attempt.is_reported:
        return 200 if item.repeats(attempt) else 409
    if not set(item.also) <= set(model.rules.runs[job.objective]):
        return 422
    attempt.value = item.value
    attempt.failure = item.failure
    attempt.also = item.also
    if item.value is not None:
        attempt.outcome = _tell_value(model, job, item)
    else:
        attempt.outcome = "failed"
        _tell_failure(model, job, item)
    change_other_jobs(model)
    schedule_due_steps(model)
    return 200


def _tell_value(model: StudyModel, job: Job, item: TellItem) -> str:
    """Return the outcome of the attempt."""
    assert item.value is not None
    if job.state == "done":
        return "duplicate"
    outcome = "done" if job.lease == item.lease else "late"
    set_done(model, job, item.value, item.also)
    return outcome


def _tell_failure(model: StudyModel, job: Job, item: TellItem) -> None:
    is_current = job.lease == item.lease
    if item.failure == "infeasible" and (
        is_current or job.state in ("ready", "superseded")
    ):
        set_failed(model, job, "infeasible")
    elif item.failure == "error" and is_current:
        count_error(model, job)
    elif item.failure == "infrastructure" and is_current:
        count_loss(model, job, "infrastructure")


def expire(model: StudyModel, numbers: Iterable[int]) -> None:
    for number in sorted(numbers):
        job = model.jobs[number]
        model.attempts[job.lease or ""].outcome = "expired"
        model.expired[job.objective] += 1
        count_loss(model, job, "lost")
        change_other_jobs(model)
        schedule_due_steps(model)


def cancel(model: StudyModel, number: int, *, fail: bool) -> bool:
    """Return False if it is refused."""
    job = model.jobs[number]
    if not job.is_open or (job.lease is None and not fail):
        return False
    if job.lease is not None:
        model.attempts[job.lease].outcome = "cancelled"
    if fail:
        set_failed(model, job, "error")
    else:
        count_loss(model, job, "lost")
    model.log_events("cancelled")
    change_other_jobs(model)
    schedule_due_steps(model)
    return True


def may_revive(model: StudyModel, token: str) -> bool:
    attempt = model.attempts[token]
    job = model.jobs[attempt.job]
    return (
        attempt.outcome == "expired"
        and job.state == "ready"
        and attempt.number == job.attempts
    )


def heartbeat(model: StudyModel, token: str) -> tuple[bool, bool]:
    """Whether the lease is current afterwards, and whether the worker is advised to
    cancel.
    """
    attempt = model.attempts[token]
    job = model.jobs[attempt.job]
    if may_revive(model, token):
        attempt.outcome = None
        job.move_to("leased", token)
        job.losses = max(job.losses - 1, 0)
    if job.lease == token:
        is_ruled_out = model.samples[job.sample].infeasible
        return True, model.cancel_running or is_ruled_out
    value_is_wanted = attempt.outcome == "expired" and job.state in (
        "ready",
        "leased",
        "failed",
    )
    return False, model.cancel_running or not value_is_wanted


def release(model: StudyModel, token: str) -> bool:
    attempt = model.attempts[token]
    job = model.jobs[attempt.job]
    if job.lease != token:
        return False
    attempt.outcome = "released"
    return_to_queue(model, job)
    if job.state == "superseded":
        schedule_due_steps(model)
    return True


def end_backoffs(model: StudyModel) -> None:
    for job in model.jobs.values():
        job.backs_off = False
