"""A hook of schemathesis: an ask that waits a minute for a job finds no more faults than one that does not."""

from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: Any, **_: Any) -> None:
    body = case.body
    if case.operation.path == "/ask" and isinstance(body, dict) and isinstance(body.get("wait_s"), int | float):
        body["wait_s"] = min(body["wait_s"], 0.05) if body["wait_s"] <= 60 else body["wait_s"]
