"""Every error is a problem+json response with a stable type."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app import errors
from app.api.problems import FRAMEWORK, STATUS
from app.settings import load_settings
from tests.api.probe_routes import probe_app
from tests.api.wing import LOCAL, check_problem

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
MAX_BODY_BYTES = 2000


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    app = probe_app(
        load_settings(database_url=database_url, max_body_bytes=MAX_BODY_BYTES)
    )
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        yield client


def test_an_unknown_path_refers_to_the_list_of_routes(client: TestClient) -> None:
    problem = check_problem(client.get("/nothing"), 404, "not-found")
    assert problem["instance"] == "/nothing"
    assert "/docs" in problem["detail"]


def test_a_wrong_method_names_the_right_ones(client: TestClient) -> None:
    response = client.delete("/healthz")
    check_problem(response, 405, "method-not-allowed")
    assert response.headers["allow"] == "GET, HEAD"
    assert client.put("/studies").headers["allow"] == "GET, POST"  # of two routes


def test_braces_in_a_path_are_not_formatted(client: TestClient) -> None:
    check_problem(client.get("/{0}{method.__class__}"), 404, "not-found")


def test_every_fault_of_a_body_is_listed_with_its_pointer(client: TestClient) -> None:
    problem = check_problem(
        client.post("/echo", json={"low": "x", "names": []}), 422, "invalid-request"
    )
    assert [fault["pointer"] for fault in problem["errors"]] == ["#/low", "#/names"]


def test_faults_of_parameters_name_the_parameter(client: TestClient) -> None:
    problem = check_problem(
        client.get("/broken", params={"limit": "many"}), 422, "invalid-request"
    )
    assert [fault["pointer"] for fault in problem["errors"]] == [
        "query parameter limit"
    ]


def test_a_body_that_is_not_json_is_reported_as_such(client: TestClient) -> None:
    response = client.post(
        "/echo", content=b"{oops", headers={"content-type": "application/json"}
    )
    (fault,) = check_problem(response, 422, "invalid-request")["errors"]
    assert fault["pointer"] == "#"
    assert fault["detail"].startswith("not JSON: ")


def test_an_unexpected_error_reveals_nothing(client: TestClient) -> None:
    response = client.get("/broken")
    problem = check_problem(response, 500, "internal")
    assert "confidential" not in response.text
    assert problem["request_id"] in problem["detail"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(client: TestClient, chunked: bool) -> None:
    content = json.dumps({"a": "x" * 3000}).encode()
    sent = iter([content[:1500], content[1500:]]) if chunked else content
    response = client.post(
        "/count", content=sent, headers={"content-type": "application/json"}
    )
    check_problem(response, 413, "content-too-large")
    assert client.post("/count", json={"a": "x" * 1500}).json() == 1


def test_every_error_has_a_status_and_a_type_of_its_own() -> None:
    """Except SettingsInvalid, which no request can cause."""
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    known = {kind for kind in classes if issubclass(kind, errors.CounterpoiseError)}
    assert known - {errors.CounterpoiseError, errors.SettingsInvalid} == set(STATUS)
    assert len({slug for _, slug, _ in STATUS.values()}) == len(STATUS)


def test_every_type_of_problem_is_documented() -> None:
    slugs = {"invalid-request", "invalid-specification", "internal"}
    slugs.update(slug for _, slug, _ in STATUS.values())
    slugs.update(slug for slug, _ in FRAMEWORK.values())
    documented = OPERATIONS.read_text()
    assert {slug for slug in slugs if f"| `{slug}` |" not in documented} == set()
