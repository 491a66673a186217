"""Pages of lists: the `limit` and `cursor` of a request, and the `next` of a response."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from app.errors import CursorInvalid
from counterpoise.wire.views import Page

Item = TypeVar("Item")
LARGEST_CURSOR = 2**62
# for readers of the OpenAPI document; `get_page_request` checks the cursor
CURSOR_PATTERN = "^[0-9]{1,18}$"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """At most `limit` items after the number `after`."""

    limit: int
    after: int


async def get_page_request(
    limit: Annotated[
        int, Query(ge=1, le=1000, description="the largest number of items to return")
    ] = 100,
    cursor: Annotated[
        str | None,
        Query(
            description="`next` of the previous page",
            max_length=20,
            json_schema_extra={"pattern": CURSOR_PATTERN},
        ),
    ] = None,
) -> PageRequest:
    if cursor is None:
        return PageRequest(limit, 0)
    is_number = cursor.isascii() and cursor.isdecimal()
    if not is_number or int(cursor) >= LARGEST_CURSOR:
        raise CursorInvalid(
            f"{cursor!r} is not a cursor; use `next` of the previous page, or no cursor"
        )
    return PageRequest(limit, int(cursor))


PageRequestDep = Annotated[PageRequest, Depends(get_page_request)]


def to_page(
    numbered_items: Sequence[tuple[int, Item]], request: PageRequest
) -> Page[Item]:
    """A page of items, each given with the number after which the next page begins."""
    items = [item for _, item in numbered_items]
    is_full = len(items) == request.limit
    last_number = str(numbered_items[-1][0]) if is_full else None
    return Page(items=items, next=last_number)
