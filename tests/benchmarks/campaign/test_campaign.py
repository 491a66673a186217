"""Campaigns: which runs, tests of significance, tables, plots; the smallest version of
each, end to end.
"""

import json
import shlex
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from benchmarks.campaign.campaigns import CAMPAIGNS, Choice, specs_of
from benchmarks.campaign.commands import command_of
from benchmarks.campaign.execute import open_executor
from benchmarks.campaign.report import tables
from benchmarks.campaign.report.engineering_section import COMPARISONS, table
from benchmarks.campaign.report.page import write_page
from benchmarks.campaign.report.plots import draw, quartiles, quartiles_in_time
from benchmarks.campaign.rows import agreement, rows_of
from benchmarks.campaign.run_spec import run
from benchmarks.campaign.significance import assessments, holm, rank_sum
from benchmarks.campaign.variants import CONSTANTS
from benchmarks.campaign.wall_clock import end_of, pools_of
from benchmarks.cli import bench
from benchmarks.paper import results
from benchmarks.paper.results import Outcome, Settings, Spec

SMALLEST = {
    "tab1": ["--problem", "dtlz2", "--m", "3", "--strategy", "k-rvea"],
    "tab2": ["--problem", "dtlz2", "--m", "3", "--strategy", "hk-rvea"],
    "ablation": ["--problem", "dtlz5", "--m", "3", "--strategy", "sbp-nogpc"],
    "bi-objective": ["--problem", "dtlz1a", "--strategy", "tc-saea"],
    "ratios": ["--problem", "dtlz2", "--strategy", "random", "--ratios", "9,1,1"],
    "peers": ["--problem", "dtlz2", "--m", "2", "--strategy", "pymoo-nsga3"],
    "wall-clock": [
        "--problem",
        "dtlz2",
        "--strategy",
        "random",
        "--slots",
        "4",
        "--ratios",
        "10",
    ],
    "parts": ["--problem", "dtlz2", "--m", "3", "--strategy", "kriging"],
    "constants": ["--problem", "dtlz2", "--strategy", "generations/2"],
    "engineering": ["--problem", "re21", "--strategy", "counterpoise"],
}
# Of `constants` the design alone: a first fit of models by evidence takes seconds
BUDGETS = {"bi-objective": 103, "constants": 109, "engineering": 46}
ROWS = {"wall-clock": 2}  # with and without faults


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_smallest_campaign_end_to_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: a pool would take seconds to start."""
    monkeypatch.setattr("benchmarks.commands.campaign.open_executor", Here)
    budget = str(BUDGETS.get(name, 112))
    out, file = tmp_path / "out", tmp_path / "runs.jsonl"
    arguments = ["campaign", name, *SMALLEST[name], "--seeds", "0", "--budget", budget]
    arguments += ["--results", str(file), "--out", str(out), "--json"]
    first = CliRunner().invoke(bench, arguments)
    assert first.exit_code == 0, first.output
    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert len(rows) == ROWS.get(name, 1)
    assert (out / "table.txt").read_text().count(rows[0]["problem"]) >= 1
    assert len((out / "table.csv").read_text().splitlines()) == 1 + len(rows)
    assert rows[0]["problem"] in (out / "table.md").read_text()
    assert len(list(out.glob("*.svg"))) == len(rows)
    # A line for each run, with what is left
    lines = first.stderr.splitlines()
    assert lines[-1].startswith(f"{len(rows)} of {len(rows)} runs, ")
    assert lines[-1].endswith("; about 0 s left")
    # Nothing is run again
    size = file.stat().st_size
    again = CliRunner().invoke(bench, [*arguments, "--jobs", "1"])
    assert again.stdout == first.stdout
    assert file.stat().st_size == size


class Here:
    """An executor that runs what is submitted at once."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(
        self, function: Callable[..., Outcome], *arguments: object
    ) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(function(*arguments))
        return future


def test_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    with open_executor("processes", 1) as pool:
        outcome = pool.submit(
            run, Spec("dtlz2", 3, 5, "random", 0, budget=112)
        ).result()
    assert outcome.trace[0][0] == 109
    count, last = outcome.trace[-1]
    assert count == 112
    assert last == pytest.approx(outcome.igd_plus, abs=1e-6)


def test_runs_on_a_dask_cluster() -> None:
    spec = Spec("dtlz2", 3, 5, "random", 0, budget=112)
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=None,
        ) as cluster,
        open_executor(cluster.scheduler_address.replace("tcp", "dask"), 1) as pool,
    ):
        outcome = pool.submit(run, spec).result()
    assert outcome.igd_plus == run(spec).igd_plus


def test_an_unknown_executor_is_refused() -> None:
    with (
        pytest.raises(ValueError, match="no executor 'threads'"),
        open_executor("threads", 1),
    ):
        pass


def test_unknown_names_are_refused() -> None:
    for arguments, message in (
        (["tab9"], "no 'tab9'"),
        (["tab1", "--problem", "zdt1"], "no 'zdt1'"),
        (["tab1", "--strategy", "sbp"], "no 'sbp'"),
    ):
        result = CliRunner().invoke(bench, ["campaign", *arguments, "--jobs", "0"])
        assert result.exit_code == 2
        assert message in result.output


