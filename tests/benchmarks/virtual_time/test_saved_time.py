"""The saved time of made-up simulations, by hand."""

from typing import Any

import pytest

from benchmarks.virtual_time.saved_time import describe, saved_time


def row(mode: str, seed: int, *history: tuple[float, float]) -> dict[str, Any]:
    time, score = history[-1]
    return {
        "mode": mode,
        "seed": seed,
        "makespan": time,
        "igd_plus": score,
        "history": [list(point) for point in history],
    }


def test_time_until_it_is_as_good_as_the_other_one_at_its_end() -> None:
    rows = [
        row("overlap", 0, (10.0, 0.9), (40.0, 0.5), (80.0, 0.2)),
        row("waits", 0, (50.0, 0.9), (100.0, 0.5)),  # saved: 100 - 40
        row("overlap", 1, (10.0, 0.9), (70.0, 0.8)),
        row("waits", 1, (50.0, 0.9), (200.0, 0.5)),  # never as good
    ]
    found = saved_time(rows, "overlap", "waits")
    assert (found.seeds, found.reached) == (2, 1)
    assert found.saved == pytest.approx(30.0)
    assert found.waiting == pytest.approx(150.0)
    assert describe(found, "overlap", "waits").startswith(
        "overlap saves 30 of 150 (20%)"
    )
