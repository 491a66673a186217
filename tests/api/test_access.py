"""Who may do what: one table of all routes."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

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

TOKENS = {role: f"{role}-token-{'x' * 16}" for role in ("worker", "read", "admin")}
EVERYBODY, WORKERS, READERS, BOTH, ADMINS = "", "worker", "read", "worker read", "nobody else"
ASK = {"worker": "w", "studies": ["*"], "objectives": ["*"]}
# Method and route: who may besides admin, a body, what the server answers to those who may.
TABLE: dict[tuple[str, str], tuple[str, object, int]] = {
    ("GET", "/healthz"): (EVERYBODY, None, 200),
    ("GET", "/readyz"): (EVERYBODY, None, 200),
    ("GET", "/docs"): (EVERYBODY, None, 200),
    ("GET", "/docs/oauth2-redirect"): (EVERYBODY, None, 200),
    ("GET", "/redoc"): (EVERYBODY, None, 200),
    ("GET", "/openapi.json"): (EVERYBODY, None, 200),
    ("POST", "/ask"): (WORKERS, ASK, 200),
    ("POST", "/tell"): (WORKERS, {"job": 1, "lease": NEVER_ISSUED, "value": 1.0}, 404),
    ("POST", "/heartbeat"): (WORKERS, {"leases": [NEVER_ISSUED]}, 200),
    ("POST", "/release"): (WORKERS, {"leases": [NEVER_ISSUED]}, 200),
    ("GET", "/workers"): (READERS, None, 200),
    ("GET", "/jobs/{job}"): (READERS, None, 200),
    ("POST", "/workers/drain"): (ADMINS, {"worker": "nobody"}, 404),
    ("POST", "/workers/undrain"): (ADMINS, {"worker": "nobody"}, 404),
    ("POST", "/studies"): (ADMINS, SPEC, 200),
    ("GET", "/studies"): (READERS, None, 200),
    ("GET", "/studies/{name}"): (BOTH, None, 200),
    ("DELETE", "/studies/{name}"): (ADMINS, None, 204),
    ("GET", "/studies/{name}/samples"): (READERS, None, 200),
    ("GET", "/studies/{name}/jobs"): (READERS, None, 200),
    ("GET", "/studies/{name}/steps"): (READERS, None, 200),
    ("GET", "/studies/{name}/front"): (READERS, None, 200),
    ("GET", "/studies/{name}/export/{what}"): (READERS, None, 200),
    ("POST", "/studies/{name}/import"): (ADMINS, [], 200),
    ("GET", "/studies/{name}/events"): (READERS, None, 200),
    ("GET", "/events"): (READERS, None, 200),
    ("GET", "/metrics"): (READERS, None, 200),
    ("POST", "/studies/{name}/pause"): (ADMINS, None, 200),
    ("POST", "/studies/{name}/resume"): (ADMINS, None, 200),
    ("POST", "/studies/{name}/stop"): (ADMINS, None, 200),
    ("POST", "/studies/{name}/extend"): (ADMINS, {"budget": 10}, 200),
    ("POST", "/studies/{name}/retry"): (ADMINS, None, 200),
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
    assert call(client, ("POST", "/studies"), TOKENS["admin"]).status_code == 201
    Wing(client, database).plan()
    return client


def call(client: TestClient, route: tuple[str, str], token: str | None, scheme: str = "Bearer") -> Response:
    method, path = route
    headers = {} if token is None else {"Authorization": f"{scheme} {token}"}
    query = {"follow": "false"} if path.endswith("/events") else None  # else they do not end
    filled = path.format(name="wing", what="samples", job=1)
    return client.request(method, filled, json=TABLE[route][1], headers=headers, params=query)


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    assert set(routes(app.routes)) == set(TABLE)


def routes(found: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Documented or not."""
    for route in found:
        if isinstance(route, Route | APIRoute):
            yield from ((method, route.path) for method in route.methods or () if method != "HEAD")
        else:  # an included router; what is neither fails here
            yield from routes(route.original_router.routes)  # type: ignore[attr-defined]


def test_without_a_token_or_with_a_wrong_one_only_open_routes_answer(guarded: TestClient, database: Database) -> None:
    almost = TOKENS["admin"][:-1]
    for token, scheme in ((None, ""), ("wrong" * 5, "Bearer"), (almost, "Bearer"), (TOKENS["admin"], "Basic")):
        with unchanged(database):
            for route, (who, _, status) in TABLE.items():
                answer = call(guarded, route, token, scheme)
                if who == EVERYBODY:
                    assert answer.status_code == status, (route, token)
                    continue
                check_problem(answer, 401, "token-missing")
                assert answer.headers["www-authenticate"] == "Bearer"
                assert not any(secret in answer.text for secret in (*TOKENS.values(), "wrong", almost))


@pytest.mark.parametrize("role", ["worker", "read"])
def test_a_role_may_do_what_the_table_says_and_no_more(guarded: TestClient, database: Database, role: str) -> None:
    own = [route for route, (who, _, _) in TABLE.items() if who == EVERYBODY or role in who.split()]
    with unchanged(database):
        for route in (other for other in TABLE if other not in own):
            answer = call(guarded, route, TOKENS[role])
            detail = check_problem(answer, 403, "role-insufficient")["detail"]
            assert f"a {role} token may not do this; it needs a token of role" in detail
            assert TOKENS[role] not in answer.text
    with nullcontext() if role == "worker" else unchanged(database):  # who may only read changes nothing at all
        for route in own:
            answer = call(guarded, route, TOKENS[role])
            assert answer.status_code == TABLE[route][2], (route, answer.text)


def test_an_admin_may_do_everything(guarded: TestClient) -> None:
    for route, (_, _, status) in sorted(TABLE.items(), key=lambda item: item[0][0] == "DELETE"):
        if route != ("DELETE", "/studies/{name}"):
            assert call(guarded, route, TOKENS["admin"]).status_code == status, route
    force = {"force": "true"}  # the ask above holds a job
    headers = {"Authorization": f"Bearer {TOKENS['admin']}"}
    assert guarded.delete("/studies/wing", params=force, headers=headers).status_code == 204


def test_access_is_decided_before_the_body_is_judged(guarded: TestClient, database: Database) -> None:
    """Who may not speak learns nothing about what would be said right, nor about what is there."""
    with unchanged(database):
        for path in ("/ask", "/tell", "/heartbeat", "/studies", "/studies/wing/extend", "/studies/nothing/extend"):
            check_problem(guarded.post(path, json={"nonsense": 1}), 401, "token-missing")
        headers = {"Authorization": f"Bearer {TOKENS['worker']}"}
        check_problem(guarded.get("/studies/nothing/jobs", headers=headers), 403, "role-insufficient")


def test_several_tokens_of_a_role_are_all_known(database_url: str) -> None:
    settings = load_settings(database_url=database_url, read_tokens=f"{'a' * 20}, {'b' * 20}")
    with TestClient(create_app(settings), LOCAL) as client:
        for token in ("a" * 20, "b" * 20):
            assert client.get("/studies", headers={"Authorization": f"bearer {token}"}).status_code == 200
        check_problem(client.get("/studies", headers=[(b"Authorization", "Bearer ä".encode())]), 401, "token-missing")


def test_with_tokens_any_page_that_knows_one_may(guarded: TestClient) -> None:
    headers = {"Origin": "https://dashboard.example", "Authorization": f"Bearer {TOKENS['read']}"}
    assert guarded.get("/studies", headers=headers).status_code == 200
