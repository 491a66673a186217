"""What a simulation may return or raise. Imports nothing heavy: evaluation processes load it."""

from collections.abc import Mapping
from typing import Any


class Infeasible(Exception):
    """Raised by a simulation: the point has no value. It is not tried again, and the search leaves that region."""


class Infrastructure(Exception):
    """Raised by a simulation: licence, node or disk failed, not the point. It is tried again after a while."""


Infeasible.__module__ = Infrastructure.__module__ = "counterpoise"  # where users find them, and tracebacks name them


def numbers_of(returned: Any) -> float | dict[str, float]:
    """Plain floats; TypeError for what is none, in words that a message can quote."""
    if isinstance(returned, Mapping):
        return {str(name): _number(value, f"{name!r} is ") for name, value in returned.items()}
    return _number(returned, "")


def _number(value: Any, name: str) -> float:
    """Anything that is one number: int, float, a library's scalar; not text, not True, not an array of several."""
    if isinstance(value, str | bytes | bool) or value is None:
        raise TypeError(f"{name}{value!r:.100}, not a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name}a {type(value).__name__}, not a number ({error})") from None
