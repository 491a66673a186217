"""One study whose objectives come from Dakota's files, Optuna, pymoo and OpenMDAO, with
the simulations that the docs print.
"""

import csv
import subprocess
from pathlib import Path

import pytest

from tests.e2e.processes import COUNTERPOISE, environment
from tests.project.test_pages import ADAPTERS, write_files

STUDY = """
name: beam
variables:
  - {name: width, low: 0.02, high: 0.1}
  - {name: height, low: 0.02, high: 0.1}
objectives:
  - {name: mass, run: openmdao_worker:beam}
  - {name: deflection, run: optuna_worker:beam}
  - {name: f0, run: pymoo_worker:bnh}
  - {name: stress, run: {command: ./driver.sh, format: FORMAT}}
initial_samples: 4
budget: 5
seed: 1
strategy: random
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_study_whose_objectives_come_from_four_libraries(tmp_path: Path) -> None:
    for page in ADAPTERS:
        write_files(f"adapters/{page}.md", tmp_path)
    (tmp_path / "driver.sh").chmod(0o755)
    (tmp_path / "beam.yaml").write_text(STUDY.replace("FORMAT", "dakota"))
    done = subprocess.run(
        [str(COUNTERPOISE), "run", "beam.yaml"],
        cwd=tmp_path,
        env={**environment(), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    file = tmp_path / "counterpoise-beam" / "samples.csv"
    rows = list(csv.DictReader(file.read_text().splitlines()))
    names = ("mass", "deflection", "f0", "stress")
    complete = [row for row in rows if all(row[name] for name in names)]
    assert complete
    for row in complete:
        w, h = float(row["width"]), float(row["height"])
        expected = (
            7850 * w * h,
            4000 / (210e9 * w * h**3),
            4 * w**2 + 4 * h**2,
            6 / (w * h**2),
        )
        assert [float(row[name]) for name in names] == pytest.approx(expected, rel=1e-5)
