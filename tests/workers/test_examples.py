"""docs/workers.md, done: its files are those of workers/examples, its commands are run
as they are printed.
"""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from tests.e2e.processes import free_port, run_script, serving
from tests.project.test_pages import with_quick_steps

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    file for file in (ROOT / "workers" / "examples").iterdir() if file.is_file()
]
PAGE = (ROOT / "docs" / "workers.md").read_text()
BLOCKS = re.findall(r"^```(.*)\n((?:.*\n)*?)```$", PAGE, re.M)


def test_the_page_shows_the_examples_as_they_are() -> None:
    assert {text for kind, text in BLOCKS if kind != "sh"} == {
        file.read_text() for file in EXAMPLES
    }


@pytest.mark.slow
@pytest.mark.timeout(600)  # many processes, on a machine that may be busy
@pytest.mark.skipif(
    shutil.which("curl") is None,
    reason="NO CURL HERE: the commands of docs/workers.md are not tested",
)
def test_the_commands_work_as_they_are_printed(tmp_path: Path) -> None:
    for file in EXAMPLES:
        # As an editor makes it: not executable
        shutil.copyfile(file, tmp_path / file.name)
    study = tmp_path / "beam.yaml"
    study.write_text(with_quick_steps(study.read_text()))
    with serving(f"sqlite:///{tmp_path / 'counterpoise.db'}") as (url, _):
        script = "set -eux\n" + "".join(text for kind, text in BLOCKS if kind == "sh")
        script = script.replace("http://127.0.0.1:8000", url).replace(
            "8786", str(free_port())
        )
        said = run_script(script, tmp_path, url)
        study = httpx.get(f"{url}/studies/beam").json()
        workers = {
            worker["worker"] for worker in httpx.get(f"{url}/workers").json()["items"]
        }
        assert study["phase"] == "finished", said
        assert {"by-hand", "curl-1"} < workers
        assert len(workers) == 2 + said.count(" ended\n") == 6, said
        failed = httpx.get(
            f"{url}/studies/beam/jobs", params={"state": "failed", "limit": 1000}
        ).json()["items"]
        values = {
            (sample["x"]["width"], sample["x"]["height"]): sample["values"]
            for sample in httpx.get(
                f"{url}/studies/beam/samples", params={"limit": 1000}
            ).json()["items"]
        }
    for (width, height), found in values.items():
        known = {
            "mass": 7850 * width * height,
            "deflection": 1000 / (3 * 210e9 * width * height**3 / 12),
            "stress": 1000 * (height / 2) / (width * height**3 / 12),
        }
        assert found == {name: pytest.approx(known[name], rel=1e-4) for name in found}
    assert {job["objective"] for job in failed} <= {"deflection"}  # those that tip over
