"""Hooks of schemathesis: requests that end soon and reach existing things, and a check
that refusals change nothing.
"""

import os
from itertools import count
from pathlib import Path
from typing import Any

import schemathesis
from pydantic import TypeAdapter, ValidationError
from schemathesis.openapi.checks import EnsureResourceAvailability

from counterpoise.wire.specification import (
    EXAMPLE,
    SpecificationInvalid,
    parse_specification,
)
from counterpoise.wire.work import Ask
from tests.reliability.input.fuzzed_studies import BYSTANDER, JOB_SOURCE, TARGET
from tests.reliability.input.stored_rows import ChangeDetector

DETECTOR = ChangeDetector(os.environ["FUZZED_DATABASE"])
SEEN = Path(os.environ["FUZZED_RESPONSES"]).open("a", buffering=1)  # noqa: SIM115  closed with the process
CHANGED_BY_REFUSALS: list[str] = []
NUMBERS, TELLS = count(), count()
BOOLEAN = TypeAdapter(bool)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    operation = case.operation.label
    in_sequence = case.meta is not None and case.meta.phase.name.value == "stateful"
    if operation == "POST /ask" and is_ask(case.body):
        direct_to_jobs(case.body)
    if operation == "POST /tell" and in_sequence:
        complete_tell(case.body)
    if operation == "POST /studies":
        make_creatable(case, in_sequence)
    if operation.endswith("/events"):
        end_stream(case)
    if case.method != "GET" and (case.path_parameters or {}).get("name") in (
        JOB_SOURCE,
        BYSTANDER,
    ):
        case.path_parameters = {**case.path_parameters, "name": TARGET}
    DETECTOR.changed_tables()


def direct_to_jobs(body: dict[str, Any]) -> None:
    """Wait a moment instead of a minute; most asks get a job if there is one."""
    body["wait_s"] = min(body.get("wait_s", 0.0), 0.05)
    body["max_jobs"] = min(body.get("max_jobs", 1), 2)
    if len(body["worker"]) % 4 or {"*", BYSTANDER} & set(body["studies"]):
        body["studies"] = [JOB_SOURCE, TARGET]
        body["objectives"] = ["*"]


def complete_tell(body: Any) -> None:
    """The link gives job and lease; what is drawn beside them is rarely a value or a
    failure alone. Every second one becomes a plain tell.
    """
    link = {"job", "lease"}
    if not (isinstance(body, dict) and body.keys() >= link):
        return
    if body.keys() == link or next(TELLS) % 2 == 0:
        for name in body.keys() - link:
            del body[name]
        body["value"] = 1.5


def make_creatable(case: Any, in_sequence: bool) -> None:
    """A drawn specification nearly always contradicts itself; in a sequence nothing
    would follow from it.
    """
    is_object = isinstance(case.body, dict)
    if (
        in_sequence
        and is_object
        and not is_specification(case.body)
        and "notes" not in case.body
    ):
        case.body = dict(EXAMPLE)
    if is_specification(case.body):
        case.body["name"] = f"{case.body['name'][:80]}-{next(NUMBERS)}"


def end_stream(case: Any) -> None:
    query = case.query or {}
    if is_true(query.get("follow", True)):
        case.query = {**query, "follow": "false"}


def is_ask(body: Any) -> bool:
    try:
        Ask.model_validate(body)
    except ValidationError:
        return False
    return True


def is_specification(body: Any) -> bool:
    try:
        parse_specification(body)
    except SpecificationInvalid:
        return False
    return True


def is_true(parameter: Any) -> bool:
    """As the server reads it: of several values the last."""
    try:
        return BOOLEAN.validate_python(
            parameter[-1] if isinstance(parameter, list) and parameter else parameter
        )
    except ValidationError:
        return False


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    changed = DETECTOR.changed_tables()
    line = f"{case.operation.label} {response.status_code}"
    SEEN.write(f"{line} changed\n" if changed else f"{line}\n")
    if 400 <= response.status_code < 500 and changed:
        CHANGED_BY_REFUSALS.append(f"{line} changed {', '.join(changed)}")


@schemathesis.hook
def filter_failure(
    context: Any,
    failure: Any,
    case: Any,
    response: Any,
) -> bool:
    """A 404 for a created study is no failure if a drawn objective is what is unknown."""
    is_objective_unknown = b"problem:objective-unknown" in response.content
    return not (
        isinstance(failure, EnsureResourceAvailability) and is_objective_unknown
    )


@schemathesis.check
def refusal_changes_nothing(ctx: Any, response: Any, case: Any) -> None:
    if CHANGED_BY_REFUSALS:
        raise AssertionError(CHANGED_BY_REFUSALS.pop())
