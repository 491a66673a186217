"""Access in a browser: a token is exchanged for a signed cookie."""

import base64
import itertools
import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.api.security.login_limit import MOST_ALL, MOST_FAILURES, LoginLimit
from app.api.security.session_cookie import (
    LIFETIME_S,
    PLAIN_NAME,
    SECURE_NAME,
    sign,
    verify,
)
from app.errors import TooManyLogins
from app.main import create_app
from app.settings import Settings, load_settings
from tests.api.security.test_access import TABLE, TOKENS, RouteKey
from tests.api.wing import LOCAL, SPEC, check_problem

PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def backend() -> str:
    return "sqlite"


@pytest.fixture
def settings(database_url: str) -> Settings:
    tokens = {f"{role}_tokens": token for role, token in TOKENS.items()}
    return load_settings(database_url=database_url, **tokens)


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), LOCAL) as client:
        yield client


def log_in(client: TestClient, role: str) -> None:
    response = client.post("/login", json={"token": TOKENS[role]}, headers=PAGE)
    assert response.status_code == 200, response.text
    assert response.json()["role"] == role


def test_a_token_becomes_a_cookie_that_no_script_and_no_other_site_gets(
    client: TestClient,
) -> None:
    assert client.get("/me").json()["role"] is None
    response = client.post("/login", json={"token": TOKENS["read"]})
    attributes = response.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={LIFETIME_S}"} <= set(
        attributes
    )
    assert attributes[0].startswith(f"{PLAIN_NAME}=")
    assert TOKENS["read"] not in response.headers["set-cookie"]
    me = client.get("/me").json()
    assert (me["role"], me["by"], me["login_required"]) == ("read", "cookie", True)
    assert me["expires_at"] is not None


def test_under_https_the_cookie_is_bound_to_the_host(settings: Settings) -> None:
    with TestClient(create_app(settings), "https://testserver") as client:
        response = client.post("/login", json={"token": TOKENS["read"]})
        cookie = response.headers["set-cookie"]
        assert cookie.startswith(f"{SECURE_NAME}=")
        assert "Secure" in cookie.split("; ")
        assert "domain" not in cookie.lower()
        assert client.get("/studies").status_code == 200


@pytest.mark.parametrize("role", ["read", "admin"])
def test_a_cookie_admits_where_its_token_does(client: TestClient, role: str) -> None:
    log_in(client, role)
    for (method, path), access in TABLE.items():
        if path.startswith("/assets/"):
            continue  # open to all
        url = path.format(name="nothing", what="samples", job=1, sample=1)
        if path.endswith("/events") or path in ("/logout", "/login"):
            continue
        response = client.request(method, url, json=access.body, headers=PAGE)
        is_admitted = access.roles is None or role == "admin" or role in access.roles
        assert (response.status_code != 403) == is_admitted, (method, path)


def test_the_header_comes_before_the_cookie(client: TestClient) -> None:
    log_in(client, "admin")
    headers = {**PAGE, "Authorization": f"Bearer {TOKENS['read']}"}
    check_problem(
        client.post("/studies", json=SPEC, headers=headers), 403, "role-insufficient"
    )
    headers = {"Authorization": "Bearer wrong-token-wrong"}
    check_problem(client.get("/studies", headers=headers), 401, "token-missing")


