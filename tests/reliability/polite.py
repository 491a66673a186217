"""Hooks of schemathesis: requests that end soon and reach what there is, and a check that a refusal changes nothing."""

import os
from itertools import count
from pathlib import Path
from typing import Any

import schemathesis
from pydantic import TypeAdapter, ValidationError
from schemathesis.openapi.checks import EnsureResourceAvailability

from counterpoise.wire.specification import EXAMPLE, SpecificationInvalid, parse_specification
from counterpoise.wire.work import Ask
from tests.reliability.attacked import BYSTANDER, GIVES, TOY
from tests.reliability.untouched import Witness

WITNESS = Witness(os.environ["ATTACKED_DATABASE"])
SEEN = Path(os.environ["ATTACK_SEEN"]).open("a", buffering=1)  # noqa: SIM115  closed with the process
HARM: list[str] = []
NUMBERS = count()
YES = TypeAdapter(bool)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    operation, in_sequence = case.operation.label, case.meta is not None and case.meta.phase.name.value == "stateful"
    if operation == "POST /ask" and is_ask(case.body):
        steer(case.body)
    if (
        operation == "POST /tell"
        and in_sequence
        and isinstance(case.body, dict)
        and case.body.keys() == {"job", "lease"}
    ):
        case.body["value"] = 1.5  # a list was drawn, and the link has taken its place
    if operation == "POST /studies":
        if in_sequence and isinstance(case.body, dict) and not is_specification(case.body) and "notes" not in case.body:
            case.body = dict(EXAMPLE)  # what is drawn contradicts itself nearly always, and nothing would follow
        if is_specification(case.body):
            case.body["name"] = f"{case.body['name'][:80]}-{next(NUMBERS)}"
    if operation.endswith("/events") and says_yes((case.query or {}).get("follow", True)):
        case.query = {**(case.query or {}), "follow": "false"}
    if case.method != "GET" and (case.path_parameters or {}).get("name") in (GIVES, BYSTANDER):
        case.path_parameters = {**case.path_parameters, "name": TOY}
    WITNESS.changed()


def steer(body: dict[str, Any]) -> None:
    """A minute's wait finds no more faults than a moment's. Most asks get a job, if there is one."""
    body["wait_s"] = min(body.get("wait_s", 0.0), 0.05)
    body["max_jobs"] = min(body.get("max_jobs", 1), 2)
    if len(body["worker"]) % 4 or {"*", BYSTANDER} & set(body["studies"]):
        body |= {"studies": [GIVES, TOY], "objectives": ["*"]}


def is_ask(body: Any) -> bool:
    try:
        return Ask.model_validate(body) is not None
    except ValidationError:
        return False


def is_specification(body: Any) -> bool:
    try:
        return parse_specification(body) is not None
    except SpecificationInvalid:
        return False


def says_yes(follow: Any) -> bool:
    try:
        return YES.validate_python(follow[-1] if isinstance(follow, list) and follow else follow)
    except ValidationError:
        return False


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    changed = WITNESS.changed()
    SEEN.write(f"{case.operation.label} {response.status_code}{' changed' if changed else ''}\n")
    if 400 <= response.status_code < 500 and changed:
        HARM.append(f"{case.operation.label} was answered {response.status_code}, and changed {', '.join(changed)}")


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """A study that was created is there, though an objective that somebody drew is not in it: that is a 404, too."""
    return not (isinstance(failure, EnsureResourceAvailability) and b"problem:objective-unknown" in response.content)


@schemathesis.check
def a_refusal_changes_nothing(ctx: Any, response: Any, case: Any) -> None:
    if HARM:
        raise AssertionError(HARM.pop())
