"""Whatever is sent: no 5xx, no answer that the document does not mention, no study harmed."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.api.wing import SPEC
from tests.e2e import processes

SCHEMATHESIS = Path(sys.executable).with_name("st")
TOKEN = "admin-token-of-the-tests"
ENDLESS = "/events$"  # streams that a generated request would listen to for ever


def attack(url: str, folder: Path, examples: int, *options: str, leave_out: Sequence[str] = ()) -> None:
    """All phases of schemathesis, also sequences of requests that follow from one another, and all checks but one.

    That one wants whatever fits the document to be accepted; no document says that low < high, or which names exist.
    """
    command: list[str] = [
        *(str(SCHEMATHESIS), "run", f"{url}/openapi.json", "--no-color", "--exclude-path-regex", ENDLESS),
        *("--checks", "all", "--max-examples", str(examples), "--seed", "1", "--generation-database", "none"),
        *("--exclude-checks", ",".join(("positive_data_acceptance", *leave_out)), *options),
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "tests.reliability.polite", "PYTHONPATH": str(processes.ROOT)}
    result = subprocess.run(command, cwd=folder, env=os.environ | hooks, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


LONG = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("backend", "examples"),
    [("sqlite", 1), pytest.param("sqlite", 100, marks=LONG), pytest.param("postgresql", 100, marks=LONG)],
)
def test_schemathesis_finds_nothing(database_url: str, tmp_path: Path, examples: int) -> None:
    with processes.serving(database_url, "--no-planner") as (url, _):
        assert httpx.post(f"{url}/studies", json=SPEC).status_code == 201
        attack(url, tmp_path, examples, leave_out=["ignored_auth"])  # without tokens everybody may
        assert httpx.get(f"{url}/readyz").status_code == 200


@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("examples", [1, pytest.param(50, marks=LONG)])
def test_nor_with_tokens(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, examples: int) -> None:
    guarded = processes.environment() | {"COUNTERPOISE_ADMIN_TOKENS": TOKEN}
    monkeypatch.setattr(processes, "environment", lambda: guarded)
    with processes.serving(database_url, "--no-planner") as (url, _):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.post(f"{url}/studies", json=SPEC, headers=headers).status_code == 201
        attack(url, tmp_path, examples, "--header", f"Authorization: Bearer {TOKEN}")
