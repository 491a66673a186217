"""Links of the OpenAPI document: which requests can follow a response, and which of its
values they take.
"""

from typing import Any

Paths = dict[str, dict[str, dict[str, Any]]]  # by path, then by method
Links = dict[tuple[str, str], dict[str, Any]]  # by method and path

# Runtime expressions: the value at this place of the response. The client adds what a
# body lacks.
JOB = "$response.body#/jobs/0/job"
LEASE = "$response.body#/jobs/0/lease"
STUDY = "$response.body#/name"
AFTER_ASK: Links = {
    ("post", "/tell"): {"requestBody": {"job": JOB, "lease": LEASE}},
    ("post", "/heartbeat"): {"requestBody": {"leases": [LEASE]}},
    ("post", "/release"): {"requestBody": {"leases": [LEASE]}},
    ("get", "/jobs/{job}"): {"parameters": {"job": JOB}},
}


def add_links(paths: Paths) -> None:
    """Link an ask to the requests about its jobs, and the creation of a study to all
    requests about the study.
    """
    set_links(paths, paths["/ask"]["post"]["responses"]["200"], AFTER_ASK)
    after_creation = links_to_study(paths)
    for status in ("201", "200"):
        set_links(paths, paths["/studies"]["post"]["responses"][status], after_creation)


def links_to_study(paths: Paths) -> Links:
    links: Links = {}
    for path, operations in paths.items():
        if path.startswith("/studies/{name}"):
            for method in operations:
                links[method, path] = {"parameters": {"name": STUDY}}
    links["post", "/ask"] = {"requestBody": {"studies": [STUDY]}}
    return links


def set_links(paths: Paths, response: dict[str, Any], links: Links) -> None:
    response["links"] = {}
    for (method, path), link in links.items():
        operation = paths[path][method]
        operation_id = operation["operationId"]
        response["links"][operation_id] = {
            "operationId": operation_id,
            "description": operation["summary"],
            **link,
        }
