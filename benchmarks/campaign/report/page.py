"""The page docs/benchmarks.md, from the result files alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.campaign.campaigns import CAMPAIGNS, Campaign, Choice, specs_of
from benchmarks.campaign.commands import command_of
from benchmarks.campaign.execute import on_file
from benchmarks.campaign.report import engineering_section
from benchmarks.campaign.report.renderers import renderer_of
from benchmarks.campaign.report.slots_section import slots_section
from benchmarks.campaign.result_files import RESULTS, files_of
from benchmarks.campaign.rows import rows_of
from benchmarks.commands.arguments import parse_seeds
from benchmarks.paper.results import Outcome

MOST_PICTURES = 6  # of a campaign: those of most runs
MOST_COLUMNS = 10  # that are listed, and that a picture shows
HEAD = """# Benchmarks

`counterpoise bench report` writes this page from the files in `benchmarks/results/`: no number in it was typed by hand.
A campaign goes on where it was when its command is given again, on processes (`--jobs 2`) or on a Dask cluster
(`--executor dask://host:port`). The line below each table repeats one of its runs; another run is repeated with other
names and numbers in it. The same seed gives the same run on the same machine and library versions.
"""


def write_page(page: Path, results: Path = RESULTS) -> None:
    """The page, and the pictures in the folder images/benchmarks beside it."""
    sections = [HEAD, _overview(results)]
    for name, campaign in CAMPAIGNS.items():
        sections.append(_section(name, campaign, results, page.parent))
    sections.append(slots_section(results))
    sections += engineering_section.sections(results)
    page.write_text("\n".join(sections))


def planned(campaign: Campaign, *columns: str) -> int:
    """How many runs the campaign has; with columns, how many these have."""
    seeds = tuple(parse_seeds(campaign.seeds))
    return len(specs_of(campaign, Choice(columns=columns, seeds=seeds)))


def finished(name: str, campaign: Campaign, results: Path) -> list[Outcome]:
    """The runs on file, of the campaign's own seeds and columns."""
    choice = Choice(seeds=tuple(parse_seeds(campaign.seeds)))
    specs = specs_of(campaign, choice)
    return list(on_file(specs, files_of(name, results)).values())


def _overview(results: Path) -> str:
    lines = ["| campaign | runs on file | runs planned | seeds |", "|---|---|---|---|"]
    for name, campaign in CAMPAIGNS.items():
        count = len(finished(name, campaign, results))
        planned_count = planned(campaign)
        link = f"[{name}](#{name})"
        lines.append(f"| {link} | {count} | {planned_count} | {campaign.seeds} |")
    return "\n".join(lines) + "\n"


def _section(name: str, campaign: Campaign, results: Path, docs: Path) -> str:
    outcomes = finished(name, campaign, results)
    parts = [
        f"## {name}",
        campaign.what,
        f"```\ncounterpoise bench campaign {name}\n```",
        _state(campaign, outcomes),
    ]
    if outcomes:
        rows = rows_of(campaign, outcomes)
        shown = renderer_of(name).markdown(rows)
        parts += [shown.rstrip(), _again(name, outcomes)]
        if len(campaign.columns) <= MOST_COLUMNS:
            parts += _pictures(name, outcomes, docs)
    return "\n\n".join(parts) + "\n"


def _state(campaign: Campaign, outcomes: Sequence[Outcome]) -> str:
    """What has been run of each column, and what has not."""
    if not outcomes:
        return "**Not run yet.**"
    if len(campaign.columns) > MOST_COLUMNS:
        return f"{_runs(outcomes, planned(campaign))}."
    lines = []
    for column in campaign.columns:
        runs = [run for run in outcomes if run.spec.column == column]
        if not runs:
            lines.append(f"- `{column}`: **not run yet**")
            continue
        lines.append(f"- `{column}`: {_runs(runs, planned(campaign, column))}")
    return "\n".join(lines)


def _runs(runs: Sequence[Outcome], planned_count: int) -> str:
    seeds = ", ".join(map(str, sorted({run.spec.seed for run in runs})))
    codes = len({run.code for run in runs})
    versions = "one version" if codes == 1 else f"{codes} versions"
    count = f"{len(runs)} of {planned_count} runs"
    return f"{count}, seeds {seeds}, made by {versions} of the code"


def _again(name: str, outcomes: Sequence[Outcome]) -> str:
    command = command_of(name, outcomes[0].spec)
    return f"One run again, the first of the table:\n\n```\n{command}\n```"


def _pictures(name: str, outcomes: Iterable[Outcome], docs: Path) -> list[str]:
    # matplotlib takes a second to import
    from benchmarks.campaign.report.plots import draw, picture_name

    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.trace or outcome.timeline:
            groups.setdefault(picture_name(outcome.spec), []).append(outcome)
    largest = sorted(groups, key=lambda key: (-len(groups[key]), key))[:MOST_PICTURES]
    folder = docs / "images" / "benchmarks" / name
    shown = []
    for key in largest:
        (path,) = draw(groups[key], folder)
        place = path.relative_to(docs).as_posix()
        shown.append(f"![{key}: median and quartiles]({place})")
    return shown
