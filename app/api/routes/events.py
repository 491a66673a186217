"""Server-sent events of one study, or of all."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query

from app.api.dependencies import DatabaseDep, EventBroadcasterDep, StudyName
from app.api.security.access import READERS
from app.api.server_sent_events import EventStream
from app.errors import CursorInvalid
from app.service.monitoring.events import begin_feed, begin_study

router = APIRouter(tags=["events"], dependencies=READERS)
_EVENT_ID = re.compile(r"(?:([0-9]{1,18})-)?([0-9]{1,18})", re.ASCII)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A stream of events, without end",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
Follow = Annotated[
    bool, Query(description="false: end the stream after the events up to now")
]


@dataclass(frozen=True, slots=True)
class ResumePosition:
    """The event after which a stream begins; without a number, it begins now."""

    study_id: int | None = None  # tells a study from a deleted one of the same name
    number: int | None = None


async def get_resume_position(
    after: Annotated[
        str | None,
        Query(
            description="begin after the event with this id; 0: with the oldest one kept",
            max_length=40,
        ),
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(
            description="the same, sent by a client that resumes; overrides `after`"
        ),
    ] = None,
) -> ResumePosition:
    given = last_event_id or after
    if not given:
        return ResumePosition()
    match = _EVENT_ID.fullmatch(given)
    if match is None:
        raise CursorInvalid(
            f"{given!r} is not an event's id; use the last one received, 0 for all events, or none to begin now"
        )
    study_id, number = match.groups()
    return ResumePosition(int(study_id) if study_id else None, int(number))


ResumePositionDep = Annotated[ResumePosition, Depends(get_resume_position)]


@router.get(
    "/events",
    summary="Events of all studies",
    response_class=EventStream,
    status_code=200,
    responses=STREAM,
)
async def get_events(
    broadcaster: EventBroadcasterDep, position: ResumePositionDep, follow: Follow = True
) -> EventStream:
    """Server-sent events from now on, or after `Last-Event-ID`."""
    start = begin_feed(await broadcaster.refresh(), position.study_id, position.number)
    return EventStream(broadcaster.listen(start, follow=follow))


@router.get(
    "/studies/{name}/events",
    summary="Events of a study",
    response_class=EventStream,
    status_code=200,
    responses=STREAM,
)
async def get_study_events(
    name: StudyName,
    database: DatabaseDep,
    broadcaster: EventBroadcasterDep,
    position: ResumePositionDep,
    follow: Follow = True,
) -> EventStream:
    """Server-sent events from now on, or after `Last-Event-ID`."""
    start = await asyncio.to_thread(
        begin_study, database, name, position.study_id, position.number
    )
    return EventStream(broadcaster.listen(start, follow=follow))
