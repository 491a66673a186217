"""A client that a generator makes from the OpenAPI document can create a study, ask,
tell and read the front.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.main import create_app
from app.settings import load_settings
from tests.e2e.processes import eventually
from tests.worker.in_process_server import serving_here

# Not locked: it needs an older typer than the command line has.
pytest.importorskip("openapi_python_client")

PACKAGE = "generated_counterpoise"
SPEC = {
    "name": "box",
    "variables": [{"name": "side", "low": 1.0, "high": 2.0}],
    "objectives": [{"name": "volume", "direction": "maximize"}, {"name": "surface"}],
    "budget": 4,
    "initial_samples": 4,
}


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def client_package(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    document = tmp_path / "openapi.json"
    document.write_text(
        json.dumps(create_app(load_settings(database_url=database_url)).openapi())
    )
    config = tmp_path / "generator.json"
    config.write_text(json.dumps({"post_hooks": []}))
    generate = [sys.executable, "-m", "openapi_python_client", "generate"]
    options = {
        "--path": document,
        "--config": config,
        "--output-path": tmp_path / PACKAGE,
        "--meta": "none",
    }
    arguments = [str(part) for option in options.items() for part in option]
    finished = subprocess.run(
        [*generate, *arguments], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # CSV is the only body that it does not know
    output = finished.stdout + finished.stderr
    assert "Unable to" not in output, output
    assert output.count("WARNING parsing") <= output.count("text/csv"), output
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


@pytest.mark.usefixtures("client_package")
def test_a_generated_client_runs_a_study(database_url: str) -> None:
    models = load("models")
    Client = load("client").Client
    with (
        serving_here(database_url) as url,
        Client(base_url=url, raise_on_unexpected_status=True) as client,
    ):

        def call(operation: str, *arguments: Any, **options: Any) -> Any:
            module = load(f"api.{operation}")
            return module.sync(*arguments, client=client, **options)

        specification = models.Specification.from_dict(SPEC)
        assert call("studies.post_study", body=specification).name == "box"
        asked: list[Any] = []

        def ask() -> bool:
            body = models.Ask(
                worker="generated", studies=["box"], objectives=["*"], max_jobs=8
            )
            asked.extend(call("work.post_ask", body=body).jobs)
            return len(asked) == 8

        eventually(ask, "all jobs")
        for job in asked[:1]:
            tell = models.Tell(job=job.job, lease=job.lease, value=1.5)
            assert call("work.post_tell", body=tell).status == 200
        tells = [
            models.Tell(job=job.job, lease=job.lease, value=job.x.to_dict()["side"])
            for job in asked[1:]
        ]
        results = call("work.post_tell", body=tells)
        assert {told.status for told in results} == {200}
        front = call("studies.get_front", "box").items
        assert front
        assert set(front[0].values.to_dict()) == {"volume", "surface"}
