"""Specifications in files: JSON, or YAML by the rules of its version 1.2."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from counterpoise.commands.failure import WRONG_USAGE, fail


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core types only: 1e-4 is a number, and `no`, 1:30 or 2026-01-01 are texts, unlike in YAML 1.1."""


_CORE = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map")}
_Loader.yaml_constructors = {t: build for t, build in yaml.SafeLoader.yaml_constructors.items() if t in {*_CORE, None}}
_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), _first)


def read_specification(file: str) -> Any:
    """What a JSON or YAML file holds; `-` is standard input."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fail(f"cannot read {file}: {reason}", WRONG_USAGE)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fault = error
    try:
        return yaml.load(text, _Loader)  # noqa: S506  (a SafeLoader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        nearer = fault if text.lstrip().startswith("{") else error
        fail(f"{file} is neither JSON nor YAML: {' '.join(str(nearer).split())}", WRONG_USAGE)
