"""A campaign's runs as rows: one per instance, one column per strategy."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median, stdev

from benchmarks.campaign.campaigns import Campaign, Score
from benchmarks.campaign.significance import Assessment, assessments
from benchmarks.campaign.wall_clock import end_of
from benchmarks.paper.results import Outcome, Spec
from benchmarks.paper.tables import Entry


@dataclass(frozen=True, slots=True)
class Cell:
    scores: tuple[float, ...]  # one per seed
    seeds: tuple[int, ...]
    step_s: float  # mean of the runs' medians
    end_s: float | None  # median end in virtual time
    assessment: Assessment | None  # beside the first column; None: not tested
    hypervolume: float | None = None  # mean; None where a run has none

    @property
    def mean(self) -> float:
        return fmean(self.scores)

    @property
    def std(self) -> float:
        return stdev(self.scores) if len(self.scores) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Row:
    problem: str
    m: int
    ratios: str
    slots: str  # "4 faulty"; empty: not in virtual time
    score: Score
    cells: dict[str, Cell]
    paper: dict[str, Entry]

    @property
    def best(self) -> str:
        sign = -1.0 if self.score == "hypervolume" else 1.0
        return min(self.cells, key=lambda name: sign * self.cells[name].mean)


# Problem, m, d, ratios, slots
Instance = tuple[str, int, int, str, str]


def instance_of(spec: Spec) -> Instance:
    slots = str(spec.slots) if spec.slots else ""
    workers = f"{slots} faulty" if spec.faulty else slots
    return spec.problem, spec.m, spec.d, spec.shown_ratios, workers


def score_of(campaign: Campaign, outcome: Outcome) -> tuple[Score, float]:
    """The campaign's score; of ZDT problems the hypervolume."""
    is_zdt = outcome.spec.problem.startswith("zdt")
    if is_zdt or campaign.score == "hypervolume":
        return "hypervolume", outcome.hypervolume or 0.0
    if campaign.score == "igd" and outcome.igd is not None:
        return "igd", outcome.igd
    return "igd_plus", outcome.igd_plus


def rows_of(campaign: Campaign, outcomes: Iterable[Outcome]) -> list[Row]:
    groups: dict[Instance, dict[str, list[Outcome]]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.spec):
        columns = groups.setdefault(instance_of(outcome.spec), {})
        columns.setdefault(outcome.spec.column, []).append(outcome)
    return [_row(campaign, instance, groups[instance]) for instance in groups]


def _row(
    campaign: Campaign, instance: Instance, columns: dict[str, list[Outcome]]
) -> Row:
    problem, m, _, ratios, slots = instance
    names = [name for name in campaign.columns if name in columns]
    names += [name for name in columns if name not in names]
    scores = {
        name: [score_of(campaign, run)[1] for run in columns[name]] for name in names
    }
    kind = score_of(campaign, columns[names[0]][0])[0]
    sign = -1.0 if kind == "hypervolume" else 1.0
    minimised = {name: [sign * score for score in scores[name]] for name in names}
    reference = minimised.pop(names[0])
    found = assessments(reference, minimised)
    cells = {
        name: Cell(
            tuple(scores[name]),
            tuple(run.spec.seed for run in columns[name]),
            fmean(run.step_s for run in columns[name]),
            median(map(end_of, columns[name])) if slots else None,
            found.get(name),
            _mean_hypervolume(columns[name]),
        )
        for name in names
    }
    rc = columns[names[0]][0].spec.rc
    entries = {
        column: campaign.published().get((problem, m, rc, column))
        for column in campaign.paper_columns
    }
    paper = {name: entry for name, entry in entries.items() if entry is not None}
    return Row(problem, m, ratios, slots, kind, cells, paper)


def _mean_hypervolume(runs: Iterable[Outcome]) -> float | None:
    known: list[float] = []
    for run in runs:
        if run.hypervolume is None:
            return None
        known.append(run.hypervolume)
    return fmean(known)


def larger_hypervolumes(
    rows: Iterable[Row], reference: str
) -> dict[str, tuple[int, int, int]]:
    """Per other column: instances where its mean hypervolume is larger than that of the
    reference, where it is equal, and instances in all that have both.
    """
    counts: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        if reference not in row.cells:
            continue
        own = row.cells[reference].hypervolume
        for name, cell in row.cells.items():
            other = cell.hypervolume
            if name == reference or own is None or other is None:
                continue
            larger, equal, total = counts.get(name, (0, 0, 0))
            counts[name] = larger + (other > own), equal + (other == own), total + 1
    return counts


def agreement(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Per strategy that the paper has too: instances where our mean is at or below the
    paper's mean + 1 std, and instances in all.
    """
    counts: dict[str, tuple[int, int]] = {}
    for row in rows:
        for name, cell in row.cells.items():
            entry = next(
                (row.paper[key] for key in row.paper if key.lower() == name), None
            )
            if entry is not None:
                within, total = counts.get(name, (0, 0))
                is_within = cell.mean <= entry.mean + entry.std
                counts[name] = within + is_within, total + 1
    return counts
