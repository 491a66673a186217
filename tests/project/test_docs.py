"""What the documents point at exists."""

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.cli import bench

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [
        link
        for link in links
        if "://" not in link and not (page.parent / link).exists()
    ] == []


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    assert [
        page.name
        for page in (ROOT / "docs/adr").glob("0*.md")
        if page.name not in index
    ] == []


def test_make_bench_runs_every_benchmark_that_has_a_peer_or_a_ratio() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\nbench:")[1].split("\n\n")[0]
    commands = re.findall(r"counterpoise bench (.*)", recipe)
    assert [command.split()[0] for command in commands] == [
        "gp",
        "step",
        "store",
        "service",
    ]
    for command in commands:  # an option that there is not is refused even so
        result = CliRunner().invoke(bench, [*command.split(), "--help"])
        assert result.exit_code == 0, result.output


def test_the_benchmarks_of_the_readme_have_these_options() -> None:
    readme = (ROOT / "README.md").read_text().replace("\\\n", " ")
    commands = re.findall(r"^counterpoise bench (.*)$", readme, re.M)
    assert commands
    for command in commands:
        result = CliRunner().invoke(bench, [*command.split(), "--help"])
        assert result.exit_code == 0, result.output


def test_every_make_target_has_help_and_the_readme_names_them() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())  # type: ignore[index]
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert {line.split()[1] for line in shown.splitlines()} == phony
    assert phony - {"help"} <= set(re.findall(r"\w+", (ROOT / "README.md").read_text()))
