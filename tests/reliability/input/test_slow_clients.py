"""Clients that send slowly, never read, send too much or disconnect: others are served,
and nothing remains.
"""

import json
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import psutil
import pytest

from app.service.work.expire import expire_leases
from app.store.database import Database
from app.store.tables import attempts
from tests.api.wing import SPEC
from tests.e2e.processes import PATIENCE_S, eventually
from tests.reliability.input.stored_rows import all_rows, unchanged
from tests.worker.in_process_server import serving_here

LEASE_S = 2.0
CLIENTS = 30  # of each kind
JOBS = 40  # of each objective
MAX_BODY_BYTES = 8 * 2**20
ASK = {"worker": "gone", "studies": ["wing"], "objectives": ["drag"], "wait_s": 60}
LONG_POLL = json.dumps(ASK).encode()


class AttackedServer:
    """A server, with raw connections to it and a client that behaves."""

    def __init__(self, url: str, database: Database) -> None:
        self.database = database
        self.client = httpx.Client(base_url=url, timeout=PATIENCE_S)
        self.port = int(url.rpartition(":")[2])

    @contextmanager
    def connection(
        self, *parts: bytes, receive_buffer: int | None = None
    ) -> Iterator[socket.socket]:
        """A connection that has sent these parts; beyond `receive_buffer` the server
        must wait to respond.
        """
        with socket.socket() as connection:
            if receive_buffer is not None:
                connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer
                )
            connection.settimeout(PATIENCE_S)
            connection.connect(("127.0.0.1", self.port))
            for part in parts:
                connection.sendall(part)
            yield connection

    def request(self, path: str, body: bytes, *headers: str) -> bytes:
        """The bytes of a POST."""
        start = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Content-Type: application/json",
        ]
        lines = [*start, *headers, f"Content-Length: {len(body)}", "", ""]
        return "\r\n".join(lines).encode() + body

    def lease(self, **changes: Any) -> list[dict[str, Any]]:
        ask = {**ASK, "worker": "good", **changes}
        response = self.client.post("/ask", json=ask)
        jobs: list[dict[str, Any]] = response.json()["jobs"]
        return jobs

    def check_serves(self) -> None:
        """The server responds to everything that a worker needs."""
        (job,) = self.lease(objectives=["mass"])
        assert (
            self.client.post("/heartbeat", json={"leases": [job["lease"]]}).status_code
            == 200
        )
        told = self.client.post(
            "/tell", json={"job": job["job"], "lease": job["lease"], "value": 1.0}
        )
        assert (told.status_code, told.json()["state"]) == (200, "done")
        assert self.client.get("/studies/wing").status_code == 200
        assert (
            len(self.client.get("/studies/wing/export/samples").text.splitlines()) > 4
        )

    def waiting_asks(self) -> float:
        metrics = self.client.get("/metrics").text
        (value,) = re.findall(
            r"^counterpoise_asks_waiting (.*)$", metrics, re.MULTILINE
        )
        return float(value)

    def await_waiting_asks(self, count: int) -> None:
        eventually(lambda: self.waiting_asks() == count, f"{count} waiting asks")

    def open_connections(self) -> int:
        connections = psutil.Process().net_connections("tcp")
        established = [
            connection
            for connection in connections
            if connection.status == psutil.CONN_ESTABLISHED
        ]
        return sum(connection.laddr.port == self.port for connection in established)

    def outcomes(self) -> list[str | None]:
        column = attempts.c.keys().index("outcome")
        return [row[column] for row in all_rows(self.database)["attempts"]]


@pytest.fixture
def server(database_url: str, database: Database) -> Iterator[AttackedServer]:
    objectives = [{"name": "mass"}, {"name": "drag"}]
    spec = {
        **SPEC,
        "budget": JOBS,
        "initial_samples": JOBS,
        "objectives": objectives,
        "lease_s": LEASE_S,
    }
    with serving_here(database_url) as url:
        server = AttackedServer(url, database)
        server.client.post("/studies", json=spec).raise_for_status()
        eventually(
            lambda: server.client.get("/studies/wing/jobs").json()["items"],
            "the design",
        )
        yield server
        server.client.close()


