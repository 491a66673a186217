"""The Python code of docs/api.md, run as printed."""

import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.processes import environment
from tests.worker.in_process_server import serving_here

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_code_of_the_page_runs(sqlite_template: Path, tmp_path: Path) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)^```$",
        PAGE.read_text().partition("\n## In Python\n")[2],
        re.M | re.S,
    )
    file = tmp_path / "counterpoise.db"
    file.write_bytes(sqlite_template.read_bytes())
    with serving_here(f"sqlite:///{file}") as url:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**environment(), "COUNTERPOISE_URL": url},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.splitlines() == [
        "['recorded', 'recorded', 'recorded', 'recorded']",
        "409 study 'box' has a budget of 10 already; extend it to more than that, not to 5",
    ], done.stderr
