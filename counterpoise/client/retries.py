"""How long to wait before a request is repeated."""

import random
import time
from email.utils import parsedate_to_datetime

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
MOST_DOUBLINGS = 16


def pause_s(failures: int) -> float:
    """The pause after this number of failures in a row: exponential back-off with
    jitter.
    """
    longest = min(FIRST_PAUSE_S * 2.0 ** min(failures, MOST_DOUBLINGS), LONGEST_PAUSE_S)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def retry_after_s(header: str) -> float:
    """Of a `Retry-After` header: seconds, or a date; 0 if it is neither."""
    text = header.strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