CHANGES: list[RouteKey] = [key for key in TABLE if key[0] != "GET"]
FOREIGN = [
    {},  # no browser sends neither
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": LOCAL},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9999"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_changes_by_cookie_come_from_own_pages_only(
    client: TestClient, headers: dict[str, str]
) -> None:
    log_in(client, "admin")
    for method, path in CHANGES:
        if path in ("/login", "/logout") and not headers:
            continue  # programs may
        url = path.format(name="wing", job=1, sample=1)
        response = client.request(method, url, headers=headers)
        check_problem(response, 403, "page-foreign")
    assert client.get("/studies", headers=headers).status_code == 200


def test_old_browsers_name_the_origin(client: TestClient) -> None:
    log_in(client, "admin")
    response = client.post("/studies", json=SPEC, headers={"Origin": LOCAL})
    assert response.status_code == 201


def test_an_expired_or_forged_cookie_is_none(
    settings: Settings, database_url: str
) -> None:
    cookie, session = sign(settings, "read", TOKENS["read"], now=1000.0)
    assert verify(settings, cookie, 1000.0 + LIFETIME_S - 1) == session
    assert verify(settings, cookie, 1000.0 + LIFETIME_S) is None
    payload, signature = cookie.split(".")
    content = ["admin", 1e12, session.fingerprint]
    other = base64.urlsafe_b64encode(json.dumps(content).encode()).decode()
    for forged in ("", ".", "ä.b", payload, f"{other}.{signature}", cookie + "x"):
        assert verify(settings, forged, 1000.0) is None
    others = load_settings(database_url=database_url, read_tokens="another-token-" * 2)
    assert verify(others, cookie, 1000.0) is None


def test_a_session_ends_when_its_token_is_removed(
    client: TestClient, settings: Settings, database_url: str
) -> None:
    log_in(client, "read")
    cookie = client.cookies[PLAIN_NAME]
    changed = load_settings(database_url=database_url, admin_tokens=TOKENS["admin"])
    with TestClient(create_app(changed), LOCAL) as other:
        other.cookies.set(PLAIN_NAME, cookie)
        assert other.get("/me").json()["role"] is None
    same = settings.model_copy(update={"worker_tokens": ()})
    with TestClient(create_app(same), LOCAL) as other:
        other.cookies.set(PLAIN_NAME, cookie)
        assert other.get("/me").json()["role"] == "read"


def test_logout_removes_the_cookie(client: TestClient) -> None:
    log_in(client, "read")
    assert client.post("/logout", headers=PAGE).status_code == 204
    check_problem(client.get("/studies"), 401, "token-missing")


def test_a_worker_token_opens_no_pages(client: TestClient) -> None:
    response = client.post("/login", json={"token": TOKENS["worker"]})
    check_problem(response, 403, "role-insufficient")
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"tokn": "x"}', b'{"token": 1}', b"x" * 3000]
)
def test_a_login_that_is_none_is_refused_without_an_echo(
    client: TestClient, body: bytes
) -> None:
    response = client.post("/login", content=body)
    check_problem(response, 422, "invalid-request")


def test_failed_logins_are_limited(client: TestClient) -> None:
    wrong = {"token": "wrong-token-wrong"}
    for _ in range(MOST_FAILURES):
        response = client.post("/login", json=wrong)
        check_problem(response, 401, "token-missing")
        assert wrong["token"] not in response.text
    response = client.post("/login", json={"token": TOKENS["read"]})
    check_problem(response, 429, "too-many-logins")
    assert 1 <= int(response.headers["retry-after"]) <= 60
    # Those who have a token are not concerned.
    headers = {"Authorization": f"Bearer {TOKENS['read']}"}
    assert client.get("/studies", headers=headers).status_code == 200


def test_the_limit_is_by_address_and_in_all_and_ends() -> None:
    now = 0.0
    limit = LoginLimit(lambda: now)
    for _ in range(MOST_FAILURES):
        limit.count_failure("a")
    limit.check("b")
    with pytest.raises(TooManyLogins):
        limit.check("a")
    for number in itertools.count():
        try:
            limit.check("b")
        except TooManyLogins:
            break
        limit.count_failure(f"address {number}")
    assert number == MOST_ALL - MOST_FAILURES
    now = 61.0
    limit.check("a")
    limit.count_failure("c")
    assert limit.remembered == 2


def test_without_tokens_everybody_here_is_admin(database_url: str) -> None:
    with TestClient(
        create_app(load_settings(database_url=database_url)), LOCAL
    ) as open_client:
        me = open_client.get("/me").json()
        assert (me["role"], me["login_required"], me["by"]) == ("admin", False, None)
        response = open_client.post("/login", json={"token": "anything"})
        assert "set-cookie" not in response.headers
        headers = {"Origin": "https://evil.example"}
        check_problem(open_client.get("/me", headers=headers), 403, "page-foreign")
