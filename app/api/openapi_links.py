"""Links of the OpenAPI document: which request follows from which answer, and what of the answer it says."""

from typing import Any

# An expression is the value there; a body is completed by who sends it.
JOB, LEASE, STUDY = "$response.body#/jobs/0/job", "$response.body#/jobs/0/lease", "$response.body#/name"
OF_ASK: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/tell"): {"requestBody": {"job": JOB, "lease": LEASE}},
    ("post", "/heartbeat"): {"requestBody": {"leases": [LEASE]}},
    ("post", "/release"): {"requestBody": {"leases": [LEASE]}},
    ("get", "/jobs/{job}"): {"parameters": {"job": JOB}},
}
OF_STUDY = "/studies/{name}"


def add_links(paths: dict[str, dict[str, dict[str, Any]]]) -> None:
    """From ask to what is said about its job; from a study that was created to all that is said about it."""
    _declare(paths, paths["/ask"]["post"]["responses"]["200"], OF_ASK)
    below = [(method, path) for path in paths if path.startswith(OF_STUDY) for method in paths[path]]
    of_study: dict[tuple[str, str], dict[str, Any]] = {one: {"parameters": {"name": STUDY}} for one in below}
    of_study["post", "/ask"] = {"requestBody": {"studies": [STUDY]}}
    for status in ("201", "200"):
        _declare(paths, paths["/studies"]["post"]["responses"][status], of_study)


def _declare(
    paths: dict[str, dict[str, dict[str, Any]]],
    response: dict[str, Any],
    links: dict[tuple[str, str], dict[str, Any]],
) -> None:
    response["links"] = {
        paths[path][method]["operationId"]: {
            "operationId": paths[path][method]["operationId"],
            "description": paths[path][method]["summary"],
            **said,
        }
        for (method, path), said in links.items()
    }
