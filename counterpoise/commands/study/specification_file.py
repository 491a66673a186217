"""Specifications in files: JSON, or YAML by the rules of its version 1.2."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from counterpoise.commands.output import WRONG_USAGE, fail
from counterpoise.wire.problems import Fault, json_pointer


class _Loader(yaml.SafeLoader):
    """Only the core types of YAML 1.2: 1e-4 is a number; `no`, 1:30 and 2026-01-01 are
    texts, unlike in YAML 1.1.
    """


DEEPEST = 3  # the parts of a specification: variables/0/low
CORE_TYPES = ("null", "bool", "int", "float", "str", "seq", "map")
PATTERNS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
)


def _tag(kind: str) -> str:
    return f"tag:yaml.org,2002:{kind}"


_core_tags = {_tag(kind) for kind in CORE_TYPES} | {None}
_constructors = yaml.SafeLoader.yaml_constructors.items()
_Loader.yaml_constructors = {
    tag: constructor for tag, constructor in _constructors if tag in _core_tags
}
_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _first_characters in PATTERNS:
    _Loader.add_implicit_resolver(
        _tag(_kind), re.compile(f"^(?:{_pattern})$"), _first_characters
    )


@dataclass(frozen=True, slots=True)
class SpecificationFile:
    name: str
    text: str
    content: Any

    def with_lines(self, faults: Iterable[Fault]) -> list[Fault]:
        """The faults with their lines in the file, beside their pointers."""
        try:
            root = yaml.compose(self.text, _Loader)
        except (
            RecursionError,
            yaml.YAMLError,
        ):  # JSON that is not YAML, for example with tabs
            root = None
        lines = dict(_lines(root, ()))
        return [_with_line(fault, lines) for fault in faults]


def read_specification(file: str) -> SpecificationFile:
    """A JSON or YAML file; `-` is standard input."""
    try:
        text = (
            sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        )
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        )
        fail(f"cannot read {file}: {reason}", WRONG_USAGE)
    return SpecificationFile(file, text, _parse(file, text))


def _parse(file: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        json_error = error
    try:
        return yaml.load(text, _Loader)  # noqa: S506  a SafeLoader
    except (ValueError, RecursionError, yaml.YAMLError) as yaml_error:
        relevant = json_error if text.lstrip().startswith("{") else yaml_error
        fail(
            f"{file} is neither JSON nor YAML: {' '.join(str(relevant).split())}",
            WRONG_USAGE,
        )


def _lines(
    node: yaml.Node | None, location: tuple[int | str, ...]
) -> Iterator[tuple[str, int]]:
    """The line on which each part of a document begins, by JSON pointer."""
    if node is None:
        return
    yield json_pointer(location), node.start_mark.line + 1
    if len(location) == DEEPEST:  # aliases can make a document deep, or infinite
        return
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, (*location, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, (*location, index))


def _with_line(fault: Fault, lines: dict[str, int]) -> Fault:
    """The line of the part that has the fault or, where a field is missing, of what
    should contain it.
    """
    pointer = fault.pointer
    while pointer not in lines and "/" in pointer:
        pointer = pointer.rpartition("/")[0]
    if pointer not in lines:
        return fault
    return fault.model_copy(
        update={"pointer": f"line {lines[pointer]}, {fault.pointer}"}
    )
