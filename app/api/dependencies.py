"""Parameters that several routes share.

The functions are async although none of them waits: FastAPI would call a plain function
in a thread.
"""

from typing import Annotated

from fastapi import Depends, Path, Request

from app.api.batching.event_broadcaster import EventBroadcaster
from app.settings import Settings
from app.store.database import Database
from counterpoise.wire.specification import NAME_RULE


async def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def get_event_broadcaster(request: Request) -> EventBroadcaster:
    broadcaster: EventBroadcaster = request.app.state.event_broadcaster
    return broadcaster


DatabaseDep = Annotated[Database, Depends(get_database)]
SettingsDep = Annotated[Settings, Depends(get_settings)]
EventBroadcasterDep = Annotated[EventBroadcaster, Depends(get_event_broadcaster)]
# The pattern excludes NUL, which databases cannot compare.
StudyName = Annotated[
    str,
    Path(
        description=NAME_RULE, max_length=100, pattern=r"^[^\x00]*$", examples=["wing"]
    ),
]
