"""The OpenAPI document: every route is described, and every example works."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import load_settings
from app.store.database import Database
from tests.api.wing import Wing, check_problem

Document = dict[str, Any]


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def document(client: TestClient) -> Document:
    document: Document = client.get("/openapi.json").json()
    return document


def test_the_pages_that_show_the_document_exist(client: TestClient) -> None:
    assert client.get("/docs").status_code == 200


def test_the_document_requires_a_token_only_on_a_server_with_tokens(
    database_url: str,
) -> None:
    with_tokens = create_app(
        load_settings(database_url=database_url, admin_tokens="a" * 20)
    ).openapi()
    assert with_tokens["paths"]["/ask"]["post"]["security"] == [{"token": []}]
    assert "security" not in with_tokens["paths"]["/healthz"]["get"]
    without_tokens = create_app(load_settings(database_url=database_url)).openapi()
    assert "security" not in without_tokens["paths"]["/ask"]["post"]
    assert "securitySchemes" not in without_tokens["components"]


def test_every_route_is_described(document: Document) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            for parameter in operation.get("parameters", ()):
                assert parameter.get("description"), (where, parameter["name"])
            statuses = operation["responses"].keys()
            assert "4XX" in statuses, where
            assert any(status.startswith("2") for status in statuses), where


def test_every_example_of_a_body_works(
    client: TestClient, database: Database, document: Document
) -> None:
    specification = body_example(document, "/studies")
    assert client.post("/studies", json=specification).status_code == 201
    assert client.post("/studies", json=specification).status_code == 200
    Wing(client, database).plan()
    (job,) = client.post("/ask", json=body_example(document, "/ask")).json()["jobs"]
    for path in ("/heartbeat", "/release"):
        assert client.post(path, json=body_example(document, path)).status_code == 200
    tell = body_example(document, "/tell")
    # The example cannot know a lease
    check_problem(client.post("/tell", json=tell), 404, "lease-unknown")
    assert (
        client.post(
            "/tell", json={**tell, "job": job["job"], "lease": job["lease"]}
        ).status_code
        == 200
    )
    for path in (
        "/studies/{name}/stop",
        "/studies/{name}/extend",
        "/studies/{name}/retry",
    ):
        url = path.format(name=specification["name"])
        response = client.post(url, json=body_example(document, path))
        assert response.status_code == 200, (path, response.text)


def body_example(document: Document, path: str) -> Any:
    """The example of a body, or one put together from the examples of its fields."""
    content = document["paths"][path]["post"]["requestBody"]["content"][
        "application/json"
    ]
    return (
        content["example"]
        if "example" in content
        else schema_example(content["schema"], document)
    )


def schema_example(schema: dict[str, Any], document: Document) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return schema_example(document["components"]["schemas"][name], document)
    if "examples" in schema:
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return schema_example(schema["anyOf"][0], document)
    return {
        name: schema_example(part, document)
        for name, part in schema["properties"].items()
    }


def test_examples_with_a_lease_refer_to_ask(document: Document) -> None:
    for path in ("/tell", "/heartbeat", "/release"):
        assert "/ask" in document["paths"][path]["post"]["description"], path
    (job,) = document["paths"]["/jobs/{job}"]["get"]["parameters"]
    schemas = document["components"]["schemas"]
    tell, leases = schemas["Tell"]["properties"], schemas["Leases"]["properties"]
    for field in (job, tell["job"], tell["lease"], leases["leases"]):
        assert "/ask" in field["description"]


def test_the_schema_of_a_list_of_tells_admits_invalid_items(
    client: TestClient, document: Document
) -> None:
    content = document["paths"]["/tell"]["post"]["requestBody"]["content"]
    tell, tells = content["application/json"]["schema"]["anyOf"]
    item, anything = tells["items"]["anyOf"]
    assert item == tell == {"$ref": "#/components/schemas/Tell"}
    assert anything.keys() == {"description"}
    assert client.post("/tell", json=[3]).json()[0]["status"] == 422
