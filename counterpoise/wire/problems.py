"""Errors as they are sent to clients."""

import difflib
import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from counterpoise.wire.text import printable


class Fault(BaseModel):
    """One fault of a request."""

    pointer: str = Field(
        description="where: a JSON pointer into the body, or the parameter",
        examples=["#/variables/0/low"],
    )
    detail: str = Field(
        description="what is wrong there", examples=["Input should be a valid number"]
    )
    row: int | None = Field(
        None,
        description="of an imported file: the line of a CSV file, the index in a JSON list",
    )
    related_row: int | None = Field(
        None, description="another row of the same file that contradicts this one"
    )


class Problem(BaseModel):
    """An error, as RFC 9457 `application/problem+json`."""

    type: str = Field(
        description="stable name of the kind of problem",
        examples=["urn:counterpoise:problem:invalid-request"],
    )
    title: str = Field(
        description="the kind of problem, for people",
        examples=["The request is not valid"],
    )
    status: int = Field(examples=[422])
    detail: str = Field(description="what happened, and what to do")
    instance: str = Field(description="the path of the request", examples=["/studies"])
    request_id: str = Field(
        description="the same id as in the server's log and the X-Request-ID header"
    )
    errors: list[Fault] = Field(
        default=[], description="the faults of an invalid request, at most 1,000"
    )
    error_count: int | None = Field(
        None, description="of an import: all faults, also those that are not listed"
    )


class Status(BaseModel):
    """The response of a health check."""

    status: str = Field(examples=["ok"])


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """The end of a message: "; did you mean 'crash'?", or an empty string if no choice
    is similar.
    """
    similar = difflib.get_close_matches(word, list(choices), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def must_be_one_of(expected: str, given: object) -> str:
    """`expected` as pydantic lists choices: "'a', 'b' or 'c'"."""
    choices = re.findall(r"'([^']*)'", expected)
    return (
        f"must be one of {', '.join(choices)}{did_you_mean(str(given)[:100], choices)}"
    )


def fault_at(location: Iterable[int | str], detail: str) -> Fault:
    return Fault(pointer=printable(json_pointer(location)), detail=printable(detail))


def json_pointer(location: Iterable[int | str]) -> str:
    """As in RFC 6901, in a URI fragment: `#/variables/0/low`."""
    pointer = "#"
    for part in location:
        escaped = str(part).replace("~", "~0").replace("/", "~1")
        pointer += f"/{escaped}"
    return pointer


def list_faults(faults: Sequence[Fault], count: int | None = None) -> str:
    """The end of a message: each fault with its place, on a line of its own.

    `count` is the number of all faults, if not all are given.
    """
    lines = []
    for fault in faults:
        related = (
            ""
            if fault.related_row is None
            else f" (the other row: {fault.related_row})"
        )
        lines.append(f"\n  {fault.pointer}: {fault.detail}{related}")
    if count is not None and count > len(faults):
        lines.append(f"\n  and {count - len(faults)} more")
    return "".join(lines)
