"""The links of the OpenAPI document, followed as a generated client does."""

from functools import reduce
from typing import Any

from tests.api.wing import SPEC, Wing

EXPRESSION = "$response.body#/"


def operations(wing: Wing) -> dict[str, dict[str, Any]]:
    """By method and path."""
    paths = wing.client.get("/openapi.json").json()["paths"]
    by_name = {}
    for path, methods in paths.items():
        for method, operation in methods.items():
            by_name[f"{method} {path}"] = operation
    return by_name


def links_of(wing: Wing, operation: str, status: str) -> dict[str, dict[str, Any]]:
    """By the method and path of the operation that a link leads to."""
    known = operations(wing)
    names = {target["operationId"]: name for name, target in known.items()}
    links = known[operation]["responses"][status]["links"]
    return {names[link["operationId"]]: link for link in links.values()}


def resolve(value: Any, body: Any) -> Any:
    """Replace all expressions by the values of a response."""
    if isinstance(value, dict):
        return {key: resolve(part, body) for key, part in value.items()}
    if isinstance(value, list):
        return [resolve(part, body) for part in value]
    assert value.startswith(EXPRESSION)
    return reduce(step_into, value.removeprefix(EXPRESSION).split("/"), body)


def step_into(value: Any, key: str) -> Any:
    return value[int(key)] if key.isdecimal() else value[key]


def test_an_ask_links_to_the_requests_about_its_job(wing: Wing) -> None:
    links = links_of(wing, "post /ask", "200")
    assert links.keys() == {
        "post /tell",
        "post /heartbeat",
        "post /release",
        "get /jobs/{job}",
    }

    def follow(path: str, asked: Any, **more: Any) -> Any:
        body = resolve(links[f"post {path}"]["requestBody"], asked)
        response = wing.client.post(path, json={**body, **more})
        assert response.status_code == 200, response.text
        return response.json()

    first = wing.ask("mass")
    assert follow("/heartbeat", first)["leases"][0]["expires_at"]
    assert follow("/tell", first, value=1.5)["state"] == "done"
    second = wing.ask("mass")
    assert follow("/release", second)["released"] == [second["jobs"][0]["lease"]]
    parameters = resolve(links["get /jobs/{job}"]["parameters"], second)
    story = wing.client.get(f"/jobs/{parameters['job']}").json()
    assert story["job"] == second["jobs"][0]["job"]


def test_the_creation_of_a_study_links_to_all_requests_about_it(wing: Wing) -> None:
    about_study = {name for name in operations(wing) if " /studies/{name}" in name}
    for status, study in ((201, "other"), (200, "wing")):
        response = wing.client.post("/studies", json={**SPEC, "name": study})
        assert response.status_code == status
        links = links_of(wing, "post /studies", str(status))
        ask = links.pop("post /ask")
        assert resolve(ask["requestBody"], response.json()) == {"studies": [study]}
        assert links.keys() == about_study
        for link in links.values():
            assert resolve(link["parameters"], response.json()) == {"name": study}
