"""Sections of docs/benchmarks.md on problems with limits and with categories."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    heading: str
    what: str
    command: str
    file: str


LIMITS = (
    "Limits in the slow run, and a hidden constraint (`hidden`): share of the search samples that are feasible, and"
    " hypervolume of the feasible front as a share of that of a long run of NSGA-II; means of the seeds. 60 full"
    " samples after the design, other objectives five times as fast. `infeasible as worst` is `sbp-bo` with the rule"
    " before there were limits."
)
CATEGORIES = (
    "Categories and discrete values: hypervolume as a share of that of the best points of all runs in the table; means"
    " of the seeds. 60 full samples after the design, one of two objectives five times as fast."
)
COMPARISONS = (
    Comparison("constrained", LIMITS, "constrained", "constrained"),
    Comparison(
        "constrained, counterpoise",
        "The same with `strategy: counterpoise`.",
        "constrained --strategy counterpoise",
        "constrained-counterpoise",
    ),
    Comparison("mixed", CATEGORIES, "mixed", "mixed"),
    Comparison(
        "mixed, counterpoise",
        "The same with `strategy: counterpoise`.",
        "mixed --strategy counterpoise",
        "mixed-counterpoise",
    ),
)


def sections(results: Path) -> list[str]:
    return [_section(comparison, results) for comparison in COMPARISONS]


def _section(comparison: Comparison, results: Path) -> str:
    command = f"counterpoise bench {comparison.command} --json"
    parts = [
        f"## {comparison.heading}",
        comparison.what,
        f"```\n{command} > benchmarks/results/{comparison.file}.jsonl\n```",
    ]
    file = results / f"{comparison.file}.jsonl"
    if file.exists():
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        parts.append(table(rows))
    else:
        parts.append("**Not run yet.**")
    return "\n\n".join(parts) + "\n"


def table(rows: list[Row]) -> str:
    """One line per problem, one column per method."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = [
        f"| problem | seeds | {' | '.join(methods)} |",
        "|---" * (len(methods) + 2) + "|",
    ]
    for problem in problems:
        of_problem = [row for row in rows if row["problem"] == problem]
        seeds = len({row["seed"] for row in of_problem})
        cells = [
            _cell([row for row in of_problem if row["method"] == method])
            for method in methods
        ]
        lines.append(f"| {problem} | {seeds} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(rows: list[Row]) -> str:
    if not rows:
        return ""
    volume = f"{mean(row['hypervolume_ratio'] for row in rows):.3f}"
    if "feasible_share" not in rows[0]:
        return volume
    share = mean(row["feasible_share"] for row in rows)
    return f"{share:.0%}, {volume}"
