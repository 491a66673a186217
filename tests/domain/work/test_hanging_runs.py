from app.domain.work.hanging_runs import longest_expected_s


def test_a_run_may_take_ten_times_the_upper_quartile() -> None:
    """The inclusive upper quartile of 10, 20 … 100 is 77.5."""
    assert longest_expected_s([10.0 * k for k in range(1, 11)]) == 775.0


def test_nothing_is_expected_of_fewer_than_ten_runs() -> None:
    assert longest_expected_s([1.0] * 9) is None


def test_a_run_of_less_than_a_minute_never_hangs() -> None:
    assert longest_expected_s([0.01] * 10) == 60.0
