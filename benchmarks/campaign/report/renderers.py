"""How the rows of a campaign are shown: by strategy, or by constant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.table import Table

from benchmarks.campaign.report import constants_table, tables
from benchmarks.campaign.rows import Row


@dataclass(frozen=True, slots=True)
class Renderer:
    text: Callable[[Sequence[Row]], Table]
    summary: Callable[[Sequence[Row]], str]
    markdown: Callable[[Sequence[Row]], str]


BY_STRATEGY = Renderer(tables.text, tables.summary, tables.markdown)
BY_CONSTANT = Renderer(
    constants_table.text, constants_table.summary, constants_table.markdown
)


def renderer_of(campaign: str) -> Renderer:
    return BY_CONSTANT if campaign == "constants" else BY_STRATEGY
