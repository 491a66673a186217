"""Write the lock files: pinned and hashed for every platform and Python version,
without index URLs.
"""

import subprocess
import sys
from pathlib import Path

COMMON = [
    *(
        "--universal",
        "--python-version",
        "3.11",
        "--upgrade",
        "--generate-hashes",
        "--quiet",
    ),
    *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"),
]
HERE = Path(__file__).parent


def resolve(name: str, *options: str) -> None:
    compile_command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        *COMMON,
        *options,
        "--group",
        "build",
    ]
    command = [*compile_command, "pyproject.toml", "-o", str(HERE / name)]
    subprocess.run(command, check=True, cwd=HERE.parent)  # noqa: S603


resolve("runtime.txt", "--extra", "server", "--extra", "demo")
# The constraint gives both files the same versions, so that tests use the versions of
# the runtime.
resolve(
    "dev.txt",
    "--all-extras",
    "--group",
    "dev",
    "--constraints",
    str(HERE / "runtime.txt"),
)
