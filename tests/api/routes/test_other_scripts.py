"""Names in Greek and Chinese over HTTP: refused with the rule where they become paths
and columns, kept where they are text.
"""

import pytest
from fastapi.testclient import TestClient

from counterpoise.wire.specification import NAME_RULE
from tests.api.wing import SPEC, Wing, check_problem

GREEK, CHINESE = "μάζα", "质量"


@pytest.mark.parametrize("name", [GREEK, CHINESE])
def test_a_study_with_such_names_is_refused_with_the_rule(
    client: TestClient, name: str
) -> None:
    objectives = [{"name": name}, *SPEC["objectives"][1:]]
    raw = {**SPEC, "name": name, "objectives": objectives}
    problem = check_problem(
        client.post("/studies", json=raw), 422, "invalid-specification"
    )
    faults = {fault["pointer"]: fault["detail"] for fault in problem["errors"]}
    assert faults == {"#/name": NAME_RULE, "#/objectives/0/name": NAME_RULE}
    check_problem(client.get(f"/studies/{name}"), 404, "study-unknown")


def test_workers_units_and_messages_keep_them(client: TestClient, wing: Wing) -> None:
    job = wing.ask("drag", worker=CHINESE)["jobs"][0]
    failure = {"kind": "error", "message": f"{GREEK}: λάθος"}
    assert wing.tell(job, failure=failure).status_code == 200
    [worker] = client.get("/workers").json()["items"]
    assert worker["worker"] == CHINESE
    story = client.get(f"/jobs/{job['job']}").json()
    assert story["attempts"][0]["worker"] == CHINESE
    assert story["attempts"][0]["message"] == failure["message"]
    objectives = [{**SPEC["objectives"][0], "unit": CHINESE}, *SPEC["objectives"][1:]]
    raw = {**SPEC, "name": "units", "objectives": objectives}
    assert client.post("/studies", json=raw).status_code == 201
    assert client.get("/studies/units").json()["objectives"][0]["unit"] == CHINESE
