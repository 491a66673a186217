"""The README's tour, taken."""

import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, free_port, run_script
from tests.project.test_pages import with_quick_steps


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="NO CURL HERE: the README's tour is not tested"
)
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
def test_the_tour(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text().partition("\n## A 60-second tour\n")[2]
    tour = re.findall(r"```\n(.*?)```", section, re.S)[0]
    # What comes before sets up an environment, as the tests have one
    tour = tour.partition("counterpoise serve")
    assert "install.sh" in tour[0]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    script = f"set -eu\n{tour[1]} --port {port}{tour[2]}wait".replace(
        "http://127.0.0.1:8000", url
    )
    said = run_script(with_quick_steps(script), tmp_path, url)
    assert "finished" in said, said
    assert "best mass" in said, said  # of the front
