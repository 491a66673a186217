"""Write the tables of docs/study.md from the models: `python docs/study_fields.py`."""

import re
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from counterpoise.wire import specification

PAGE = Path(__file__).with_name("study.md")
SECTION = re.compile(r"(<!-- fields -->\n).*(<!-- end -->)", re.S)
# What a line of YAML has behind the name; lists of parts are shown above the tables
EXAMPLES = {
    "name": "wing",
    "budget": "60",
    "requirements": '["span / chord <= 12"]',
    "strategy": "k-rvea",
    "initial_samples": "20",
    "batch_size": "auto",
    "overlap": "0",
    "cheap_first": "true",
    "generations": "40",
    "cheap_threshold": "2",
    "ratios": "{mass: 10, drag: 4}",
    "max_ratio": "5",
    "lease_s": "600",
    "max_attempts": "1",
    "max_losses": "20",
    "seed": "1",
    "notes": "second mesh",
    "type": "int",
    "low": "1.5",
    "high": "4.0",
    "scale": "log",
    "values": "[1, 2, 5, 10]",
    "choices": "[alu, steel, cfrp]",
    "direction": "maximize",
    "lower": "0.1",
    "upper": "2.5e8",
    "evaluation_time_s": "3600",
    "unit": "Pa",
    "noise": "0.02",
    "same_run_as": "drag",
    "timeout_s": "auto",
}


def table(model: type[BaseModel]) -> str:
    rows = ["| field | default | meaning | example |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        meaning = (field.description or choices(field)).replace("|", "\\|")
        example = EXAMPLES.get(name)
        shown = f"`{example}`" if example else ""
        rows.append(f"| `{name}` | {default(field)} | {meaning} | {shown} |")
    return "\n".join(rows) + "\n"


def default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default in (None, "", ()):
        return ""
    text = field.default
    return f"`{text:g}`" if isinstance(text, float) else f"`{text}`"


def choices(field: FieldInfo) -> str:
    found: list[str] = []
    _collect(field.annotation, found)
    return ", ".join(f"`{choice}`" for choice in found)


def _collect(annotation: Any, found: list[str]) -> None:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        found += [str(choice) for choice in typing.get_args(annotation)]
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            _collect(part, found)


def models() -> list[type[BaseModel]]:
    """The study first, then its parts in the order in which they are defined."""
    found = [
        value
        for value in vars(specification).values()
        if isinstance(value, type) and issubclass(value, specification._Part)
    ]
    shared = (specification._Part, specification.Output)
    parts = [model for model in found if model not in shared]
    return sorted(parts, key=lambda model: model is not specification.Specification)


def filled(page: str) -> str:
    sections = []
    for model in models():
        name = "Study" if model is specification.Specification else model.__name__
        sections.append(f"## {name}\n\n{table(model)}\n")
    return SECTION.sub(
        lambda found: found[1] + "\n" + "".join(sections) + found[2], page
    )


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
