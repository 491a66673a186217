"""The links of the OpenAPI document, followed as a client does that is made from it."""

from functools import reduce
from typing import Any

from tests.api.wing import SPEC, Wing


def links(wing: Wing, path: str, status: str) -> dict[str, dict[str, Any]]:
    """By the path of the operation that they lead to, with its method."""
    paths = wing.client.get("/openapi.json").json()["paths"]
    targets = {paths[one][method]["operationId"]: f"{method} {one}" for one in paths for method in paths[one]}
    found = paths[path]["post"]["responses"][status]["links"].values()
    return {targets[link["operationId"]]: link for link in found}


def filled(said: Any, answer: Any) -> Any:
    """With what the expressions stand for."""
    if isinstance(said, dict):
        return {key: filled(value, answer) for key, value in said.items()}
    if isinstance(said, list):
        return [filled(value, answer) for value in said]
    assert said.startswith("$response.body#/")
    keys = said.removeprefix("$response.body#/").split("/")
    return reduce(lambda value, key: value[int(key) if key.isdecimal() else key], keys, answer)


def test_an_ask_leads_to_all_that_is_said_about_its_job(wing: Wing) -> None:
    found = links(wing, "/ask", "200")
    assert found.keys() == {"post /tell", "post /heartbeat", "post /release", "get /jobs/{job}"}

    def follow(path: str, asked: Any, **more: Any) -> Any:
        answer = wing.client.post(path, json={**filled(found[f"post {path}"]["requestBody"], asked), **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    first = wing.ask("mass")
    assert follow("/heartbeat", first)["leases"][0]["expires_at"]
    assert follow("/tell", first, value=1.5)["state"] == "done"
    second = wing.ask("mass")
    assert follow("/release", second)["released"] == [second["jobs"][0]["lease"]]
    job = filled(found["get /jobs/{job}"]["parameters"], second)
    assert wing.client.get(f"/jobs/{job['job']}").json()["job"] == second["jobs"][0]["job"]


def test_a_created_study_leads_to_all_its_routes(wing: Wing) -> None:
    paths = wing.client.get("/openapi.json").json()["paths"]
    below = {f"{method} {path}" for path in paths if path.startswith("/studies/{name}") for method in paths[path]}
    for status, name in ((201, "other"), (200, "wing")):
        answer = wing.client.post("/studies", json={**SPEC, "name": name})
        assert answer.status_code == status
        found = links(wing, "/studies", str(status))
        assert found.keys() == below | {"post /ask"}
        said = [filled(link.get("parameters"), answer.json()) for to, link in found.items() if to != "post /ask"]
        assert said == [{"name": name}] * len(below)
        assert filled(found["post /ask"]["requestBody"], answer.json()) == {"studies": [name]}
