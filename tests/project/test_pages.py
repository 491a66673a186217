"""Pages for engineers: their files and commands work as they are printed, and lists in
them are complete.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from counterpoise.commands.study.specification_file import read_specification
from counterpoise.local.simulations import read_simulations, without_run
from counterpoise.wire.codes import HealthCode
from counterpoise.wire.specification import parse_specification
from tests.e2e.processes import COUNTERPOISE, environment

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n((?:.*\n)*?)```$", re.M)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file name and text of each block of code."""
    return BLOCK.findall((DOCS / page).read_text())


def write_files(page: str, folder: Path) -> None:
    for _, name, text in blocks(page):
        if name:
            (folder / name).write_text(text)


def with_quick_steps(text: str) -> str:
    """The study without models, which these tests need not wait for."""
    return re.sub(r"^(budget: \d+)$", r"\1\nstrategy: random", text, flags=re.M)


def run(command: list[str], folder: Path) -> str:
    path = f"{COUNTERPOISE.parent}:{environment()['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_works_as_it_is_printed(tmp_path: Path) -> None:
    write_files("tutorial.md", tmp_path)
    study = tmp_path / "bracket.yaml"
    study.write_text(with_quick_steps(study.read_text()))
    commands = [
        text for kind, name, text in blocks("tutorial.md") if kind == "sh" and not name
    ]
    printed = run(["sh", "-eu", "-c", "".join(commands)], tmp_path)
    assert "14 of 14 full samples" in printed
    assert "18 of 18 full samples" in printed
    page = (DOCS / "tutorial.md").read_text()
    table = page.split("| file | contents |")[1].split("\n\n")[0]
    for name in re.findall(r"`([a-z]+\.(?:csv|png|db|log))`", table):
        assert (tmp_path / "counterpoise-bracket" / name).exists(), name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_python_page_works_as_it_is_printed(tmp_path: Path) -> None:
    [code] = [text for kind, _, text in blocks("python.md") if kind == "python"]
    printed = run([sys.executable, "-c", code], tmp_path)
    assert "14 of 14 full samples" in printed


ADAPTERS = sorted(page.stem for page in (DOCS / "adapters").glob("*.md"))


def test_the_adapters_pages_work_as_they_are_printed(tmp_path: Path) -> None:
    for page in ADAPTERS:
        write_files(f"adapters/{page}.md", tmp_path)
    scripts = {"optuna_worker.py", "pymoo_worker.py", "openmdao_worker.py"}
    assert scripts < {file.name for file in tmp_path.iterdir()}
    for script in sorted(scripts):
        run([sys.executable, "-W", "ignore", script], tmp_path)
    assert len(json.loads((tmp_path / "trials.json").read_text())) <= 5


def test_the_study_page_shows_a_valid_study_and_every_field(tmp_path: Path) -> None:
    write_files("study.md", tmp_path)
    specification = read_specification(str(tmp_path / "wing.yaml"))
    assert parse_specification(specification.content).budget == 60
    page = (DOCS / "study.md").read_text()
    assert study_fields().filled(page) == page, "run: make format"


def study_fields() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fields", DOCS / "study_fields.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_study_of_the_readme_is_valid(tmp_path: Path) -> None:
    readme = (DOCS.parent / "README.md").read_text()
    [text] = [text for kind, _, text in BLOCK.findall(readme) if kind == "yaml"]
    (tmp_path / "wing.yaml").write_text(text)
    document = read_specification(str(tmp_path / "wing.yaml")).content
    assert parse_specification(without_run(document)).budget == 30
    mass, stiffness = read_simulations(document)
    assert mass.function == "sim:mass"
    assert stiffness.command == ("./fem.sh", "{params_txt}", "{results}")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_simulator_of_the_readme_is_optimised(tmp_path: Path) -> None:
    readme = (DOCS.parent / "README.md").read_text()
    section = readme.partition("\n## Install, and your own simulator")[2]
    commands = re.findall(r"```\n(.*?)```", section, re.S)[0]
    _, start, commands = commands.partition("mkdir wing")  # after the installation
    commands = with_quick_steps(start + commands)
    printed = run(["sh", "-eu", "-c", commands], tmp_path)
    assert "30 of 30 full samples" in printed
    assert "best stiffness" in printed


def test_every_health_message_is_explained() -> None:
    page = (DOCS / "health.md").read_text()
    assert [code for code in HealthCode if f"| `{code}` |" not in page] == []


def test_every_page_is_in_the_navigation() -> None:
    site = (DOCS.parent / "mkdocs.yml").read_text()
    pages = [*DOCS.glob("*.md"), *(DOCS / "adapters").glob("*.md")]
    names = [str(page.relative_to(DOCS)) for page in pages]
    assert [name for name in names if f": {name}" not in site] == []
