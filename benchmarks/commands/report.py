"""The command `report`: the page of all campaigns."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.campaign.report.page import write_page

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def report(
    page: Annotated[Path, typer.Option(help="The Markdown file to write.")] = PAGE,
) -> None:
    """Write docs/benchmarks.md and its pictures from the results on file."""
    write_page(page)
    typer.echo(f"wrote {page}")
