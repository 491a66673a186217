"""docs/math.md names functions; they must exist, and every equation of the code must be
in its index.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "math.md").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "app" / "optimizer").rglob("*.py"))
FILES = {
    path.stem: path
    for path in (*SOURCES, ROOT / "app" / "domain" / "planning" / "stepping.py")
    if path.stem != "__init__"
}
RECORDS = {
    "problem": Problem,
    "snapshot": Snapshot,
    "models": Models,
    "surrogate": Surrogate,
    "strategy": Strategy,
}
# The notation's examples: a record's name in lower case, and one of its fields.
FIELDS = {
    "problem.d",
    "problem.m",
    "problem.ratios",
    "problem.cheap_threshold",
    "models.X",
    "models.F",
}
FIELDS |= {
    "snapshot.X",
    "snapshot.F",
    "snapshot.extra",
    "snapshot.frozen",
    "strategy.size",
    "strategy.w_max",
}
FIELDS |= {"surrogate.model", "surrogate.frozen"}
WORDS = sorted(set(re.findall(r"`(\w+\.\w+)`", TEXT)) - FIELDS)
NAMED = [
    word for word in WORDS if word.split(".")[0] in FILES and not word.endswith(".py")
]


def test_every_module_has_a_name_of_its_own() -> None:
    """The index leaves the folder out."""
    names = [path.stem for path in SOURCES if path.stem != "__init__"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", NAMED)
def test_a_function_named_in_the_index_exists(name: str) -> None:
    module, function = name.split(".")
    path = FILES[module].relative_to(ROOT).with_suffix("")
    assert callable(getattr(importlib.import_module(".".join(path.parts)), function))


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_named_in_the_notation_exists(name: str) -> None:
    record, field = name.split(".")
    assert hasattr(RECORDS[record], field)
    assert f"`{name}`" in TEXT


def test_the_index_names_most_modules() -> None:
    """Guards the pattern above: were it to match nothing, the tests above would be
    empty.
    """
    assert len(NAMED) > 40
    assert {name.split(".")[0] for name in NAMED} >= {
        "propose",
        "rvea",
        "acquisition",
        "training_data",
        "regressor",
    }


def test_every_departure_marked_in_the_code_is_listed_with_its_function() -> None:
    listed = TEXT.split("## Departures")[1]
    marked = _marked(r"Differs from \[")
    assert len(marked) >= 11
    assert [
        where
        for where, _, names in marked
        if not any(f"`{name}`" in listed for name in names)
    ] == []


def test_every_equation_referenced_in_the_code_is_indexed_with_its_function() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    referenced = _marked(r"\[SBP-BO\] Eq\. \([\d)(-]+\)")
    assert len({text for _, text, _ in referenced}) >= 6
    missing = [
        (where, text)
        for where, text, names in referenced
        if not any(
            text in row and any(f"`{name}`" in row for name in names) for row in rows
        )
    ]
    assert missing == []


def _marked(pattern: str) -> list[tuple[str, str, set[str]]]:
    """Where the pattern occurs in a function, the text, and the public functions that
    the place belongs to.
    """
    found = []
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        functions = {
            node.name: node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef)
        }
        for number, line in enumerate(source.splitlines(), 1):
            for text in re.findall(pattern, line):
                inside = {
                    name
                    for name, node in functions.items()
                    if node.lineno <= number <= (node.end_lineno or 0)
                }
                assert inside, f"{path.name}:{number} belongs to no function"
                names = {f"{path.stem}.{name}" for name in _public(inside, functions)}
                found.append((f"{path.name}:{number}", text, names))
    return found


def _public(names: set[str], functions: dict[str, ast.FunctionDef]) -> set[str]:
    """A private function belongs to those that call it."""
    private = {name for name in names if name.startswith("_")}
    if not private:
        return names
    callers = {
        name
        for name, node in functions.items()
        if name not in names
        and {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & private
    }
    return (names - private) | _public(callers, functions)
