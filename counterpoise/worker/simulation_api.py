"""What a simulation may return or raise.

Imports nothing large, because evaluation processes load it.
"""

from collections.abc import Mapping
from typing import Any


class Infeasible(Exception):
    """Raised by a simulation: the point has no value.

    It is not retried, and the search avoids that region.
    """


class Infrastructure(Exception):
    """Raised by a simulation: a licence, node or disk failed, not the point.

    It is retried after a while.
    """


# The public name, also in tracebacks
Infeasible.__module__ = Infrastructure.__module__ = "counterpoise"


def to_floats(returned: Any) -> float | dict[str, float]:
    """The returned number, or numbers by name, as floats; TypeError, with the reason,
    for anything else.
    """
    if isinstance(returned, Mapping):
        return {
            str(name): _to_float(value, f"{name!r} is ")
            for name, value in returned.items()
        }
    return _to_float(returned, "")


def _to_float(value: Any, prefix: str) -> float:
    """Accepts int, float and scalars of libraries; not text, not booleans, not arrays
    of several numbers.
    """
    if isinstance(value, str | bytes | bool) or value is None:
        raise TypeError(f"{prefix}{value!r:.100}, not a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{prefix}a {type(value).__name__}, not a number ({error})"
        ) from None
