"""Finished runs survive a kill, and are not run again."""

import json
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import pytest

from benchmarks.paper import results, runner
from benchmarks.paper.results import Outcome, Settings, Spec

SPEC = Spec("dtlz2", 3, 5, "sbp-bo", 0)


def _outcome(seed: int, igd_plus: float = 0.04) -> Outcome:
    return Outcome(replace(SPEC, seed=seed), igd_plus, 8.0, 0.5, 0.1, "abc")


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    file = tmp_path / "new" / "runs.jsonl"
    special = replace(
        _outcome(1), spec=replace(SPEC, settings=Settings("range", "large", "all"))
    )
    results.append(file, _outcome(0))
    results.append(file, special)
    assert results.read(file) == {SPEC: _outcome(0), special.spec: special}


def test_runs_from_before_the_longest_step_was_recorded_are_still_read(
    tmp_path: Path,
) -> None:
    file = tmp_path / "runs.jsonl"
    old = asdict(_outcome(0))
    del old["longest_step_s"]
    file.write_text(json.dumps(old) + "\n")
    results.append(file, replace(_outcome(1), longest_step_s=0.3))
    assert [run.longest_step_s for run in results.read(file).values()] == [None, 0.3]


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert results.read(tmp_path / "none.jsonl") == {}


@pytest.mark.parametrize("kept", [1, 30, 150])
def test_a_torn_last_line_is_passed_over_and_replaced(
    tmp_path: Path, kept: int
) -> None:
    file = tmp_path / "runs.jsonl"
    results.append(file, _outcome(0))
    whole = file.read_bytes()
    results.append(file, _outcome(1))
    file.write_bytes(file.read_bytes()[: len(whole) + kept])
    assert list(results.read(file).values()) == [_outcome(0)]
    results.append(file, _outcome(2))
    assert list(results.read(file).values()) == [_outcome(0), _outcome(2)]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("{}\n")
    results.append(file, _outcome(0))
    with pytest.raises(ValueError, match="line 1: not a finished run"):
        results.read(file)


def test_a_whole_last_line_that_is_no_run_is_named_not_passed_over(
    tmp_path: Path,
) -> None:
    """Passed over, it would be in the middle after the next run, and the file could not
    be read any more.
    """
    file = tmp_path / "runs.jsonl"
    results.append(file, _outcome(0))
    with file.open("a") as out:
        out.write(json.dumps(asdict(_outcome(1)) | {"of_the_future": 1}) + "\n")
    with pytest.raises(ValueError, match="line 2: not a finished run"):
        results.read(file)


def test_of_equal_specs_the_last_counts(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    results.append(file, _outcome(0, 0.05))
    results.append(file, _outcome(0, 0.03))
    assert results.read(file)[SPEC].igd_plus == 0.03


def test_only_missing_runs_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs.jsonl"
    results.append(file, _outcome(1, 0.01))
    started: list[int] = []

    def run_here(specs: list[Spec], jobs: int) -> list[Outcome]:
        started.extend(spec.seed for spec in specs)
        return [_outcome(spec.seed, 0.02) for spec in specs]

    monkeypatch.setattr(runner, "_in_processes", run_here)
    seen: list[int] = []
    specs = [replace(SPEC, seed=seed) for seed in (2, 1, 0)]
    for _ in range(2):
        outcomes = runner.run_all(
            specs, file, 1, report=lambda outcome: seen.append(outcome.spec.seed)
        )
        assert [outcome.igd_plus for outcome in outcomes.values()] == [0.02, 0.01, 0.02]
    assert started == [0, 2]
    assert seen == [1, 0, 2, 2, 1, 0]
    # What is there
    assert (
        len(
            runner.run_all(
                [*specs, replace(SPEC, seed=9)], file, 0, report=lambda _: None
            )
        )
        == 3
    )
    runner.run_all(specs, file, 1, fresh=True, report=lambda _: None)
    assert started == [0, 2, 0, 1, 2]


def test_every_instance_comes_once_before_any_comes_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order: list[tuple[int, int]] = []

    def run_here(specs: list[Spec], jobs: int) -> list[Outcome]:
        order.extend((spec.seed, spec.m) for spec in specs)
        return [replace(_outcome(0), spec=spec) for spec in specs]

    monkeypatch.setattr(runner, "_in_processes", run_here)
    runs = product((3, 10), (0, 1))
    specs = [replace(SPEC, m=m, seed=seed) for m, seed in runs]
    runner.run_all(specs, tmp_path / "runs.jsonl", 1, report=lambda _: None)
    assert order == [(0, 10), (0, 3), (1, 10), (1, 3)]