def test_sizes_of_the_campaigns() -> None:
    def count(name: str) -> int:
        return len(specs_of(CAMPAIGNS[name], Choice(seeds=(0,))))

    assert count("tab1") == count("tab2") == 48 * 5
    assert count("ablation") == 48 * 5
    assert count("bi-objective") == 16 * 5
    assert count("ratios") == 6 * 6 * 3
    # 4 problems x 2 sizes and ZDT2 at m = 2, 7 columns; HVKG on ZDT2 only
    assert count("peers") == 9 * 7 + 1
    # 3 problems, slots and ratios, with and without faults, 5 columns
    assert count("wall-clock") == 3 * 3 * 3 * 2 * 5
    # Each problem has its own number of objectives
    assert count("engineering") == 5 * 3
    assert count("parts") == 8 * 2 * 8
    assert count("constants") == 4 * (1 + 2 * len(CONSTANTS))


def test_holm_stops_at_the_first_hypothesis_that_is_kept() -> None:
    """Levels 0.05 / 3, 0.05 / 2, 0.05 / 1."""
    assert holm({"a": 0.024, "b": 0.04, "c": 0.001}) == {"a", "b", "c"}
    assert holm({"a": 0.026, "b": 0.04, "c": 0.001}) == {"c"}
    assert holm({"a": 0.03, "b": 0.04, "c": 0.02}) == set()


def test_rank_sum_by_hand() -> None:
    """All of one sample before all of the other: 2 of C(10, 5) = 252 orders."""
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]
    assert rank_sum(low, high) == pytest.approx(2 / 252)
    assert assessments(low, {"other": high, "same": low, "few": [1.0]}) == {
        "other": "-",
        "same": "=",
    }
    assert assessments(high, {"other": low}) == {"other": "+"}


def _outcome(strategy: str, seed: int, score: float) -> Outcome:
    spec = Spec("dtlz2", 3, 5, strategy, seed)
    trace = ((109, 1.0), (300, score))
    return Outcome(spec, score, 1.0, 0.1, 0.05, hypervolume=0.5, trace=trace)


def test_rows_beside_the_paper() -> None:
    """K-RVEA has 0.0752 (0.0102) in Tab.1, HK-RVEA 0.0598 (0.0108)."""
    runs = [_outcome("sbp-bo", seed, 0.04 + seed / 1000) for seed in range(5)]
    runs += [_outcome("k-rvea", seed, 0.085 + seed / 10000) for seed in range(5)]
    runs += [_outcome("hk-rvea", seed, 0.09) for seed in range(2)]
    (row,) = rows_of(CAMPAIGNS["tab1"], runs)
    assert list(row.cells) == ["sbp-bo", "k-rvea", "hk-rvea"]
    assert row.cells["sbp-bo"].assessment is None
    assert row.cells["k-rvea"].assessment == "-"
    assert row.best == "sbp-bo"
    assert agreement([row]) == {"sbp-bo": (1, 1), "k-rvea": (1, 1), "hk-rvea": (0, 1)}
    lines = tables.as_csv([row]).splitlines()
    assert lines[2].startswith("dtlz2,3,5,,igd_plus,k-rvea,0.0852,")
    assert "| dtlz2 | 3 | 5 | igd_plus | 0.042 (0.0016, 5) |" in tables.markdown([row])


def test_holm_agrees_with_statsmodels() -> None:
    """multipletests(p, 0.05, "holm") of statsmodels 0.15 rejects the first, third and
    fourth.
    """
    p_values = {"a": 0.001, "b": 0.04, "c": 0.012, "d": 0.0124, "e": 0.6}
    assert holm(p_values) == {"a", "c", "d"}


