"""What a step is called."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row


def step_name(kind: str | None, number: int | None, objective: int | None, names: Sequence[str]) -> str | None:
    """`initial`, `stream:OBJECTIVE:NUMBER`, `search:NUMBER`, `closing:NUMBER`; nothing for imported samples."""
    if kind is None or (kind == "initial" and not number):  # a second design, after a stop, is `initial:1`
        return kind
    return f"stream:{names[objective or 0]}:{number}" if kind == "stream" else f"{kind}:{number}"


def name_in(study: Row[Any], kind: str, number: int, objective: int = -1) -> str | None:
    return step_name(kind, number, objective, [each["name"] for each in study.spec["objectives"]])
