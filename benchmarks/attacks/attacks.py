"""What hostile clients do, and what it costs the server."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import psutil

from benchmarks.attacks.target import ADMIN, WORKER, Target, watched

Figures = dict[str, Any]
BODY_BYTES = 8 * 1024 * 1024 - 1024  # below the default limit
TOKENLESS_S = 8.0
HEADER_BYTES = 100_000_000
HALF_REQUESTS = 200
NAMES = 3000
LIST_LENGTH = 1000  # names of studies in an ask


def idle(target: Target) -> Figures:
    """For comparison."""
    with watched(target) as watch:
        time.sleep(3.0)
    return watch.figures()


def invalid_import(target: Target) -> Figures:
    """A dry run of 8 MB of invalid rows."""
    row = b"x,x,x\n"
    body = b"a,mass,drag\n" + row * (BODY_BYTES // len(row))
    with watched(target) as watch, target.client(ADMIN) as admin:
        began = time.perf_counter()
        response = admin.post(
            "/studies/wing/import",
            params={"dry_run": True},
            content=body,
            headers={"Content-Type": "text/csv"},
        )
        took_s = time.perf_counter() - began
    return {
        "status": response.status_code,
        "seconds": round(took_s, 2),
        "response kB": round(len(response.content) / 1e3),
        **watch.figures(),
    }


def bodies_without_token(target: Target) -> Figures:
    """Four clients send bodies of 8 MB without a token."""
    ended = threading.Event()
    statuses: list[int] = []

    def send() -> None:
        body = b"x" * BODY_BYTES
        while not ended.is_set():
            with target.client() as client:
                try:
                    statuses.append(client.post("/studies", content=body).status_code)
                except httpx.TransportError:  # the server closes without reading
                    statuses.append(0)

    threads = [threading.Thread(target=send) for _ in range(4)]
    with watched(target) as watch:
        for thread in threads:
            thread.start()
        time.sleep(TOKENLESS_S)
        ended.set()
        for thread in threads:
            thread.join()
    closed = statuses.count(0)
    return {
        "requests": len(statuses),
        "statuses": sorted(set(statuses) - {0}),
        "closed while sending": closed,
        **watch.figures(),
    }


def large_header(target: Target) -> Figures:
    """A header of 100 MB, until the server closes the connection."""
    chunk = b"x" * 65_536
    sent = 0
    with watched(target) as watch:
        with socket.create_connection(("127.0.0.1", target.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\nX-Large: ")
            try:
                while sent < HEADER_BYTES:
                    connection.sendall(chunk)
                    sent += len(chunk)
            except OSError:
                pass
        time.sleep(1.0)
    return {"bytes sent before it was closed": sent, **watch.figures()}


def half_requests(target: Target) -> Figures:
    """200 connections with half a request each."""
    began = time.perf_counter()
    with ExitStack() as stack, watched(target) as watch:
        connections = []
        for _ in range(HALF_REQUESTS):
            address = ("127.0.0.1", target.port)
            connection = stack.enter_context(socket.create_connection(address))
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: he")
            connection.settimeout(60.0)
            connections.append(connection)
        answers = [connection.recv(12) for connection in connections]
    return {
        "answers": sorted({answer.decode() for answer in answers}),
        "all closed after s": round(time.perf_counter() - began, 1),
        **watch.figures(),
    }


def many_workers(target: Target) -> Figures:
    """3,000 worker names, each with a long list."""
    longest = 0
    refused: list[int] = []
    began = time.perf_counter()
    with watched(target) as watch, target.client(WORKER) as worker:
        for number in range(NAMES):
            studies = [f"study-{number}-{item}" for item in range(LIST_LENGTH)]
            body = {
                "worker": f"{number}-{'x' * 100}",
                "studies": studies[: longest or None],
                "objectives": ["*"],
            }
            status = worker.post("/ask", json=body).status_code
            if status == 422 and not longest:
                longest = _longest_list(target)
                refused.append(status)
    took_s = time.perf_counter() - began
    with target.client(ADMIN) as admin:
        began = time.perf_counter()
        page = admin.get("/workers")
        page_ms = 1000.0 * (time.perf_counter() - began)
    return {
        f"list of {LIST_LENGTH}": "refused" if refused else "accepted",
        "longest list accepted": longest or LIST_LENGTH,
        "seconds": round(took_s, 1),
        "first page of workers kB": round(len(page.content) / 1e3),
        "first page of workers ms": round(page_ms),
        **watch.figures(),
    }


def _longest_list(target: Target) -> int:
    with target.client(WORKER) as worker:
        for length in (500, 256, 200, 128, 100, 64, 50, 32):
            studies = [f"study-{item}" for item in range(length)]
            body = {"worker": "probe", "studies": studies, "objectives": ["*"]}
            if worker.post("/ask", json=body).status_code == 200:
                return length
    return 1


def control_characters(target: Target) -> Figures:
    """Names with terminal escapes."""
    statuses = {}
    with target.client(WORKER) as worker:
        for label, name in (
            ("escape", "\x1b]0;x\x07"),
            ("bell", "a\x07"),
            ("C1", "a\x9b"),
        ):
            body = {"worker": name, "studies": ["*"], "objectives": ["*"]}
            statuses[label] = worker.post("/ask", json=body).status_code
    return statuses


def frozen_database(target: Target, postmaster: int) -> Figures:
    """PostgreSQL is stopped (SIGSTOP), with all its processes."""
    process = psutil.Process(postmaster)
    frozen = [process, *process.children(recursive=True)]
    figures: Figures = {}
    with target.client(ADMIN) as admin:
        for one in frozen:
            os.kill(one.pid, signal.SIGSTOP)
        try:
            for path in ("/healthz", "/readyz", "/metrics"):
                began = time.perf_counter()
                response = admin.get(path)
                figures[f"{path} status"] = response.status_code
                figures[f"{path} s"] = round(time.perf_counter() - began, 2)
            is_reported = "counterpoise_database_up 0.0" in response.text
            figures["database_up is 0"] = is_reported
        finally:
            for one in frozen:
                os.kill(one.pid, signal.SIGCONT)
        began = time.perf_counter()
        while admin.get("/readyz").status_code != 200:
            time.sleep(0.1)
        figures["ready again after s"] = round(time.perf_counter() - began, 2)
    return figures


ATTACKS: dict[str, Callable[[Target], Figures]] = {
    "idle": idle,
    "invalid import": invalid_import,
    "bodies without token": bodies_without_token,
    "large header": large_header,
    "half requests": half_requests,
    "many workers": many_workers,
    "control characters": control_characters,
}
