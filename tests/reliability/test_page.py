"""docs/reliability.md names tests and fault points that there are, and all fault points."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reliability.md").read_text()
POINTS = {
    name for file in (ROOT / "app").rglob("*.py") for name in re.findall(r'\bpoint\("([^"]+)"\)', file.read_text())
}


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 10
    assert [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_every_fault_point_is_on_the_page_and_in_a_test() -> None:
    tests = "".join(file.read_text() for file in (ROOT / "tests/reliability").glob("test_*.py"))
    assert set(re.findall(r"`(\w+\.(?:written|committed|begun|found|claimed|computed))`", PAGE)) == POINTS
    assert {name for name in POINTS if f'"{name}"' not in tests} == set()


@pytest.mark.parametrize(("folder", "dies"), [(None, False), ("nowhere", False), (".", True)])
def test_a_fault_point_acts_only_if_the_folder_was_there(tmp_path: Path, folder: str | None, dies: bool) -> None:
    (tmp_path / "here.kill").touch()
    own = {name: value for name, value in os.environ.items() if name != "COUNTERPOISE_FAULTS"}
    given = {"COUNTERPOISE_FAULTS": str(tmp_path / folder)} if folder else {}
    said = [sys.executable, "-c", "from app.faults import point; point('here')"]
    done = subprocess.run(said, env={**own, **given, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, check=False)
    assert done.returncode == (-9 if dies else 0)
