"""Times for people and programs: seconds since 1970 inside, ISO 8601 in UTC outside."""

from datetime import UTC, datetime
from typing import overload


@overload
def iso(seconds: float) -> str: ...
@overload
def iso(seconds: None) -> None: ...
def iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return (
        datetime.fromtimestamp(seconds, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
