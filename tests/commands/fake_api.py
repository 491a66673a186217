"""A small HTTP server for the commands: responds as configured and records the
requests.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from counterpoise.wire.problems import Fault, Problem
from counterpoise.wire.specification import EXAMPLE
from counterpoise.wire.views import (
    FrontItem,
    HealthItem,
    Hypervolume,
    ObjectiveView,
    StudyView,
    WorkerView,
)

Response = tuple[int, Any]


def objective(name: str, **given: Any) -> ObjectiveView:
    counts = {"ready": 1, "leased": 2, "done": 33, "failed": 4, "superseded": 5}
    usual: dict[str, Any] = {
        "direction": "minimize",
        "unit": None,
        "same_run_as": None,
        "cheap": False,
        "ratio": 1.0,
    }
    return ObjectiveView(
        name=name, **{**usual, "median_duration_s": None, **counts, **given}
    )


STUDY = StudyView(
    name="wing",
    phase="search",
    state="active",
    step=7,
    evaluated_full=33,
    planned_full=36,
    budget=60,
    created_at="2026-01-01T00:00:00Z",
    finished_at=None,
    objectives=[
        objective("mass", cheap=True, ratio=20.0, median_duration_s=0.0123),
        objective("drag", unit="N"),
        objective("lift", direction="maximize", same_run_as="drag"),
    ],
    ratio_source="declared",
    hypervolume=Hypervolume(
        value=0.8125, reference_point={"mass": 3.5, "drag": 12.0}, step=6, exact=False
    ),
    health=[
        HealthItem(
            code="no_worker",
            detail="objective drag [bold]: 6 jobs have waited 3 min and no live worker can evaluate it",
        )
    ],
    spec=EXAMPLE,
)
FRONT = [
    FrontItem(
        sample=i,
        step="search:2",
        x={"a": i, "b": 0.5},
        values={"mass": i / 3, "a": 7.5},
    )
    for i in range(3)
]
WORKER = WorkerView(
    worker="node7",
    first_seen_at="2026-01-01T00:00:00Z",
    last_seen_at="2026-01-01T00:00:07Z",
    jobs=[5],
)


def problem(status: int, detail: str, *errors: Fault) -> Response:
    body = Problem(
        type="urn:x",
        title="t",
        status=status,
        detail=detail,
        instance="/",
        request_id="r",
        errors=[*errors],
    )
    return status, body.model_dump()


def page(*items: Any, following: str | None = None) -> Response:
    return 200, {"items": [item.model_dump() for item in items], "next": following}


@dataclass
class FakeApi:
    """Responses by method and path, with or without the query."""

    url: str = ""
    responses: dict[str, Response] = field(default_factory=dict)
    # Method and path, body
    requests: list[tuple[str, Any]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)

    def respond(self, method: str, path: str, body: Any, token: str | None) -> Response:
        self.requests.append((f"{method} {path}", body))
        self.tokens.append(token)
        without_query = f"{method} {path.partition('?')[0]}"
        not_found = problem(404, f"nothing at {without_query}")
        return self.responses.get(
            f"{method} {path}", self.responses.get(without_query, not_found)
        )


@contextmanager
def serving_api() -> Iterator[FakeApi]:
    api = FakeApi()

    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(sent) if sent else None
            status, response = api.respond(
                self.command, self.path, body, self.headers.get("Authorization")
            )
            content = (
                response
                if isinstance(response, bytes)
                else json.dumps(response).encode()
            )
            if status == 204:
                content = b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = handle_request  # noqa: N815  names of the library

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  a name of the library
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        api.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(
            target=listener.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield api
        listener.shutdown()
        thread.join()
