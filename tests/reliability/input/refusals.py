"""What every refusal has in common."""

from typing import Any

from httpx2 import Response

PROBLEM = "urn:counterpoise:problem:"
# Problems that list each fault
WITH_PLACES = (
    "invalid-request",
    "invalid-specification",
    "import-invalid",
)
PLACES = ("#", "line ", "query parameter", "path parameter")


def check_refusal(response: Response) -> dict[str, Any]:
    """A 4xx problem that states what is wrong and where; return its body."""
    assert 400 <= response.status_code < 500, (response.status_code, response.text)
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["type"].startswith(PROBLEM)
    assert len(problem["detail"]) > 20
    if problem["type"].removeprefix(PROBLEM) in WITH_PLACES:
        assert problem["errors"]
    for fault in problem["errors"]:
        assert fault["pointer"].startswith(PLACES), fault
        assert fault["detail"]
    return problem
