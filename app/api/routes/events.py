"""What has happened, as it happens: server-sent events of one study, or of all."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query

from app.api.access import READ, Allow
from app.api.batching.event_broadcaster import EventStream
from app.api.dependencies import TheDatabase, TheEventDesk
from app.api.routes.studies import Name
from app.errors import CursorInvalid
from app.service.monitoring.events import begin_feed, begin_study

router = APIRouter(tags=["events"], dependencies=[Depends(Allow(READ))])
_ID = re.compile(r"(?:([0-9]{1,18})-)?([0-9]{1,18})", re.ASCII)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, for ever", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
Follow = Annotated[bool, Query(description="false: only what is there already, then the end")]


@dataclass(frozen=True, slots=True)
class Place:
    """After which event; of which life of a study, if the id says so."""

    life: int | None = None
    number: int | None = None


async def get_place(
    after: Annotated[str | None, Query(description="an event's id; 0 for all that are kept", max_length=40)] = None,
    last_event_id: Annotated[str | None, Header(description="comes before `after`: a client that resumes")] = None,
) -> Place:
    said = last_event_id or after
    if not said:
        return Place()
    found = _ID.fullmatch(said)
    if found is None:
        raise CursorInvalid(f"{said!r} is not an event's id; take the last one you got, 0 for all, or none for now")
    return Place(int(found[1]) if found[1] else None, int(found[2]))


ThePlace = Annotated[Place, Depends(get_place)]


@router.get("/events", summary="Events of all studies", response_class=EventStream, status_code=200, responses=STREAM)
async def get_events(desk: TheEventDesk, place: ThePlace, follow: Follow = True) -> EventStream:
    """Server-sent events from now on, or after `Last-Event-ID`."""
    start = begin_feed(await desk.refresh(), place.life, place.number)
    return EventStream(desk.listen(start, follow=follow))


@router.get(
    "/studies/{name}/events", summary="Events of a study", response_class=EventStream, status_code=200, responses=STREAM
)
async def get_study_events(
    name: Name, database: TheDatabase, desk: TheEventDesk, place: ThePlace, follow: Follow = True
) -> EventStream:
    """Server-sent events from now on, or after `Last-Event-ID`."""
    start = await asyncio.to_thread(begin_study, database, name, place.life, place.number)
    return EventStream(desk.listen(start, follow=follow))
