"""How long to wait before the next attempt."""

from app.domain.backoff import backoff


def test_waits_double_up_to_the_longest_after_any_number_of_tries() -> None:
    earlier = (0, 1, 2, 8, 9, 5000)
    waits = [backoff(1.0, count, 300.0) for count in earlier]
    assert waits == [1.0, 2.0, 4.0, 256.0, 300.0, 300.0]
