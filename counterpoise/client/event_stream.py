"""Server-sent events: a stream that ends is opened again after the last event, while
the server is available.
"""

import json
import time
from collections.abc import Iterator

from pydantic import ValidationError

from counterpoise.client.connection import Connection
from counterpoise.client.retries import pause_s
from counterpoise.errors import ServerUnavailable
from counterpoise.wire.codes import EventKind
from counterpoise.wire.events import Event

SILENCE_S = 45.0  # the server sends something every 15 s


def stream_events(
    connection: Connection, path: str, after: str | None, *, follow: bool
) -> Iterator[Event]:
    """Events after this id (None: from now on), each once.

    Ends with a deleted study, or without `follow`.
    """
    failures = 0
    deadline = time.monotonic() + connection.retry_s
    while True:
        unavailable: ServerUnavailable | None = None
        closed_by_server = False
        try:
            for event in _read_stream(connection, path, after, follow):
                after = event.id or after
                failures = 0
                deadline = time.monotonic() + connection.retry_s
                closed_by_server = event.kind == EventKind.CLOSED
                if closed_by_server:
                    break
                if event.kind:
                    yield event
                if event.kind == EventKind.DELETED and path != "/events":
                    return
            if not (closed_by_server or follow):
                return
        except ServerUnavailable as error:
            unavailable = error
        pause = pause_s(failures)
        if unavailable is not None and time.monotonic() + pause > deadline:
            raise unavailable
        time.sleep(pause)
        failures += 1


def _read_stream(
    connection: Connection, path: str, after: str | None, follow: bool
) -> Iterator[Event]:
    params = {} if after is None else {"after": after}
    if not follow:
        params["follow"] = "false"
    return parse_events(
        connection, split_lines(connection.stream(path, params, SILENCE_S))
    )


def split_lines(parts: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").removesuffix("\r")


def parse_events(connection: Connection, lines: Iterator[str]) -> Iterator[Event]:
    """A block with only an id, at the beginning of a stream, is an event without a
    kind.
    """
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        else:
            if "data" in fields or "id" in fields:
                yield _event(connection, fields)
            fields = {}


def _event(connection: Connection, fields: dict[str, str]) -> Event:
    try:
        data = json.loads(fields.get("data", "{}"))
        return Event(
            id=fields.get("id", ""),
            kind=fields.get("event", ""),
            study=data.get("study"),
            seq=data.get("seq"),
            at=data.get("at"),
            data=data,
        )
    except (ValueError, ValidationError, AttributeError):
        raise connection.unexpected(
            "an event is not what this version expects"
        ) from None
