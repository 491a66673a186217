"""The commands that docs/api.md shows for a running study, with a real server."""

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from counterpoise.client import Client
from counterpoise.wire.work import Ask, Tell
from tests.api.wing import SPEC, evaluate
from tests.e2e.processes import COUNTERPOISE, ROOT, environment, serving


def printed(heading: str) -> list[str]:
    """The commands of a section."""
    section = (
        (ROOT / "docs" / "api.md")
        .read_text()
        .partition(f"\n## {heading}\n")[2]
        .partition("\n## ")[0]
    )
    lines: list[str] = []
    for block in re.findall(r"```\n(.*?)```", section, re.S):
        lines += block.splitlines()
    return lines


@contextmanager
def node7(url: str) -> Iterator[None]:
    """A worker of this name, until the study is finished."""
    over = threading.Event()

    def work() -> None:
        with Client(url) as client:
            ask = Ask(
                worker="node7", studies=["wing"], objectives=["*"], max_jobs=4, wait_s=1
            )
            while not over.is_set():
                asked = client.ask(ask)
                client.tell(
                    [
                        Tell(**evaluate(job.model_dump()), duration_s=0.1)
                        for job in asked.jobs
                    ]
                )

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def shell(line: str, url: str, database_url: str) -> str:
    path = f"{COUNTERPOISE.parent}:{os.environ['PATH']}"
    own = {
        **environment(),
        "PATH": path,
        "COUNTERPOISE_URL": url,
        "COUNTERPOISE_DATABASE_URL": database_url,
    }
    done = subprocess.run(["sh", "-c", line], env=own, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)  # a dozen processes, on a loaded machine
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    database_url = f"sqlite:///{tmp_path}/wing.db"
    watch, listing, drain, undrain = printed("Monitoring")
    assert watch.startswith("counterpoise study watch wing --until finished && ")
    with serving(database_url) as (url, _), Client(url) as client:
        client.create_study({**SPEC, "models": "paper"})
        with node7(url):
            seen = shell(watch, url, database_url)
        assert "wing: finished" in seen
        # The front comes last
        assert len(seen.splitlines()) > seen.count("wing: ")
        assert shell(listing, url, database_url).splitlines()[1].split()[:2] == [
            "node7",
            "alive",
        ]
        assert "worker node7 is drained" in shell(drain, url, database_url)
        assert (
            client.ask(Ask(worker="node7", studies=["*"], objectives=["*"])).reason
            == "drained"
        )
        assert "worker node7 gets jobs when it asks" in shell(
            undrain, url, database_url
        )
        assert "worker node7 told its value" in shell(
            "counterpoise explain 1", url, database_url
        )
    replayed = json.loads(
        shell("counterpoise replay wing --all --json", url, database_url)
    )
    assert replayed["equal"] is True
    assert {step["step"].partition(":")[0] for step in replayed["steps"]} >= {
        "initial",
        "search",
        "closing",
    }
