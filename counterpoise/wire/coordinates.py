"""One coordinate of a point: a number, or what a categorical variable has chosen."""

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Strict

if TYPE_CHECKING:
    # A simulation knows what its variables are: no need to convince a type checker
    Coordinate: TypeAlias = Any
else:
    # Strict, so that each keeps its type. In the order of how frequent they are, in which
    # they are tried when a job is sent.
    Coordinate = (
        Annotated[float, Strict()]
        | Annotated[int, Strict()]
        | Annotated[bool, Strict()]
        | Annotated[str, Strict()]
    )


def coordinate_text(value: Coordinate) -> str:
    """As a command or a file of parameters has it: texts without quotes, booleans as in
    JSON, numbers with all their digits.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else repr(value)


def short_coordinate(value: Coordinate) -> str:
    """For a table."""
    if isinstance(value, bool | str):
        return coordinate_text(value)
    return f"{value:.6g}"