def reset(connection: socket.socket) -> None:
    """Close with RST, as the firewall of a machine does that lost its power."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_response(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Status and body, when the server has sent all or closes."""
    received = b""
    while b"\r\n\r\n" not in received or not received.rstrip().endswith(b"}"):
        part = connection.recv(65536)
        if not part:
            break
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_slow_clients_delay_no_other_and_leave_nothing_behind(
    server: AttackedServer,
) -> None:
    """Half a head, a body byte by byte, responses that are never read, asks that wait."""
    tell = server.request(
        "/tell", b'{"job": 1, "lease": "' + b"0" * 32 + b'", "value": 1.5}'
    )
    large_response = server.request("/openapi.json", b"").replace(b"POST", b"GET", 1)
    server.client.post("/studies/wing/pause").raise_for_status()
    threads = psutil.Process().num_threads()
    with ExitStack() as stack:
        heads = []
        bodies = []
        for _ in range(CLIENTS):
            heads.append(
                stack.enter_context(
                    server.connection(b"GET /healthz HTTP/1.1\r\nHost: a\r\n")
                )
            )
            bodies.append(stack.enter_context(server.connection(tell[:-20])))
            stack.enter_context(server.connection(server.request("/ask", LONG_POLL)))
        stack.enter_context(server.connection(large_response * 60, receive_buffer=4096))
        server.await_waiting_asks(CLIENTS)
        server.client.post("/studies/wing/resume").raise_for_status()
        for sent in range(3):
            for head in heads:
                head.sendall(b"X-Slow: %d\r\n" % sent)
            for body in bodies:
                body.sendall(tell[-20 + sent : -19 + sent])
            server.check_serves()
        # Of a pool, not one for each client
        assert psutil.Process().num_threads() <= threads + 50
        bodies[0].sendall(tell[-17:])  # a slow client gets its response in the end
        assert read_response(bodies[0])[0] == 404
    eventually(lambda: server.open_connections() <= 1, "the end of all connections")
    server.await_waiting_asks(0)
    server.check_serves()


@pytest.mark.parametrize("disconnect", [socket.socket.close, reset])
def test_client_that_left_a_long_poll_gets_no_job(
    server: AttackedServer, disconnect: Callable[[socket.socket], None]
) -> None:
    server.client.post("/studies/wing/pause").raise_for_status()
    for _ in range(10):
        with server.connection(server.request("/ask", LONG_POLL)) as connection:
            server.await_waiting_asks(1)
            disconnect(connection)
            server.await_waiting_asks(0)
    server.client.post("/studies/wing/resume").raise_for_status()
    assert len(server.lease(max_jobs=256)) == JOBS


def test_job_whose_response_was_lost_returns_after_its_lease(
    server: AttackedServer,
) -> None:
    """Clients disconnect before the response: what was leased to them expires, and
    another worker gets it.
    """
    ask = json.dumps({**ASK, "wait_s": 0}).encode()
    for _ in range(20):
        with server.connection(server.request("/ask", ask)) as connection:
            reset(connection)
    server.await_waiting_asks(0)
    leased: set[int] = set()

    def lease_all() -> bool:
        leased.update(job["job"] for job in server.lease(wait_s=0, max_jobs=256))
        return len(leased) == JOBS

    eventually(lease_all, "every job")


def test_partial_tell_is_ignored_and_complete_tell_counts_without_a_reader(
    server: AttackedServer,
) -> None:
    (job,) = server.lease()
    told = {"job": job["job"], "lease": job["lease"], "value": 1.5}
    request = server.request("/tell", json.dumps(told).encode())
    for length in (len(request) - 1, len(request) - 30, 40):
        with server.connection(request[:length]) as connection:
            reset(connection)
    server.client.get("/healthz")
    assert set(server.outcomes()) <= {None, "expired"}
    with server.connection(request) as connection:
        connection.shutdown(socket.SHUT_RD)
        connection.close()
    eventually(lambda: {"done", "late"} & set(server.outcomes()), "the value")
    repeated = server.client.post("/tell", json=told)
    assert (repeated.status_code, repeated.json()["state"]) == (200, "done")


def test_too_large_body_is_refused_before_it_is_read_whole(
    server: AttackedServer,
) -> None:
    chunked = server.request("/tell", b"", "Transfer-Encoding: chunked").replace(
        b"Content-Length: 0\r\n", b""
    )
    declared = chunked.replace(
        b"Transfer-Encoding: chunked", b"Content-Length: %d" % (MAX_BODY_BYTES + 1)
    )
    megabytes = [b"100000\r\n" + b" " * 2**20 + b"\r\n"] * 8
    with unchanged(server.database):
        with server.connection(
            declared
        ) as connection:  # refused before a byte of it is sent
            assert read_response(connection)[0] == 413
        with server.connection(
            chunked, *megabytes
        ) as connection:  # refused though it does not end
            connection.sendall(b"1\r\n \r\n")
            status, problem = read_response(connection)
        assert (status, problem["type"]) == (
            413,
            "urn:counterpoise:problem:content-too-large",
        )
        assert "COUNTERPOISE_MAX_BODY_BYTES" in problem["detail"]
        with server.connection(
            chunked, *megabytes, b"0\r\n\r\n"
        ) as connection:  # exactly the limit, but no JSON
            assert read_response(connection)[0] == 422
    server.check_serves()


def test_expiry_is_not_delayed_by_slow_clients(server: AttackedServer) -> None:
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            partial = b"POST /tell HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"
            stack.enter_context(server.connection(partial))
        assert len(server.lease()) == 1
        eventually(
            lambda: expire_leases(server.database) or server.outcomes() == ["expired"],
            "the expiry",
        )
        server.check_serves()
