"""Paces are compared with the other workers' median, by run."""

from dataclasses import replace

from app.domain.monitoring.speeds import speeds
from app.domain.monitoring.timeline import SlotAttempt
from counterpoise.wire.codes import Outcome


def attempt(
    worker: int, took_s: float, outcome: Outcome = Outcome.DONE, objective: int = 1
) -> SlotAttempt:
    return SlotAttempt(
        id=1,
        job=1,
        number=1,
        objective=objective,
        worker=worker,
        started_at=100.0,
        ended_at=100.0 + took_s,
        outcome=outcome,
        failure=None,
    )


def test_pace_is_the_median_over_the_median_of_the_others() -> None:
    slow = [attempt(1, took_s) for took_s in (8.0, 9.0, 40.0)]
    others = [attempt(2, took_s) for took_s in (2.0, 4.0)] + [attempt(3, 6.0)]
    first, *rest = speeds([*others, *slow])
    assert (first.worker, first.done, first.median_s) == (1, 3, 9.0)
    assert first.pace == 9.0 / 4.0
    assert first.is_slow
    assert {speed.worker: speed.pace for speed in rest} == {2: 3.0 / 8.5, 3: 6.0 / 8.0}
    assert not any(speed.is_slow for speed in rest)


def test_failures_are_counted_and_enter_no_median() -> None:
    lost = attempt(1, 500.0, Outcome.EXPIRED)
    (speed,) = speeds([attempt(1, 2.0), attempt(1, 90.0, Outcome.FAILED), lost])
    assert (speed.done, speed.failed, speed.median_s) == (1, 2, 2.0)
    assert speed.pace is None  # nobody to compare with


def test_the_time_that_a_worker_measured_counts() -> None:
    measured = replace(attempt(1, 90.0), duration_s=4.0)
    (speed,) = speeds([measured])
    assert speed.median_s == 4.0


def test_few_runs_make_nobody_slow_and_runs_are_not_mixed() -> None:
    usual = [attempt(2, 1.0) for _ in range(3)]
    found = speeds([attempt(1, 9.0), *usual, attempt(1, 99.0, objective=2)])
    by_key = {(speed.worker, speed.objective): speed for speed in found}
    assert by_key[1, 1].pace == 9.0
    assert not by_key[1, 1].is_slow
    assert by_key[1, 2].pace is None
