"""Any request: no 5xx, no undocumented response, and no refusal that changes a row."""

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
from tests.reliability.input.fuzzed_studies import BYSTANDER, JOB_SOURCE, TARGET
from tests.reliability.input.stored_rows import unchanged
from tests.service.lab import Lab

SCHEMATHESIS = Path(sys.executable).with_name("st")
HOOKS = "tests.reliability.input.schemathesis_hooks"
TOKENS = {role: f"{role}-token-of-the-tests" for role in ("worker", "read", "admin")}
TOKEN_SETTINGS = {
    f"COUNTERPOISE_{role.upper()}_TOKENS": token for role, token in TOKENS.items()
}
# What a document cannot state: that low < high, or which names exist.
NOT_CHECKED = "positive_data_acceptance"
# With a live lease
WORK = {f"POST /{path} 200 changed" for path in ("ask", "tell", "heartbeat", "release")}


@dataclass(frozen=True, slots=True)
class Size:
    """How many requests to each operation, and how many sequences of linked requests."""

    requests: int
    sequences: int
    phases: str = "examples,coverage,fuzzing,stateful"
    # Also follow links that schemathesis infers. They lead to responses that depend on
    # earlier requests, at which it gives up, so a few sequences from each of several
    # seeds.
    infers_links: bool = False
    seed: int = 1

    def write(self, file: Path) -> None:
        lines = [
            f"phases.fuzzing.generation.max-examples = {self.requests}",
            f"phases.stateful.generation.max-examples = {self.sequences}",
        ]
        if not self.infers_links:
            lines.append("phases.stateful.inference.algorithms = []")
        file.write_text("\n".join(lines) + "\n")


# Without `coverage`: a request for every limit of every field takes a minute
SHORT = Size(1, 20, "examples,fuzzing,stateful")
LONG = Size(100, 200)
INFERRED = [
    Size(1, 100, "stateful", infers_links=True, seed=seed) for seed in range(1, 6)
]
SLOW = [pytest.mark.slow, pytest.mark.timeout(3600)]


def create_studies(database: Database, job_source_samples: int) -> None:
    """All studies are planned; the bystander has a job that is done, one that failed
    and one that is leased.
    """
    for name, samples in (
        (JOB_SOURCE, job_source_samples),
        (TARGET, 8),
        (BYSTANDER, 4),
    ):
        lab = Lab(
            database,
            **{**SPEC, "name": name, "initial_samples": samples, "budget": samples + 2},
        )
        lab.plan()
    done, failed, _ = lab.ask("mass", most=3)
    lab.tell(done, 1.5)
    lab.fail(failed, "error", "by itself")


def fuzz(
    url: str, database: Database, folder: Path, size: Size, *options: str
) -> Counter[str]:
    """Run schemathesis; return how often each operation had which status and effect."""
    size.write(folder / "fuzz.toml")
    responses = folder / "responses"
    responses.unlink(missing_ok=True)
    command = [
        *(
            str(SCHEMATHESIS),
            "--config-file",
            "fuzz.toml",
            "run",
            f"{url}/openapi.json",
            "--no-color",
        ),
        *("--phases", size.phases, "--checks", "all", "--exclude-checks", NOT_CHECKED),
        *(
            "--seed",
            str(size.seed),
            "--generation-database",
            "none",
            "--max-response-time",
            "60",
            "--request-timeout",
            "60",
            *options,
        ),
    ]
    variables = {
        "SCHEMATHESIS_HOOKS": HOOKS,
        "PYTHONPATH": str(processes.ROOT),
        "FUZZED_DATABASE": database.url,
        "FUZZED_RESPONSES": str(responses),
    }
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    figures = re.findall(
        r"Scenarios: .*|API Links: .*|\d+ generated, .*", result.stdout
    )
    print(size, *figures)  # noqa: T201
    if "stateful" in size.phases and not size.infers_links:
        sequences = re.findall(r"Scenarios: +(\d+)", result.stdout)
        assert int(sequences[0]) >= size.sequences, result.stdout
    return Counter(responses.read_text().splitlines())


# They need a point within the bounds, or the number of a sample: `tests/api` calls them.
NOT_REACHED = {
    "POST /studies/{name}/samples",
    "POST /studies/{name}/samples/{sample}/exclude",
    "POST /studies/{name}/samples/{sample}/restore",
}


def documented_operations(url: str) -> set[str]:
    operations: set[str] = set()
    for path, methods in httpx.get(f"{url}/openapi.json").json()["paths"].items():
        operations.update(f"{method.upper()} {path}" for method in methods)
    return operations


def successful_operations(seen: Counter[str]) -> set[str]:
    return {line.rpartition(" 20")[0] for line in seen if " 20" in line}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("backend", "size"),
    [
        pytest.param("sqlite", SHORT, id="sqlite"),
        pytest.param("sqlite", LONG, marks=SLOW, id="sqlite-long"),
        pytest.param("postgresql", LONG, marks=SLOW, id="postgresql-long"),
    ],
)
def test_fuzzed_requests_without_tokens(
    database_url: str,
    database: Database,
    tmp_path: Path,
    size: Size,
) -> None:
    create_studies(database, 50 + 10 * size.requests)
    without_access_check = ("--exclude-checks", f"{NOT_CHECKED},ignored_auth")
    with (
        processes.serving(database_url, "--no-planner") as (url, _),
        unchanged(database, BYSTANDER),
    ):
        seen = fuzz(url, database, tmp_path, size, *without_access_check)
        assert "POST /ask 200 changed" in seen
        if size is LONG:
            assert seen.keys() >= WORK
            missing = documented_operations(url) - successful_operations(seen)
            assert missing <= NOT_REACHED
            for inferred in INFERRED:
                fuzz(url, database, tmp_path, inferred, *without_access_check)
        assert httpx.get(f"{url}/readyz").status_code == 200


# In `make test`, tests/api/security/test_access.py tries every route with every role.
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("role", TOKENS)
def test_fuzzed_requests_with_a_token_change_only_what_its_role_may(
    database_url: str,
    database: Database,
    tmp_path: Path,
    role: str,
) -> None:
    create_studies(database, 50 + 10 * LONG.requests)
    server = processes.serving(database_url, "--no-planner", port=0, **TOKEN_SETTINGS)
    with server as (url, _), unchanged(database, BYSTANDER):
        seen = fuzz(
            url,
            database,
            tmp_path,
            LONG,
            "--header",
            f"Authorization: Bearer {TOKENS[role]}",
        )
    changes = {line for line in seen if line.endswith(" changed")}
    if role == "admin":
        assert changes > {"POST /ask 200 changed", "POST /studies 201 changed"}
    elif role == "worker":
        assert changes == WORK
    else:
        assert changes == set()
        assert successful_operations(seen) >= {
            "GET /studies",
            "GET /events",
            "GET /workers",
            "GET /metrics",
        }
