"""Vendored files are what `make vendor` built, with versions and licences."""

import hashlib
import json

import pytest

from app.dashboard.assets import STATIC

VENDOR = STATIC / "vendor"
ENTRIES = json.loads((VENDOR / "versions.json").read_text())


def test_every_vendored_file_is_listed() -> None:
    listed = {entry["file"] for entry in ENTRIES}
    present = {file.name for file in VENDOR.iterdir()}
    assert present == listed | {"versions.json", "LICENSES.txt"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["file"]))
def test_a_vendored_file_is_unchanged_and_its_licence_is_here(
    entry: dict[str, object],
) -> None:
    content = (VENDOR / str(entry["file"])).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    licences = (VENDOR / "LICENSES.txt").read_text()
    packages = entry["packages"]
    assert isinstance(packages, list)
    for package in packages:
        assert f"\n{package} (" in licences


@pytest.mark.parametrize("name", ["ui.js", "charts.js", "yaml.js"])
def test_vendored_modules_need_no_eval(name: str) -> None:
    text = (VENDOR / name).read_text()
    assert "new Function(" not in text
    assert "eval(" not in text
