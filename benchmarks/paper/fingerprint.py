"""A fingerprint of the code that can change the result of a run."""

import ast
import hashlib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROTOCOL = ("protocol.py", "evaluations.py", "counterpoise_run.py")
SOURCES = (
    "app/optimizer",
    "benchmarks/problems",
    *(f"benchmarks/paper/{name}" for name in PROTOCOL),
)
# Of runs in virtual time, of other libraries' runs, and of variants of `counterpoise`
VIRTUAL_TIME = (
    "app/simulation",
    "app/domain/planning",
    "benchmarks/campaign/wall_clock.py",
)
PEER_RUNS = ("benchmarks/peers",)
VARIANT_RUNS = ("benchmarks/campaign/variants.py",)


def fingerprint(root: Path = ROOT, more: Sequence[str] = ()) -> str:
    """Changes with paths and code of the sources, not with comments and docstrings."""
    digest = hashlib.sha256()
    for path in _files(root, (*SOURCES, *more)):
        code = _without_docstrings(path.read_text())
        digest.update(f"{path.relative_to(root)}{code}".encode())
    return digest.hexdigest()[:12]


def _files(root: Path, sources: Sequence[str]) -> list[Path]:
    files: list[Path] = []
    for source in sources:
        path = root / source
        files += path.rglob("*.py") if path.is_dir() else [path]
    return sorted(files)


def _without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
