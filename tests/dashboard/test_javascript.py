"""The pure modules of the dashboard, by Node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "javascript"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_pure_modules() -> None:
    files = sorted(str(file) for file in FOLDER.glob("*.test.mjs"))
    assert files
    command = [str(NODE), "--test", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
