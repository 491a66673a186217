"""Changes of several studies, each in a transaction of its own."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from app.store.database import Connection, Database

T = TypeVar("T")


def write_each(
    database: Database,
    function: Callable[[Connection, int, T], Any],
    arguments: Mapping[int, T],
) -> None:
    """Call the function with each id and its argument.

    An error of one must not keep the others from being written: the first one is raised
    at the end.
    """
    errors: list[Exception] = []
    for id_, argument in arguments.items():
        try:
            database.write(function, id_, argument)
        except Exception as error:  # noqa: BLE001  raised below
            errors.append(error)
    if errors:
        raise errors[0]
