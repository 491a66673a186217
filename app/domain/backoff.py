"""How long to wait before the next attempt."""

MOST_DOUBLINGS = 64  # beyond any longest wait; 2.0 ** 1024 overflows


def backoff(first_s: float, earlier: int, longest_s: float) -> float:
    """Seconds: doubled with each earlier attempt, up to the longest."""
    return min(first_s * 2.0 ** min(earlier, MOST_DOUBLINGS), longest_s)