def test_a_run_is_repeated_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the line says, typed again, gives the same score."""
    monkeypatch.setattr("benchmarks.commands.campaign.open_executor", Here)
    monkeypatch.chdir(tmp_path)
    spec = Spec("dtlz2", 3, 9, "random", 0, budget=112, ratios=(9.0, 1.0, 1.0))
    line = command_of("ratios", spec)
    assert line == (
        "counterpoise bench campaign ratios --problem dtlz2 --m 3 --strategy random"
        " --seeds 0 --ratios 9,1,1 --budget 112 --results again.jsonl"
    )
    arguments = [*line.split()[2:], "--json"]
    result = CliRunner().invoke(bench, arguments)
    (row,) = map(json.loads, result.stdout.splitlines())
    assert row["columns"]["random"]["scores"] == [run(spec).igd_plus]


@pytest.mark.parametrize("name", ["parts", "constants", "engineering"])
def test_the_line_of_a_run_names_this_run_alone(name: str) -> None:
    """Whatever the campaign, the column and its budget."""
    campaign = CAMPAIGNS[name]
    for spec in specs_of(campaign, Choice(seeds=(101,))):
        words = shlex.split(command_of(name, spec))
        options = dict(zip(words[4::2], words[5::2], strict=True))
        choice = Choice(
            (options["--problem"],),
            (int(options["--m"]),),
            (options["--strategy"],),
            (int(options["--seeds"]),),
            ratios=options.get("--ratios"),
        )
        assert specs_of(campaign, choice) == [spec]
        assert "--budget" not in options


def test_a_column_with_a_star_is_quoted() -> None:
    spec = Spec("wfg4", 3, 5, "samples*2", 100, Settings(models="evidence"), 50)
    line = command_of("constants", spec)
    assert " --strategy 'samples*2' --seeds 100 --budget 50 " in line


def test_a_faulty_run_in_virtual_time_takes_longer_and_keeps_its_budget() -> None:
    spec = Spec("dtlz2", 3, 3, "random", 0, d=4, n=12, budget=20, slots=2)
    whole, faulty = run(spec), run(replace(spec, faulty=True))
    times = [at for at, _ in whole.timeline]
    assert times == sorted(times)
    assert end_of(faulty) > end_of(whole) > 20 / 2 * 60.0 * 0.5
    assert whole.hypervolume == whole.timeline[-1][1]
    pools = pools_of(replace(spec, faulty=True))
    assert [pool.latency for pool in pools] == [20.0, 20.0, 60.0]
    assert {pool.vanish for pool in pools} == {0.02}


def test_quartiles_in_time_by_hand() -> None:
    """What a run had reached last counts until it reaches more."""
    hours, (low, middle, high) = quartiles_in_time(
        [[(3600.0, 0.5), (7200.0, 1.0)], [(3600.0, 0.5), (5400.0, 0.8)]]
    )
    assert (hours[0], hours[-1]) == (0.0, 2.0)
    assert (low[0], middle[0], high[0]) == (0.0, 0.0, 0.0)
    assert (low[-1], middle[-1], high[-1]) == pytest.approx((0.85, 0.9, 0.95))
    before = [at < 1.5 for at in hours].count(True) - 1
    assert middle[before] == 0.5


def test_the_page_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    for seed in range(2):
        results.append(tmp_path / "tab1.jsonl", _outcome("k-rvea", seed, 0.1))
    results.append(tmp_path / "tab1-paper.jsonl", _outcome("sbp-bo", 0, 0.04))
    page = tmp_path / "benchmarks.md"
    write_page(page, tmp_path)
    text = page.read_text()
    assert "| [tab1](#tab1) | 3 | 1200 | 0-4 |" in text
    assert "- `k-rvea`: 2 of 240 runs, seeds 0, 1, made by one version" in text
    assert "- `counterpoise`: **not run yet**" in text
    # Slots, too
    assert text.count("**Not run yet.**") == len(CAMPAIGNS) + len(COMPARISONS)
    assert "images/benchmarks/tab1/dtlz2-m3-r5.svg" in text
    assert (tmp_path / "images/benchmarks/tab1/dtlz2-m3-r5.svg").exists()
    assert "--problem dtlz2 --m 3 --strategy sbp-bo --seeds 0 --results" in text
    assert "| dtlz2 | 3 | 5 | igd_plus | 0.04 (0, 1) | 0.1 (0, 2) |" in text


def test_a_comparison_has_means_of_each_method() -> None:
    rows = [
        {
            "problem": "osy",
            "method": method,
            "seed": seed,
            "feasible_share": 0.5 + 0.2 * seed,
            "hypervolume_ratio": volume,
        }
        for method, volume in (("sbp-bo", 0.9), ("random", 0.1))
        for seed in range(2)
    ]
    assert table(rows).splitlines() == [
        "| problem | seeds | sbp-bo | random |",
        "|---|---|---|---|",
        "| osy | 2 | 60%, 0.900 | 60%, 0.100 |",
    ]
    del rows[0]["feasible_share"], rows[1]["feasible_share"]
    assert table(rows[:2]).splitlines()[2] == "| osy | 2 | 0.900 |"


def test_quartiles_by_hand() -> None:
    traces = [((10, float(k)), (20, 2.0 * k)) for k in range(5)]
    counts, (low, middle, high) = quartiles(
        [*traces, ((10, 2.0), (20, 4.0), (30, 0.0))]
    )
    assert counts == [10, 20]
    assert middle == [2.0, 4.0]
    assert low[0] < 2.0 < high[0]


def test_the_same_runs_give_the_same_picture(tmp_path: Path) -> None:
    runs = [_outcome("sbp-bo", seed, 0.1) for seed in range(2)]
    (first,) = draw(runs, tmp_path / "a")
    (second,) = draw(runs, tmp_path / "b")
    assert first.name == "dtlz2-m3-r5.svg"
    assert first.read_bytes() == second.read_bytes()


def test_new_fields_of_a_run_are_read_back(tmp_path: Path) -> None:
    spec = Spec("zdt2", 2, 3, "random", 0, ratios=(3.0, 1.0), d=6, n=20, budget=25)
    outcome = run(spec)
    results.append(tmp_path / "runs.jsonl", outcome)
    assert results.read(tmp_path / "runs.jsonl") == {spec: outcome}
    assert outcome.igd is not None
