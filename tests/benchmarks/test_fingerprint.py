"""What changes the fingerprint of the code that a run was made with."""

from pathlib import Path

import pytest

from benchmarks.paper.fingerprint import PROTOCOL, ROOT, SOURCES, fingerprint


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
    assert all((ROOT / source).exists() for source in SOURCES)
    assert len(fingerprint()) == 12
