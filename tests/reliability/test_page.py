"""docs/reliability.md names tests and fault points that there are, and all fault points."""

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
ACTS = {"held", "killed", "kill_at", "go_on_to"}  # of tests/reliability/elsewhere.py
POINTS = {
    name for file in (ROOT / "app").rglob("*.py") for name in re.findall(r'\bpoint\("([^"]+)"\)', file.read_text())
}


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 10
    assert [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_every_fault_point_is_on_the_page_and_in_a_test() -> None:
    assert set(re.findall(r"`(\w+\.(?:written|committed|begun|found|claimed|computed))`", PAGE)) == POINTS
    files = (ROOT / "tests/reliability").glob("test_*.py")
    assert POINTS - {name for file in files for name in acted_on(ast.parse(file.read_text()))} == set()


def acted_on(module: ast.Module) -> Iterator[str]:
    """Words of functions and classes that hold or kill somebody, and of the constants that they speak of."""
    constants = {
        target.id: list(words(node.value))
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in module.body:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        methods = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (names | methods) & ACTS:
            yield from words(node)
            yield from (word for name in names & constants.keys() for word in constants[name])


def words(node: ast.AST) -> Iterator[str]:
    """Not those inside a sentence."""
    return (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))


@pytest.mark.parametrize(("folder", "dies"), [(None, False), ("nowhere", False), (".", True)])
def test_a_fault_point_acts_only_if_the_folder_was_there(tmp_path: Path, folder: str | None, dies: bool) -> None:
    (tmp_path / "here.kill").touch()
    own = {name: value for name, value in os.environ.items() if name != "COUNTERPOISE_FAULTS"}
    given = {"COUNTERPOISE_FAULTS": str(tmp_path / folder)} if folder else {}
    said = [sys.executable, "-c", "from app.fault_points import point; point('here')"]
    done = subprocess.run(said, env={**own, **given, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, check=False)
    assert done.returncode == (-9 if dies else 0)
