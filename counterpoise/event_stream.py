"""Listening to events: the stream is opened again where it ended, as long as the server comes back."""

import json
import time
from collections.abc import Iterator

from pydantic import ValidationError

from counterpoise.connection import Connection, pause_s
from counterpoise.errors import ServerAway
from counterpoise.wire.events import Event

QUIET_S = 45.0  # the server says something every 15 s


def listen(connection: Connection, path: str, after: str | None, *, follow: bool) -> Iterator[Event]:
    """Events after this id (None: from now on), each once. Ends with a deleted study, or without `follow`."""
    tried, deadline = 0, time.monotonic() + connection.retry_s
    while True:
        away: ServerAway | None = None
        try:
            ended = True
            for event in parse(connection, lines(connection.stream(path, _place(after, follow), QUIET_S))):
                after = event.id or after
                tried, deadline = 0, time.monotonic() + connection.retry_s
                if event.kind == "closed":
                    ended = False
                    break
                if event.kind:
                    yield event
                if event.kind == "deleted" and path != "/events":
                    return
            if ended and not follow:
                return
        except ServerAway as error:
            away = error
        pause = pause_s(tried)  # once: it is another one each time
        if away is not None and time.monotonic() + pause > deadline:
            raise away
        time.sleep(pause)
        tried += 1


def _place(after: str | None, follow: bool) -> dict[str, str]:
    return ({} if after is None else {"after": after}) | ({} if follow else {"follow": "false"})


def lines(parts: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").removesuffix("\r")


def parse(connection: Connection, lines: Iterator[str]) -> Iterator[Event]:
    """A block that has only an id, where a stream begins, is an event without a kind."""
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
        about = {name: data.get(name) for name in ("study", "seq", "at")}
        return Event(id=fields.get("id", ""), kind=fields.get("event", ""), data=data, **about)
    except (ValueError, ValidationError, AttributeError):
        raise connection.not_understood("an event is not what this version expects") from None
