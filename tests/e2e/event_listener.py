"""A minimal client for server-sent events: a test runs a thousand of them."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any
from urllib.parse import urlsplit

ReceivedEvent = tuple[str, str, dict[str, Any]]


async def listen(
    url: str, path: str, last_id: str | None = None
) -> AsyncGenerator[ReceivedEvent, None]:
    """Events (id, kind, data) until the server ends the stream; the first one, of kind
    `begin`, is only an id.
    """
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    resume = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\n{resume}Connection: close\r\n\r\n".encode()
    )
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        fields: dict[str, str] = {}
        async for line in lines(reader):
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                if "data" in fields:
                    yield (
                        fields.get("id", ""),
                        fields["event"],
                        json.loads(fields["data"]),
                    )
                elif "id" in fields:
                    yield fields["id"], "begin", {}
                fields = {}
    finally:
        writer.close()


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    rest = b""
    while size := int(await reader.readline() or b"0", 16):  # chunks
        rest += await reader.readexactly(size)
        await reader.readexactly(2)
        *whole, rest = rest.split(b"\n")
        for line in whole:
            yield line.decode()
