"""Errors as they are sent to clients."""

import difflib
import re
from collections.abc import Iterable

from pydantic import BaseModel, Field

from counterpoise.wire.text import printable


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    pointer: str = Field(
        description="where: a JSON pointer into the body, or the parameter", examples=["#/variables/0/low"]
    )
    detail: str = Field(description="what is wrong there", examples=["Input should be a valid number"])
    row: int | None = Field(None, description="of an imported file: the line of a CSV file, the index in a JSON list")
    related_row: int | None = Field(None, description="another row of the same file that contradicts this one")


class Problem(BaseModel):
    """An error, as RFC 9457 `application/problem+json`."""

    type: str = Field(
        description="stable name of the kind of problem", examples=["urn:counterpoise:problem:invalid-request"]
    )
    title: str = Field(description="the kind of problem in words", examples=["The request is not valid"])
    status: int = Field(examples=[422])
    detail: str = Field(description="what happened here, and how to put it right")
    instance: str = Field(description="the path that was asked for", examples=["/studies"])
    request_id: str = Field(description="the same id as in the server's log and the X-Request-ID header")
    errors: list[Fault] = Field(default=[], description="every fault of an invalid request")


class Status(BaseModel):
    """What a health check answers."""

    status: str = Field(examples=["ok"])


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """The end of a message: "; did you mean 'crash'?", or nothing if nothing is near."""
    near = difflib.get_close_matches(word, list(choices), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def must_be_one_of(expected: str, given: object) -> str:
    """`expected` as pydantic lists choices: "'a', 'b' or 'c'"."""
    choices = re.findall(r"'([^']*)'", expected)
    return f"must be one of {', '.join(choices)}{did_you_mean(str(given)[:100], choices)}"


def fault_at(location: Iterable[int | str], detail: str) -> Fault:
    pointer = "#" + "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in location)
    return Fault(pointer=printable(pointer), detail=printable(detail))
