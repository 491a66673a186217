"""What routes are given: database, settings, desks, and the page that is asked for.

All async, though none waits: what is not is sent to a thread for every request.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from app.api.batching.event_broadcaster import EventDesk
from app.errors import CursorInvalid
from app.settings import Settings
from app.store.database import Database


async def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def get_event_desk(request: Request) -> EventDesk:
    desk: EventDesk = request.app.state.event_desk
    return desk


@dataclass(frozen=True, slots=True)
class Window:
    """Which page: at most `limit` items after the last one of the page before."""

    limit: int
    after: int


async def get_window(
    limit: Annotated[int, Query(ge=1, le=1000, description="at most so many items")] = 100,
    cursor: Annotated[
        str | None,
        # The pattern is for readers of the document; what does not fit is refused below, with a way out.
        Query(description="`next` of the page before", max_length=20, json_schema_extra={"pattern": "^[0-9]{1,18}$"}),
    ] = None,
) -> Window:
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and int(cursor) < 2**62):
        raise CursorInvalid(f"{cursor!r} is not a cursor; take `next` of the page before, or leave it out")
    return Window(limit, int(cursor or 0))


TheDatabase = Annotated[Database, Depends(get_database)]
TheSettings = Annotated[Settings, Depends(get_settings)]
TheEventDesk = Annotated[EventDesk, Depends(get_event_desk)]
ThePage = Annotated[Window, Depends(get_window)]
