"""A request is limited in size and duration, from its first byte."""

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from app.api.security.http_protocol import LimitedHttpProtocol
from app.server import bind, configure_uvicorn
from app.settings import load_settings
from tests.e2e.processes import PATIENCE_S, eventually

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = b"X: " + b"x" * (LimitedHttpProtocol.MAX_HEAD_BYTES + 1)
MANY = b"X: x\r\n" * LimitedHttpProtocol.MAX_HEAD_BYTES


class ImpatientProtocol(LimitedHttpProtocol):
    MAX_HEAD_S = 0.3
    MAX_BODY_S = 0.3


async def respond_with_size(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"size {len(body)}")(scope, receive, send)


@pytest.fixture(scope="module", params=[LimitedHttpProtocol, ImpatientProtocol])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    config = uvicorn.Config(
        respond_with_size, http=request.param, log_config=None, lifespan="off"
    )
    server = uvicorn.Server(config)
    with bind("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        eventually(lambda: server.started, "the server")
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


limited = pytest.mark.parametrize("port", [LimitedHttpProtocol], indirect=True)
impatient = pytest.mark.parametrize("port", [ImpatientProtocol], indirect=True)


def exchange(port: int, *parts: bytes) -> bytes:
    """What the server sends, until it closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            while data := connection.recv(65536):
                received += data
        except (ConnectionResetError, BrokenPipeError):
            pass  # the rest was not read
    return received


@limited
@pytest.mark.parametrize(
    "head",
    [
        GET + ENDLESS,
        GET + MANY,
        GET + ENDLESS + b"\r\n\r\n",
        b"GET /" + ENDLESS[3:],
        CHUNKED + b"1\r\nx\r\n0\r\n" + MANY,
    ],
)
def test_a_large_head_is_refused_before_it_ends(port: int, head: bytes) -> None:
    response = exchange(port, head)
    assert response == b"" or response.startswith(b"HTTP/1.1 431 ")


@limited
def test_large_bodies_and_ordinary_heads_are_served(port: int) -> None:
    size = 4 * LimitedHttpProtocol.MAX_HEAD_BYTES
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n" % size
    cookies = b"Cookie: " + b"c" * 8000 + b"\r\nConnection: close\r\n\r\n"
    response = exchange(port, head + cookies, b"x" * size)
    assert response.endswith(b"size %d" % size)
    chunks = b"1\r\nx\r\n" * size  # more framing than a head may have
    closing = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert exchange(port, closing, chunks, b"0\r\n\r\n").endswith(b"size %d" % size)


@impatient
@pytest.mark.parametrize("part", [GET, POST, POST + b"x", CHUNKED])
def test_half_a_request_is_ended(port: int, part: bytes) -> None:
    exchange(port, part)


@impatient
def test_a_connection_without_a_request_is_ended(port: int) -> None:
    assert exchange(port, b"") == b""


@impatient
def test_half_a_second_request_is_ended(port: int) -> None:
    response = exchange(port, GET + b"\r\n", GET)
    assert response.count(b"HTTP/1.1 200") == 1
    assert response.endswith(b"connection: close\r\n\r\n")
    assert b"HTTP/1.1 408 " in response


def test_the_server_uses_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("server") / "counterpoise.db"
    config = configure_uvicorn(load_settings(database_url=f"sqlite:///{file}"))
    assert config.http_protocol_class is LimitedHttpProtocol
