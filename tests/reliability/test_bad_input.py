"""Whatever is sent: no 5xx, no answer that the document does not mention, no refusal that changes a row."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.store.database import Database
from tests.api.wing import SPEC
from tests.e2e import processes
from tests.reliability.attacked import BYSTANDER, GIVES, TOY
from tests.reliability.untouched import untouched
from tests.service.lab import Lab

SCHEMATHESIS = Path(sys.executable).with_name("st")
TOKENS = {role: f"{role}-token-of-the-tests" for role in ("worker", "read", "admin")}
GUARDED = {f"COUNTERPOISE_{role.upper()}_TOKENS": token for role, token in TOKENS.items()}
# Of workers; each says something about a lease that is alive, and it has an effect.
ALIVE = {f"POST /{what} 200 changed" for what in ("ask", "tell", "heartbeat", "release")}


@dataclass(frozen=True, slots=True)
class Size:
    """How many requests to each operation, and how many sequences of requests that follow from one another."""

    requests: int
    sequences: int
    phases: str = "examples,coverage,fuzzing,stateful"
    # Also links that schemathesis guesses, beside those of the document. They lead to answers that depend on what was
    # done before, at which it gives up: so a few sequences from each of several seeds.
    guesses: bool = False
    seed: int = 1

    def write(self, file: Path) -> None:
        file.write_text(
            f"phases.fuzzing.generation.max-examples = {self.requests}\n"
            f"phases.stateful.generation.max-examples = {self.sequences}\n"
            + ("" if self.guesses else "phases.stateful.inference.algorithms = []\n")
        )


LONG = Size(100, 200)
GUESSES = [Size(1, 100, "stateful", guesses=True, seed=seed) for seed in range(1, 6)]
SLOW = [pytest.mark.slow, pytest.mark.timeout(3600)]


def prepare(database: Database, samples: int) -> None:
    """All studies are planned; of the bystander one job is told, one has failed and one is leased."""
    for name, count in ((GIVES, samples), (TOY, 8), (BYSTANDER, 4)):
        lab = Lab(database, **{**SPEC, "name": name, "initial_samples": count, "budget": count + 2})
        lab.plan()
    told, failed, _ = lab.ask("mass", most=3)
    lab.tell(told, 1.5)
    lab.fail(failed, "error", "by itself")


def attack(url: str, database: Database, folder: Path, size: Size, *options: str) -> Counter[str]:
    """All checks of schemathesis but one, and our own. Answers how often it saw which operation, status and effect.

    That one wants whatever fits the document to be accepted; no document says that low < high, or which names exist.
    """
    size.write(folder / "attack.toml")
    seen = folder / "seen"
    seen.unlink(missing_ok=True)
    command = [
        *(str(SCHEMATHESIS), "--config-file", "attack.toml", "run", f"{url}/openapi.json", "--no-color"),
        *("--phases", size.phases, "--checks", "all", "--exclude-checks", "positive_data_acceptance"),
        *("--seed", str(size.seed), "--generation-database", "none", "--request-timeout", "60", *options),
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "tests.reliability.polite", "PYTHONPATH": str(processes.ROOT)}
    about = {"ATTACKED_DATABASE": database.url, "ATTACK_SEEN": str(seen)}
    result = subprocess.run(
        command, cwd=folder, env=os.environ | hooks | about, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    figures = re.findall(r"Scenarios: .*|API Links: .*|\d+ generated, .*", result.stdout)
    print(size, *figures)  # noqa: T201
    made = re.search(r"Scenarios: +(\d+)", result.stdout)
    assert size.guesses or "stateful" not in size.phases or (made and int(made[1]) >= size.sequences), result.stdout
    return Counter(seen.read_text().splitlines())


def operations(url: str) -> set[str]:
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def answered(seen: Counter[str]) -> set[str]:
    """Operations that were at least once answered with what was asked for."""
    return {line.rpartition(" 20")[0] for line in seen if " 20" in line}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("backend", "size"),
    [
        pytest.param("sqlite", Size(1, 20), id="sqlite"),
        pytest.param("sqlite", LONG, marks=SLOW, id="sqlite-long"),
        pytest.param("postgresql", LONG, marks=SLOW, id="postgresql-long"),
    ],
)
def test_schemathesis_finds_nothing(database_url: str, database: Database, tmp_path: Path, size: Size) -> None:
    prepare(database, 50 + 10 * size.requests)
    with processes.serving(database_url, "--no-planner") as (url, _), untouched(database, BYSTANDER):
        # Without tokens everybody may.
        seen = attack(url, database, tmp_path, size, "--exclude-checks", "positive_data_acceptance,ignored_auth")
        assert seen.keys() >= ALIVE
        assert answered(seen) == operations(url)
        for guessing in GUESSES if size is LONG else ():
            attack(url, database, tmp_path, guessing, "--exclude-checks", "positive_data_acceptance,ignored_auth")
        assert httpx.get(f"{url}/readyz").status_code == 200


# Without tokens what has nothing to do with them was tried.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("backend", "role", "size"),
    [
        pytest.param("sqlite", "worker", Size(1, 15, "examples,stateful"), id="worker"),
        pytest.param("sqlite", "read", Size(1, 1, "examples,fuzzing"), marks=SLOW, id="read"),
        pytest.param("sqlite", "admin", Size(1, 10, "examples,stateful"), marks=SLOW, id="admin"),
        *(
            pytest.param(backend, role, LONG, marks=SLOW, id=f"{role}-{backend}-long")
            for backend in ("sqlite", "postgresql")
            for role in TOKENS
        ),
    ],
)
def test_nor_with_tokens(database_url: str, database: Database, tmp_path: Path, role: str, size: Size) -> None:
    """And a role changes only what is its own."""
    prepare(database, 50 + 10 * size.requests)
    with processes.serving(database_url, "--no-planner", port=0, **GUARDED) as (url, _), untouched(database, BYSTANDER):
        seen = attack(url, database, tmp_path, size, "--header", f"Authorization: Bearer {TOKENS[role]}")
        changes = {line for line in seen if line.endswith(" changed")}
        if role == "admin":
            assert changes > {"POST /ask 200 changed", "POST /studies 201 changed"}
        elif role == "worker":
            assert changes == ALIVE
        else:
            assert changes == set()
            assert answered(seen) >= {"GET /studies", "GET /events", "GET /workers", "GET /metrics"}
