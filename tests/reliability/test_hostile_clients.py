"""Clients that drip, never read, send too much or hang up: others are served meanwhile, and nothing stays behind."""

import json
import socket
import struct
from collections.abc import Iterator
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
from tests.reliability.untouched import everything, untouched
from tests.worker.in_process_server import serving_here

LEASE_S = 2.0
MANY = 30
ASK = {"worker": "gone", "studies": ["wing"], "objectives": ["drag"], "wait_s": 60}


class Server:
    """Under attack, with a client that behaves."""

    def __init__(self, url: str, database: Database) -> None:
        self.url, self.database = url, database
        self.good = httpx.Client(base_url=url, timeout=PATIENCE_S)
        self.port = int(url.rpartition(":")[2])

    @contextmanager
    def connected(self, *parts: bytes, receives: int | None = None) -> Iterator[socket.socket]:
        """Has sent these; `receives`: the room for an answer, beyond which the server must wait."""
        with socket.socket() as one:
            if receives is not None:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
            one.settimeout(PATIENCE_S)
            one.connect(("127.0.0.1", self.port))
            for part in parts:
                one.sendall(part)
            yield one

    def request(self, path: str, body: bytes, *headers: str) -> bytes:
        """As it goes over the wire."""
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Content-Type: application/json", *headers]
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body

    def serves(self) -> None:
        """Everything a worker needs is answered."""
        (job,) = self.good.post("/ask", json={**ASK, "worker": "good", "objectives": ["mass"]}).json()["jobs"]
        assert self.good.post("/heartbeat", json={"leases": [job["lease"]]}).status_code == 200
        told = self.good.post("/tell", json={"job": job["job"], "lease": job["lease"], "value": 1.0})
        assert told.json()["detail"] == "recorded"
        assert self.good.get("/studies/wing").status_code == 200
        assert len(self.good.get("/studies/wing/export/samples").text.splitlines()) > 4

    def waiting(self) -> float:
        lines = self.good.get("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith("counterpoise_asks_waiting "))


@pytest.fixture
def server(database_url: str, database: Database) -> Iterator[Server]:
    with serving_here(database_url) as url:
        server = Server(url, database)
        spec = {**SPEC, "budget": 40, "initial_samples": 40, "objectives": [{"name": "mass"}, {"name": "drag"}]}
        server.good.post("/studies", json={**spec, "lease_s": LEASE_S}).raise_for_status()
        eventually(lambda: server.good.get("/studies/wing/jobs").json()["items"], "the design")
        yield server
        server.good.close()


def reset(one: socket.socket) -> None:
    """Hang up at once, as a machine does whose power is cut behind a firewall that answers for it."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def connections(server: Server) -> int:
    return sum(
        one.laddr.port == server.port and one.status == psutil.CONN_ESTABLISHED
        for one in psutil.Process().net_connections("tcp")
    )


def answer_of(one: socket.socket) -> tuple[int, dict[str, Any]]:
    """Status and body of the answer, when the server closes or has said all."""
    said = b""
    while b"\r\n\r\n" not in said or not said.rstrip().endswith(b"}"):
        part = one.recv(65536)
        if not part:
            break
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_slow_clients_keep_nobody_waiting_and_leave_nothing_behind(server: Server) -> None:
    """Half a head, a body byte by byte, answers that are never read, an ask that waits."""
    body = json.dumps(ASK).encode()
    whole = server.request("/tell", b'{"job": 1, "lease": "' + b"0" * 32 + b'", "value": 1.5}')
    long = server.request("/openapi.json", b"").replace(b"POST", b"GET", 1)
    server.good.post("/studies/wing/pause").raise_for_status()
    threads = psutil.Process().num_threads()
    with ExitStack() as stack:
        heads = [stack.enter_context(server.connected(b"GET /healthz HTTP/1.1\r\nHost: a\r\n")) for _ in range(MANY)]
        bodies = [stack.enter_context(server.connected(whole[:-20])) for _ in range(MANY)]
        stack.enter_context(server.connected(long * 60, receives=4096))
        for _ in range(MANY):
            stack.enter_context(server.connected(server.request("/ask", body)))
        eventually(lambda: server.waiting() == MANY, "the asks")
        server.good.post("/studies/wing/resume").raise_for_status()
        for turn in range(3):
            for one in heads:
                one.sendall(b"X-Slow: %d\r\n" % turn)
            for one in bodies:
                one.sendall(whole[-20 + turn : -19 + turn])
            server.serves()
        assert psutil.Process().num_threads() <= threads + 50  # a pool's, not one for each
        # Who was only slow is answered in the end.
        bodies[0].sendall(whole[-17:])
        assert answer_of(bodies[0])[0] == 404
    eventually(lambda: connections(server) <= 1, "the end of all connections")
    eventually(lambda: server.waiting() == 0, "the end of all asks")
    server.serves()


@pytest.mark.parametrize("how", [socket.socket.close, reset])
def test_who_left_a_long_poll_gets_no_job(server: Server, how: Any) -> None:
    server.good.post("/studies/wing/pause").raise_for_status()
    for _ in range(10):
        with server.connected(server.request("/ask", json.dumps(ASK).encode())) as one:
            eventually(lambda: server.waiting() == 1, "the ask")
            how(one)
            eventually(lambda: server.waiting() == 0, "its end")
    server.good.post("/studies/wing/resume").raise_for_status()
    got = server.good.post("/ask", json={**ASK, "worker": "there", "max_jobs": 256}).json()["jobs"]
    assert len(got) == 40  # every job of the queue


def test_a_job_that_nobody_heard_of_returns_after_its_lease(server: Server) -> None:
    """Who asks and hangs up before the answer: what was leased in that moment expires, and another gets it."""
    for _ in range(20):
        with server.connected(server.request("/ask", json.dumps({**ASK, "wait_s": 0}).encode())) as one:
            reset(one)
    eventually(lambda: server.waiting() == 0, "the end of all asks")
    jobs: set[int] = set()

    def all_of_them() -> bool:
        """Those that expire, as the planner beside finds, come back after a moment."""
        got = server.good.post("/ask", json={**ASK, "worker": "there", "wait_s": 0, "max_jobs": 256}).json()["jobs"]
        jobs.update(job["job"] for job in got)
        return len(jobs) == 40

    eventually(all_of_them, "every job")


def test_half_a_tell_is_none_and_a_whole_one_counts_though_nobody_hears_the_answer(server: Server) -> None:
    (job,) = server.good.post("/ask", json={**ASK, "worker": "w"}).json()["jobs"]
    whole = server.request("/tell", json.dumps({"job": job["job"], "lease": job["lease"], "value": 1.5}).encode())

    def outcomes() -> list[str | None]:
        return [row[attempts.c.keys().index("outcome")] for row in everything(server.database)["attempts"]]

    for cut in (len(whole) - 1, len(whole) - 30, 40):
        with server.connected(whole[:cut]) as one:
            reset(one)
    server.good.get("/healthz")
    assert set(outcomes()) <= {None, "expired"}
    with server.connected(whole) as one:
        one.shutdown(socket.SHUT_RD)
        one.close()
    eventually(lambda: {"done", "late"} & set(outcomes()), "the value")
    again = server.good.post("/tell", json={"job": job["job"], "lease": job["lease"], "value": 1.5})
    assert again.json()["detail"].startswith("recorded")


def test_too_much_is_refused_before_it_is_kept(server: Server) -> None:
    limit = 8 * 2**20
    head = server.request("/tell", b"", "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    with untouched(server.database):
        # Declared: refused though not a byte of it was sent.
        with server.connected(head.replace(b"Transfer-Encoding: chunked", b"Content-Length: %d" % (limit + 1))) as one:
            assert answer_of(one)[0] == 413
        # Not declared: refused when it has come, though there is no end to it.
        chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
        with server.connected(head, *[chunk] * 8) as one:
            one.sendall(b"1\r\n \r\n")
            status, problem = answer_of(one)
        assert (status, problem["type"]) == (413, "urn:counterpoise:problem:content-too-large")
        assert "COUNTERPOISE_MAX_BODY_BYTES" in problem["detail"]
        # As much as may be is read, and found to be no JSON.
        with server.connected(head, *[chunk] * 8, b"0\r\n\r\n") as one:
            assert answer_of(one)[0] == 422
    server.serves()


def test_expiry_is_not_held_up_by_slow_clients(server: Server) -> None:
    """Housekeeping needs no turn that slow clients could take."""
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(server.connected(b"POST /tell HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"))
        assert len(server.good.post("/ask", json=ASK).json()["jobs"]) == 1
        eventually(lambda: expire_leases(server.database) or len(expired(server)) == 1, "the expiry")
        server.serves()


def expired(server: Server) -> list[Any]:
    names = attempts.c.keys()
    return [row for row in everything(server.database)["attempts"] if row[names.index("outcome")] == "expired"]
