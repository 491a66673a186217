"""A fingerprint of the code that can change the result of a run."""

import ast
import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROTOCOL = ("protocol.py", "evaluations.py", "counterpoise_run.py")
SOURCES = (
    "app/optimizer",
    "benchmarks/problems",
    *(f"benchmarks/paper/{name}" for name in PROTOCOL),
)


def fingerprint(root: Path = ROOT) -> str:
    """Changes with paths and code of the sources, not with comments and docstrings."""
    digest = hashlib.sha256()
    for path in _files(root):
        code = _without_docstrings(path.read_text())
        digest.update(f"{path.relative_to(root)}{code}".encode())
    return digest.hexdigest()[:12]


def _files(root: Path) -> list[Path]:
    files: list[Path] = []
    for source in SOURCES:
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
