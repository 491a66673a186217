"""docs/reliability.md names existing tests, and all fault points."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reliability.md").read_text()
# Of tests/reliability/faults/fault_processes.py: what holds or kills a process at a
# fault point.
USES = {"held", "run_until_killed", "kill_at", "advance_to"}


def fault_points() -> set[str]:
    """The names of all fault points in the application."""
    points: set[str] = set()
    for file in (ROOT / "app").rglob("*.py"):
        points.update(re.findall(r'\bpoint\("([^"]+)"\)', file.read_text()))
    return points


def test_page_names_existing_tests() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 10
    for file, name in named:
        code = (ROOT / file).read_text()
        assert f"def {name}(" in code, f"{file}::{name}"


def test_every_fault_point_is_on_the_page_and_in_a_test() -> None:
    points = fault_points()
    assert (
        set(
            re.findall(
                r"`(\w+\.(?:written|committed|begun|found|claimed|computed))`", PAGE
            )
        )
        == points
    )
    used: set[str] = set()
    for file in (ROOT / "tests/reliability").rglob("test_*.py"):
        used.update(used_strings(ast.parse(file.read_text())))
    assert points - used == set()


def used_strings(module: ast.Module) -> Iterator[str]:
    """Strings in functions and classes that hold or kill a process, and in the
    constants that these name.
    """
    constants: dict[str, list[str]] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    constants[target.id] = strings(node.value)
    for node in module.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        attributes = {
            attribute.attr
            for attribute in ast.walk(node)
            if isinstance(attribute, ast.Attribute)
        }
        if (names | attributes) & USES:
            yield from strings(node)
            for name in names & constants.keys():
                yield from constants[name]


def strings(node: ast.AST) -> list[str]:
    constants = [
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant)
    ]
    return [value for value in constants if isinstance(value, str)]


@pytest.mark.parametrize(
    ("folder", "killed"), [(None, False), ("missing", False), (".", True)]
)
def test_fault_point_acts_only_if_its_folder_exists(
    tmp_path: Path, folder: str | None, killed: bool
) -> None:
    (tmp_path / "here.kill").touch()
    variables = {
        name: value
        for name, value in os.environ.items()
        if name != "COUNTERPOISE_FAULTS"
    }
    variables["PYTHONPATH"] = str(ROOT)
    if folder:
        variables["COUNTERPOISE_FAULTS"] = str(tmp_path / folder)
    command = [
        sys.executable,
        "-c",
        "from app.fault_points import point; point('here')",
    ]
    process = subprocess.run(command, env=variables, cwd=tmp_path, check=False)
    assert process.returncode == (-9 if killed else 0)
