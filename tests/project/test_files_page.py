"""What docs/files.md and the import in docs/api.md tell an engineer to type, typed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import COUNTERPOISE, environment, serving

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str = "") -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S
    )


@pytest.fixture
def typed(tmp_path: Path) -> object:
    def run(text: str, url: str) -> str:
        path = f"{COUNTERPOISE.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-ec", text.replace("http://127.0.0.1:8000", url)],
            cwd=tmp_path,
            env={**environment(), "PATH": path, "COUNTERPOISE_URL": url},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_the_page_of_files_does_as_it_says(typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    begin, export, again = blocks("files.md")
    with serving(f"sqlite:///{tmp_path}/counterpoise.db", "--no-planner") as (url, _):
        said = typed(begin, url)
        counts = "2 new samples with all values, 1 new samples that lack some"
        assert f"study bracket: 3 rows would give {counts}\n" in said
        assert (
            f"study bracket: 3 rows gave {counts}, 1 jobs for missing values\n" in said
        )
        typed(export, url)
        assert (tmp_path / "samples.csv").read_text().splitlines()[
            1
        ] == "1,,true,0,12.5,0,1.9,310.0"
        assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 2
        assert f"study bracket-2: 3 rows gave {counts}\n" in typed(again, url)
        (python,) = blocks("files.md", "python")
        (tmp_path / "page.py").write_text(python)
        assert typed(f"{sys.executable} page.py", url) == "3 rows are known\n"
        assert (tmp_path / "samples.json").stat().st_size > 0
        (create,) = [
            block for block in blocks("api.md") if "study create wing.yaml" in block
        ]
        typed(create, url)
        (curl,) = [block for block in blocks("api.md") if "/import" in block]
        said = typed(curl, url)
        assert '"partial":1' in said
        assert "sample,step,full,open,span,ribs,skin,mass,drag,lift,stiffness" in said
