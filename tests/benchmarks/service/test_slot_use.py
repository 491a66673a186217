"""The benchmark of slow slots with real processes: its figure by hand."""

import pytest

from benchmarks.service.slot_use import busy_share


def test_busy_share_is_that_of_the_time_until_the_last_start() -> None:
    # Two slots, search from 10 on, the last start at 14: 1 + 3 + 2 of 2 * 4 seconds
    intervals = [(8.0, 9.0), (9.0, 11.0), (11.0, 15.0), (11.5, 13.5), (14.0, 20.0)]
    share, span = busy_share(intervals, 10.0, 2)
    assert span == pytest.approx(4.0)
    assert share == pytest.approx((1.0 + 3.0 + 2.0) / 8.0)
