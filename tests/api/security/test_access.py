"""Authorisation: one table of all routes."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from httpx2 import Response
from starlette.routing import Route

from app.main import create_app
from app.settings import load_settings
from app.store.database import Database
from tests.api.wing import LOCAL, NEVER_ISSUED, SPEC, Wing, check_problem
from tests.reliability.input.stored_rows import unchanged

ROLES = ("worker", "read", "admin")
TOKENS = {role: f"{role}-token-{'x' * 16}" for role in ROLES}
ASK = {"worker": "w", "studies": ["*"], "objectives": ["*"]}


class Access(NamedTuple):
    """Which roles a route admits besides admin (None: it needs no token), a body, and
    the status that it returns.
    """

    roles: tuple[str, ...] | None
    body: object
    status: int


OPEN, WORKERS, READERS, BOTH, ADMINS = (
    None,
    ("worker",),
    ("read",),
    ("worker", "read"),
    (),
)
RouteKey = tuple[str, str]  # method and path
TABLE: dict[RouteKey, Access] = {
    ("GET", "/healthz"): Access(OPEN, None, 200),
    ("GET", "/readyz"): Access(OPEN, None, 200),
    ("GET", "/docs"): Access(OPEN, None, 200),
    ("GET", "/"): Access(OPEN, None, 200),
    ("GET", "/assets/{digest}/{path:path}"): Access(OPEN, None, 200),
    ("GET", "/openapi.json"): Access(OPEN, None, 200),
    ("GET", "/me"): Access(OPEN, None, 200),
    ("POST", "/login"): Access(OPEN, {"token": TOKENS["read"]}, 200),
    ("POST", "/logout"): Access(OPEN, None, 204),
    ("POST", "/ask"): Access(WORKERS, ASK, 200),
    ("POST", "/tell"): Access(
        WORKERS, {"job": 1, "lease": NEVER_ISSUED, "value": 1.0}, 404
    ),
    ("POST", "/heartbeat"): Access(WORKERS, {"leases": [NEVER_ISSUED]}, 200),
    ("POST", "/release"): Access(WORKERS, {"leases": [NEVER_ISSUED]}, 200),
    ("GET", "/workers"): Access(READERS, None, 200),
    ("POST", "/goodbye"): Access(WORKERS, {"worker": "w", "instance": "gone"}, 200),
    ("GET", "/jobs/{job}"): Access(READERS, None, 200),
    ("POST", "/jobs/{job}/cancel"): Access(ADMINS, None, 200),
    ("POST", "/workers/drain"): Access(ADMINS, {"worker": "unknown"}, 404),
    ("POST", "/workers/undrain"): Access(ADMINS, {"worker": "unknown"}, 404),
    ("POST", "/studies"): Access(ADMINS, SPEC, 200),
    ("GET", "/studies"): Access(READERS, None, 200),
    ("GET", "/studies/{name}"): Access(BOTH, None, 200),
    ("DELETE", "/studies/{name}"): Access(ADMINS, None, 204),
    ("POST", "/studies/{name}/samples"): Access(
        ADMINS, {"x": {"span": 1.5, "ribs": 7}, "outside_budget": True}, 201
    ),
    ("POST", "/studies/{name}/samples/{sample}/exclude"): Access(ADMINS, None, 200),
    ("POST", "/studies/{name}/samples/{sample}/restore"): Access(ADMINS, None, 200),
    ("GET", "/studies/{name}/samples"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/jobs"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/steps"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/front"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/choices"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/timeline"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/speeds"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/convergence"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/models"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/balance"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/overview"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/predictions"): Access(READERS, None, 200),
    ("POST", "/studies/{name}/predictions"): Access(
        READERS, {"points": [{"span": 1.5, "ribs": 7}]}, 200
    ),
    ("GET", "/overview"): Access(READERS, None, 200),
    ("GET", "/studies/{name}/export/{what}"): Access(READERS, None, 200),
    ("POST", "/studies/{name}/import"): Access(ADMINS, [], 200),
    ("GET", "/studies/{name}/events"): Access(READERS, None, 200),
    ("GET", "/events"): Access(READERS, None, 200),
    ("GET", "/metrics"): Access(READERS, None, 200),
    ("POST", "/studies/{name}/pause"): Access(ADMINS, None, 200),
    ("POST", "/studies/{name}/resume"): Access(ADMINS, None, 200),
    ("POST", "/studies/{name}/stop"): Access(ADMINS, None, 200),
    ("POST", "/studies/{name}/extend"): Access(ADMINS, {"budget": 10}, 200),
    ("POST", "/studies/{name}/retry"): Access(ADMINS, None, 200),
}


@pytest.fixture
def app(database_url: str) -> FastAPI:
    tokens = {f"{role}_tokens": token for role, token in TOKENS.items()}
    return create_app(load_settings(database_url=database_url, **tokens))


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def guarded(client: TestClient, database: Database) -> TestClient:
    """A server with tokens and a study."""
    assert call(client, ("POST", "/studies"), TOKENS["admin"]).status_code == 201
    Wing(client, database).plan()
    return client


def call(
    client: TestClient, route: RouteKey, token: str | None, scheme: str = "Bearer"
) -> Response:
    method, path = route
    headers = {} if token is None else {"Authorization": f"{scheme} {token}"}
    # Otherwise the stream does not end
    query = {"follow": "false"} if path.endswith("/events") else None
    plain_path = path.replace("{path:path}", "js/main.js")
    values = {"name": "wing", "what": "samples", "job": 1, "sample": 1}
    url = plain_path.format(**values, digest="other")
    return client.request(
        method, url, json=TABLE[route].body, headers=headers, params=query
    )


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    assert set(routes_of(app.routes)) == set(TABLE)


def routes_of(routes: Iterable[object]) -> Iterator[RouteKey]:
    """All routes, documented or not."""
    for route in routes:
        if isinstance(route, Route | APIRoute):
            for method in route.methods or ():
                if method != "HEAD":
                    yield method, route.path
        else:  # an included router; anything else fails here
            yield from routes_of(route.original_router.routes)  # type: ignore[attr-defined]


INVALID: list[tuple[str | None, str]] = [  # token and scheme
    (None, ""),
    ("wrong" * 5, "Bearer"),
    (TOKENS["admin"][:-1], "Bearer"),
    (TOKENS["admin"], "Basic"),
]


def test_without_a_valid_token_only_open_routes_respond(
    guarded: TestClient, database: Database
) -> None:
    secrets = [*TOKENS.values(), *(token for token, _ in INVALID if token)]
    with unchanged(database):
        for (token, scheme), route in itertools.product(INVALID, TABLE):
            response = call(guarded, route, token, scheme)
            if TABLE[route].roles is OPEN:
                assert response.status_code == TABLE[route].status, route
                continue
            check_problem(response, 401, "token-missing")
            assert response.headers["www-authenticate"] == "Bearer"
            assert not any(secret in response.text for secret in secrets)


@pytest.mark.parametrize("role", ["worker", "read"])
def test_a_role_is_admitted_where_the_table_lists_it_and_nowhere_else(
    guarded: TestClient, database: Database, role: str
) -> None:
    admitted = [
        route
        for route, access in TABLE.items()
        if access.roles is OPEN or role in access.roles
    ]
    with unchanged(database):
        for route in TABLE.keys() - admitted:
            response = call(guarded, route, TOKENS[role])
            check_problem(response, 403, "role-insufficient")
            assert TOKENS[role] not in response.text
    with (
        nullcontext() if role == "worker" else unchanged(database)
    ):  # a read token changes nothing at all
        for route in admitted:
            response = call(guarded, route, TOKENS[role])
            assert response.status_code == TABLE[route].status, (route, response.text)


def test_admin_is_admitted_everywhere(guarded: TestClient) -> None:
    deletion = ("DELETE", "/studies/{name}")
    for route, access in TABLE.items():
        if route != deletion:
            assert call(guarded, route, TOKENS["admin"]).status_code == access.status, (
                route
            )
    headers = {"Authorization": f"Bearer {TOKENS['admin']}"}
    # Forced: the ask above holds a job.
    assert (
        guarded.delete(
            "/studies/wing", params={"force": "true"}, headers=headers
        ).status_code
        == 204
    )


def test_access_is_decided_before_the_body_is_validated(
    guarded: TestClient, database: Database
) -> None:
    """A client without access learns nothing about valid bodies or existing studies."""
    with unchanged(database):
        for path in (
            "/ask",
            "/tell",
            "/heartbeat",
            "/studies",
            "/studies/wing/extend",
            "/studies/nothing/extend",
        ):
            check_problem(
                guarded.post(path, json={"nonsense": 1}), 401, "token-missing"
            )
        headers = {"Authorization": f"Bearer {TOKENS['worker']}"}
        check_problem(
            guarded.get("/studies/nothing/jobs", headers=headers),
            403,
            "role-insufficient",
        )


def test_a_role_can_have_several_tokens(database_url: str) -> None:
    settings = load_settings(
        database_url=database_url, read_tokens=f"{'a' * 20}, {'b' * 20}"
    )
    with TestClient(create_app(settings), LOCAL) as client:
        for token in ("a" * 20, "b" * 20):
            assert (
                client.get(
                    "/studies", headers={"Authorization": f"bearer {token}"}
                ).status_code
                == 200
            )
        not_ascii = [(b"Authorization", "Bearer ä".encode())]
        check_problem(client.get("/studies", headers=not_ascii), 401, "token-missing")


def test_with_tokens_pages_of_other_origins_are_admitted(guarded: TestClient) -> None:
    headers = {
        "Origin": "https://dashboard.example",
        "Authorization": f"Bearer {TOKENS['read']}",
    }
    assert guarded.get("/studies", headers=headers).status_code == 200


@pytest.fixture
def open_wing(database_url: str, database: Database) -> Iterator[Wing]:
    """A study on a server without tokens."""
    with TestClient(
        create_app(load_settings(database_url=database_url)), LOCAL
    ) as client:
        assert client.post("/studies", json=SPEC).status_code == 201
        yield Wing(client, database)


def test_without_tokens_pages_of_other_origins_are_refused(open_wing: Wing) -> None:
    for header, value in (
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1.evil.example"),
        ("Host", "evil.example:8000"),
        ("Host", "[nonsense"),
    ):
        for method, path in (("POST", "/studies/wing/stop"), ("GET", "/studies/wing")):
            response = open_wing.client.request(method, path, headers={header: value})
            problem = check_problem(response, 403, "page-foreign")
            assert value in problem["detail"]
    for header, value in (
        ("Origin", "http://localhost:3000"),
        ("Host", "localhost"),
        ("Host", "[::1]:8000"),
    ):
        response = open_wing.client.get("/studies/wing", headers={header: value})
        assert response.json()["phase"] == "initial"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_worker_token_can_be_limited_to_studies(database_url: str) -> None:
    limited, other = "limited-token-xxxx", "other-token-xxxxxx"
    settings = load_settings(
        database_url=database_url,
        admin_tokens=TOKENS["admin"],
        worker_tokens=f"wing:{limited}, tail:{limited}, {other}",
    )
    with TestClient(create_app(settings), LOCAL) as client:
        for name in ("wing", "secret"):
            spec = {**SPEC, "name": name}
            created = client.post(
                "/studies", json=spec, headers=bearer(TOKENS["admin"])
            )
            assert created.status_code == 201
        ask = {**ASK, "studies": ["secret"]}
        refused = client.post("/ask", json=ask, headers=bearer(limited))
        check_problem(refused, 403, "study-forbidden")
        refused = client.get("/studies/secret", headers=bearer(limited))
        check_problem(refused, 403, "study-forbidden")
        assert client.get("/studies/wing", headers=bearer(limited)).status_code == 200
        for token, studies in ((limited, ["tail", "wing"]), (other, ["*"])):
            worker = {**ASK, "worker": token}
            assert client.post("/ask", json=worker, headers=bearer(token)).is_success
            page = client.get("/workers", headers=bearer(TOKENS["admin"])).json()
            (seen,) = [item for item in page["items"] if item["worker"] == token]
            assert seen["studies"] == studies


def test_wrong_tokens_are_limited_but_right_ones_always_work(
    guarded: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.security.wrong_tokens.MOST_WRONG", 3)
    route = ("GET", "/studies")
    for _ in range(3):
        check_problem(call(guarded, route, "wrong" * 5), 401, "token-missing")
    check_problem(call(guarded, route, "wrong" * 5), 429, "too-many-tokens")
    # Not even a right one can be found now, unless it was used before
    check_problem(call(guarded, route, TOKENS["read"]), 429, "too-many-tokens")
    assert call(guarded, route, TOKENS["admin"]).status_code == 200
    check_problem(call(guarded, route, None), 401, "token-missing")
    monkeypatch.setattr("app.api.security.wrong_tokens.WINDOW_S", 0.0)
    assert call(guarded, route, TOKENS["read"]).status_code == 200
