"""The import contracts hold, and each of them would notice its own breach."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A line that must not be written, where, and the contract that must notice it.
BREACHES = [
    ("app/store/work/workers.py", "import app.service", "Inside app, imports point one way"),
    ("app/errors.py", "import app.settings", "Inside app, imports point one way"),
    ("app/store/sql/clock.py", "import app.optimizer", "Inside app, imports point one way"),
    ("app/optimizer/space.py", "import app.settings", "The optimiser is pure"),
    ("app/optimizer/space.py", "import logging", "The optimiser is pure"),
    ("counterpoise/wire/work.py", "import app.errors", "What an engineer installs needs no server"),
    ("counterpoise/wire/work.py", "import numpy", "What an engineer installs needs no server"),
    ("app/api/routes/health.py", "import sqlalchemy", "SQL lives in the store"),
    ("app/service/__init__.py", "import workers", "Workers and benchmarks are nobody's dependency"),
]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in ("counterpoise", "app", "workers", "benchmarks"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__", "results"))
    return copy


def lint(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([command, "--no-cache"], cwd=checkout, capture_output=True, text=True, check=False)


def test_the_contracts_hold(checkout: Path) -> None:
    result = lint(checkout)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(("file", "line", "contract"), BREACHES, ids=[f"{file}: {line}" for file, line, _ in BREACHES])
def test_a_breach_is_noticed(checkout: Path, file: str, line: str, contract: str) -> None:
    source = (checkout / file).read_text()
    try:
        (checkout / file).write_text(f"{line}\n{source}")
        result = lint(checkout)
    finally:
        (checkout / file).write_text(source)
    assert result.returncode != 0
    broken = result.stdout.partition("Broken contracts")[2]
    assert contract in broken, result.stdout
