"""What changes the fingerprint of the code that a run was made with."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.campaign.execute import more_sources
from benchmarks.paper.fingerprint import (
    PEER_RUNS,
    PROTOCOL,
    ROOT,
    SOURCES,
    VIRTUAL_TIME,
    fingerprint,
)
from benchmarks.paper.results import Spec


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    protocol = [f"benchmarks/paper/{name}" for name in PROTOCOL]
    for name in (
        "app/optimizer/search/rvea.py",
        "benchmarks/problems/dtlz.py",
        *protocol,
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def test_it_follows_code_but_not_comments_and_docstrings(root: Path) -> None:
    source = root / "app" / "optimizer" / "search" / "rvea.py"

    def of(text: str) -> str:
        source.write_text(text)
        return fingerprint(root)

    first = of('def f():\n    """Returns one."""\n    return 1\n')
    assert of('def f():\n    """Returns 1."""\n    return 1  # why\n') == first
    assert of("def f():\n    return 2\n") != first
    assert of("def f():\n    return 1\n") == first


@pytest.mark.parametrize(
    "name", ["benchmarks/problems/dtlz.py", "benchmarks/paper/protocol.py"]
)
def test_it_follows_problems_and_protocol(root: Path, name: str) -> None:
    first = fingerprint(root)
    (root / name).write_text("BATCH = 4\n")
    assert fingerprint(root) != first


def test_its_sources_exist() -> None:
    sources = (*SOURCES, *VIRTUAL_TIME, *PEER_RUNS)
    assert all((ROOT / source).exists() for source in sources)
    assert len(fingerprint()) == 12


def test_runs_in_virtual_time_and_of_peers_depend_on_more(root: Path) -> None:
    ours = Spec("dtlz2", 3, 5, "sbp-bo", 0)
    assert more_sources(ours) == ()
    assert more_sources(replace(ours, slots=4)) == VIRTUAL_TIME
    assert more_sources(replace(ours, strategy="hvkg")) == PEER_RUNS
    first = fingerprint(root)
    (root / "benchmarks/peers").mkdir()
    (root / "benchmarks/peers/hvkg.py").write_text("STARTS = 1")
    assert fingerprint(root) == first
    assert fingerprint(root, PEER_RUNS) != first
