"""The SQL statements that a part of a test executes, on all databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def executed_statements() -> Iterator[list[str]]:
    """A list that grows with every statement until the block ends."""
    executed: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        executed.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield executed
    finally:
        event.remove(Engine, "before_cursor_execute", record)
