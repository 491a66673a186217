"""What `docker compose up` starts, started without Docker: the same commands and
environment, on a real PostgreSQL.
"""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.processes import (
    COUNTERPOISE,
    environment,
    eventually,
    listening,
    running,
)
from tests.project.compose_file import ROOT, ours, pools

SERVICES = ours()


class Place:
    """Where things are here that in Docker are hosts, mounts and volumes."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.url = ""
        self._database_url, self._folder = database_url, folder

    def command(self, name: str) -> list[str | Path]:
        mounts = dict(
            reversed(volume.split(":")[:2])
            for volume in SERVICES[name].get("volumes", [])
        )
        return [
            COUNTERPOISE,
            *(self._find(mounts.get(word), word) for word in SERVICES[name]["command"]),
        ]

    def _find(self, source: str | None, word: str) -> str | Path:
        if source is None:
            return word
        return ROOT / source if source.startswith("./") else self._folder / source

    def environment(self, name: str) -> dict[str, str]:
        here = {
            "COUNTERPOISE_URL": self.url,
            "COUNTERPOISE_DATABASE_URL": self._database_url,
        }
        said: dict[str, str] = SERVICES[name]["environment"]
        return {variable: here.get(variable, value) for variable, value in said.items()}

    def run_once(self, name: str) -> str:
        given = {**environment(), **self.environment(name)}
        done = subprocess.run(
            self.command(name), env=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(400)  # for a loaded machine: a dozen processes start here
def test_the_demos_study_makes_progress_on_every_objective(
    postgresql: PostgreSQL, tmp_path: Path
) -> None:
    place = Place(postgresql.create(), tmp_path)
    with ExitStack() as stack:

        def start(name: str, *options: str) -> tuple["subprocess.Popen[bytes]", Path]:
            return stack.enter_context(
                running(*place.command(name), *options, **place.environment(name))
            )

        assert "empty -> " in place.run_once("migrate")
        process, log = start("api", "--host", "127.0.0.1", "--port", "0")
        place.url = eventually(lambda: listening(process, log), "the server's address")
        eventually(lambda: is_healthy(place.url), "the server's health check")
        assert "begins with demo- is public" in log.read_text()
        _, planned = start("planner")
        assert "created" in place.run_once("study")
        eventually(
            lambda: '"kind": "initial"' in planned.read_text(), "the initial design"
        )

        workers = []
        for name, service in pools().items():
            replicas = service["deploy"]["replicas"]
            workers += [start(name) for _ in range(replicas)]
        token = SERVICES["study"]["environment"]["COUNTERPOISE_TOKEN"]
        client = stack.enter_context(
            httpx.Client(
                base_url=place.url,
                headers={"Authorization": f"Bearer {token}"},
                timeout=30,
            )
        )

        def progress() -> bool:
            for worker, said in workers:
                assert worker.poll() is None, said.read_text()
            study: dict[str, Any] = (
                client.get("/studies/wing").raise_for_status().json()
            )
            assert [seen["failed"] for seen in study["objectives"]] == [0] * len(
                study["objectives"]
            )
            return all(seen["done"] > 0 for seen in study["objectives"])

        eventually(progress, "a value of every objective")
        eventually(
            lambda: len(client.get("/workers").json()["items"]) == len(workers),
            "every worker under its own name",
        )
        for worker, _ in workers:
            worker.terminate()
        for worker, said in workers:
            assert worker.wait(60) == 0, said.read_text()


def is_healthy(url: str) -> bool:
    """The container's health check, run here."""
    _, python, *arguments = SERVICES["api"]["healthcheck"]["test"]
    assert python == "python"
    here = [argument.replace("http://127.0.0.1:8000", url) for argument in arguments]
    return (
        subprocess.run(
            [sys.executable, *here], capture_output=True, check=False
        ).returncode
        == 0
    )
