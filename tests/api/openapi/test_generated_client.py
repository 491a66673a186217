"""A client that a generator makes from the OpenAPI document can create a study, ask,
tell and read the front.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.main import create_app
from app.settings import load_settings
from tests.api.openapi import generated_client_study
from tests.worker.in_process_server import serving_here

GENERATOR = "openapi-python-client==0.29.1"
METHODS = {"get", "post", "put", "delete", "patch"}


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def document(database_url: str) -> dict[str, Any]:
    return create_app(load_settings(database_url=database_url)).openapi()


def test_no_schema_has_alternatives_beside_properties(document: dict[str, Any]) -> None:
    """Generators use one or the other."""
    for name, schema in document["components"]["schemas"].items():
        if "properties" in schema:
            assert not {"oneOf", "anyOf", "allOf"} & schema.keys(), name


def test_no_enumeration_gets_the_name_of_another(document: dict[str, Any]) -> None:
    """Generators name the type of a field after its schema and its title."""
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        for part in schema.get("properties", {}).values():
            types = [part, *part.get("anyOf", ())]
            if any("enum" in each for each in types):
                title = "".join(word.capitalize() for word in part["title"].split())
                assert f"{name}{title}" not in schemas


def test_operations_have_readable_names_of_their_own(document: dict[str, Any]) -> None:
    """They become the names of functions."""
    names = Counter(
        operation["operationId"]
        for operations in document["paths"].values()
        for method, operation in operations.items()
        if method in METHODS
    )
    assert set(names.values()) == {1}
    assert all(name.isidentifier() and len(name) <= 30 for name in names)
    assert {"post_study", "post_ask", "post_tell", "get_front"} <= names.keys()


def test_every_reference_has_its_schema(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    names = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= document["components"]["schemas"].keys()


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment of its own: the generator needs an older typer than
    the command line has.
    """
    folder = tmp_path_factory.mktemp("generator")
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", GENERATOR)
    return python


def run(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    output = finished.stdout + finished.stderr
    assert finished.returncode == 0, output
    return output


@pytest.mark.slow
def test_a_generated_client_runs_a_study(
    generator: Path, database_url: str, document: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document))
    config = tmp_path / "generator.json"
    config.write_text(json.dumps({"post_hooks": []}))
    options = {
        "--path": path,
        "--config": config,
        "--output-path": tmp_path / generated_client_study.PACKAGE,
        "--meta": "none",
    }
    arguments = [str(part) for option in options.items() for part in option]
    output = run(generator, "-m", "openapi_python_client", "generate", *arguments)
    assert "Unable to" not in output, output
    # CSV is the only body that it does not know
    assert output.count("WARNING parsing") <= output.count("text/csv"), output
    script = Path(generated_client_study.__file__)
    with serving_here(database_url) as url:
        assert "8 jobs" in run(generator, script, tmp_path, url)
