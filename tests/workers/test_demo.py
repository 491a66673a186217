"""The demo with its real processes: it ends by itself, and however it ends nothing of
it stays.
"""

import csv
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import psutil
import pytest
from rich.console import Console
from typer.testing import CliRunner

from counterpoise.cli import app
from counterpoise.client import Client
from counterpoise.local.processes import LocalProcesses
from counterpoise.wire.specification import parse_specification
from tests.e2e.processes import COUNTERPOISE, children, environment, eventually
from workers import synthetic
from workers.beam.mass import mass as beam_mass
from workers.demo import problems
from workers.demo.comparison import compare, evidence
from workers.demo.report import CAUTION, comparison_table, conclusion, print_result
from workers.demo.result import DemoResult, read_result
from workers.demo.run_virtual_study import run as run_virtual_study
from workers.demo.virtual_study import VirtualResult, VirtualStudy

# Several processes that load numerical libraries: minutes, where a machine has other
# things to do.
pytestmark = pytest.mark.timeout(900)
SMALL = (
    "demo",
    "--problem",
    "dtlz2",
    "--m",
    "2",
    "--latency",
    "0.01",
    "--latency",
    "0.05",
)
LONG = (*SMALL, "--budget", "5000")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(COUNTERPOISE), *arguments, "--out", "out"]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def running(
    folder: Path, *arguments: str
) -> Iterator[tuple["subprocess.Popen[str]", list[psutil.Process]]]:
    """A demo at work, and all the processes that it has started."""
    command = [str(COUNTERPOISE), *arguments, "--out", "out"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as process:
        family: list[psutil.Process] = []
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[1].rstrip(",")
            while not evaluated(url):
                assert process.poll() is None
                time.sleep(0.1)
            family = children(process.pid)
            yield process, family
        finally:
            for left in alive(family):
                left.kill()
            process.kill()


def evaluated(url: str) -> bool:
    study = httpx.get(f"{url}/studies/dtlz2").json()
    return all(
        objective["done"] for objective in study.get("objectives", [{"done": 0}])
    )


def alive(family: list[psutil.Process]) -> list[psutil.Process]:
    """Without zombies, which have ended."""
    running = [process for process in family if process.is_running()]
    return [process for process in running if process.status() != psutil.STATUS_ZOMBIE]


def names(family: list[psutil.Process]) -> str:
    return "\n".join(" ".join(process.cmdline()) for process in family)


@dataclass(frozen=True)
class Stayed:
    """A run that stayed until SIGTERM."""

    folder: Path
    report: dict[str, Any]
    messages: str
    result: DemoResult  # from the server that stayed
    left: list[psutil.Process]  # after SIGTERM
    code: int


@pytest.fixture(scope="module")
def stayed(tmp_path_factory: pytest.TempPathFactory) -> Stayed:
    folder = tmp_path_factory.mktemp("demo")
    options = ("--seeds", "1", "--budget", "6", "--json", "--stay", "--out", "out")
    with (
        (folder / "output").open("w") as output,
        subprocess.Popen(
            [str(COUNTERPOISE), *SMALL, *options],
            cwd=folder,
            env=environment(),
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        ) as demo,
    ):
        assert demo.stderr is not None
        messages = [demo.stderr.readline()]
        while messages[-1] and "the server stays at" not in messages[-1]:
            messages.append(demo.stderr.readline())
        with Client(messages[0].split()[1].rstrip(",")) as client:
            problem = problems.problem("dtlz2", 2, (0.01, 0.05), 6, seed=1)
            result = read_result(client, problem)
        family = children(demo.pid)
        demo.terminate()
        code = demo.wait()
    report = json.loads((folder / "output").read_text())
    return Stayed(folder, report, "".join(messages), result, alive(family), code)


def test_with_stay_the_server_runs_until_sigterm(stayed: Stayed) -> None:
    assert stayed.result.study.phase == "finished"
    assert stayed.left == []
    assert stayed.code == 128 + signal.SIGTERM


def test_the_demo_ends_by_itself_with_a_front(stayed: Stayed) -> None:
    report = stayed.report
    assert (report["budget"], report["evaluated_full"]) == (6, 6)
    assert "6/6 full samples" in stayed.messages
    assert report["ratios"] == {"f1": 5.0, "f2": 1.0}
    f1, f2 = report["workers"]
    assert f2["jobs"] == 6
    assert f1["jobs"] > 6
    for worker in (f1, f2):
        assert 0.0 < worker["busy"] <= 1.0
        assert worker["busy"] + worker["idle"] == 1.0
    assert f2["job_s"] >= 0.05
    out = stayed.folder / "out"
    rows = list(csv.DictReader((out / "front.csv").read_text().splitlines()))
    assert [int(row["sample"]) for row in rows] == [
        item["sample"] for item in report["front"]
    ]
    for row in rows:
        x = [float(row[f"x{k}"]) for k in (1, 2, 3)]
        assert [float(row["f1"]), float(row["f2"])] == [
            synthetic.value(x, i, 2) for i in (0, 1)
        ]
    assert (out / "front.png").read_bytes().startswith(b"\x89PNG")


def test_the_report_compares_with_a_synchronous_study(stayed: Stayed) -> None:
    [asynchronous] = stayed.report["virtual"]["asynchronous"]
    [synchronous] = stayed.report["virtual"]["synchronous"]
    [promoting] = stayed.report["virtual"]["counterpoise"]
    assert promoting["jobs"][1] == 6
    assert synchronous["jobs"] == [6, 6]
    assert asynchronous["jobs"][0] > 6
    console = Console(file=StringIO(), width=160)
    print_result(stayed.result, console, every=False)
    virtual = {
        "asynchronous": [VirtualResult.model_validate(asynchronous)],
        "synchronous": [VirtualResult.model_validate(synchronous)],
    }
    console.print(comparison_table(stayed.result, virtual))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("The front:", "best f1", "f1 (cheap)", "f2 (slow)", "synchronous"):
        assert text in printed
    assert "limits" not in printed  # it has none


class RecordedStudies:
    """Starts no process; each study has a result with its seed as its duration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ratios: dict[str, list[float]] = {}
        self.strategies: dict[str, str | None] = {}

    def start(self, name: str, command: list[str]) -> Any:
        study = VirtualStudy.model_validate_json(Path(command[-1]).read_text())
        self.ratios[name] = study.ratios
        self.strategies[name] = study.problem.study.get("strategy")
        seed = study.problem.study["seed"]
        result = VirtualResult(
            seconds=seed, hypervolume=1.0, front=1, jobs=[], busy=[], history=[]
        )
        log = self.folder / f"{name}.log"
        log.write_text(f"1\n{result.model_dump_json()}\n")
        return SimpleNamespace(is_running=lambda: False, log=log)


def test_the_comparison_has_all_modes_of_every_seed(
    stayed: Stayed, tmp_path: Path
) -> None:
    studies = RecordedStudies(tmp_path)
    virtual = compare(stayed.result, 2, cast(LocalProcesses, studies), Console())
    seconds = {
        mode: [result.seconds for result in results]
        for mode, results in virtual.items()
    }
    modes = ("asynchronous", "synchronous", "counterpoise")
    assert seconds == {mode: [1, 2] for mode in modes}
    assert studies.ratios["asynchronous-1"] == [5.0, 1.0]
    assert studies.ratios["synchronous-1"] == [1.0, 1.0]
    assert studies.ratios["counterpoise-1"] == [5.0, 1.0]
    assert studies.strategies == {
        f"{mode}-{seed}": "counterpoise" if mode == "counterpoise" else None
        for seed in (0, 1)
        for mode in modes
    }


@pytest.mark.slow
def test_a_demo_with_limits_requirements_and_a_category(tmp_path: Path) -> None:
    result = run(tmp_path, "demo", "--problem", "beam", "--budget", "12", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["evaluated_full"] >= 12
    assert 0 < len(report["front"]) <= report["feasible"]
    for item in report["front"]:
        x, values = item["x"], item["values"]
        assert min(values["buckling"], values["safety"]) >= 2.0
        assert 2 * x["radius"] <= 0.8 * x["height"]
        assert 2 * x["radius"] * x["holes"] <= 0.8
        assert x["material"] in ("aluminium", "steel", "titanium")
        assert values["mass"] == beam_mass(x)
    workers = {worker["objective"] for worker in report["workers"]}
    assert workers == {"mass", "cost", "deflection", "buckling"}
    assert (tmp_path / "out" / "front.png").read_bytes().startswith(b"\x89PNG")


def test_a_busy_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run(tmp_path, *SMALL, "--port", str(taken.getsockname()[1]))
    assert result.returncode == 2
    assert "in use; choose another" in result.stderr
    assert result.stderr.count("\n") == 1


def test_sigint_leaves_no_process_and_a_folder_has_one_demo(tmp_path: Path) -> None:
    """Also in the background of a shell script, which ignores SIGINT."""
    with running(tmp_path, *LONG) as (process, family):
        started = names(family)
        assert all(
            f" {command} " in started for command in ("serve", "planner", "worker")
        )
        second = run(tmp_path, *SMALL)
        assert second.returncode == 1
        assert "another demo is running in out" in second.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait() != 0
        assert alive(family) == []


@pytest.mark.slow
def test_a_killed_demo_leaves_no_process(tmp_path: Path) -> None:
    with running(tmp_path, *LONG) as (process, family):
        assert len(family) >= 5
        process.kill()
        eventually(lambda: not alive(family), "the end of all processes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problem", "wign"], "there are wing, beam, dtlz2"),
        (["--latency", "1"], "evaluation times of their own"),
        (["--problem", "dtlz2", "--m", "3", "--latency", "1"], "once per objective"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    out = str(tmp_path / "out")
    result = CliRunner().invoke(app, ["demo", *arguments, "--out", out])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", problems.PROBLEMS)
@pytest.mark.parametrize("budget", [None, 3, 12])
def test_the_study_is_valid_for_every_budget(name: str, budget: int | None) -> None:
    study = parse_specification(problems.problem(name, 3, (), budget, seed=4).study)
    by_default = {"beam": (60, 36), "wing": (54, 30)}.get(name, (67, 43))
    expected = {None: by_default, 3: (3, 2), 12: (12, 8)}[budget]
    assert (study.budget, study.initial_count) == expected
    assert study.seed == 4


def test_known_points_are_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed begins with the same design, in the service and in virtual time."""
    problem = problems.problem("dtlz2", 2, (), 6, seed=3)
    evaluated: list[tuple[str, tuple[float, ...]]] = []
    original = problems.DemoProblem.evaluate

    def evaluate(self: Any, objective: str, x: dict[str, float]) -> float:
        evaluated.append((objective, tuple(x.values())))
        return original(self, objective, x)

    monkeypatch.setattr(problems.DemoProblem, "evaluate", evaluate)
    study = VirtualStudy(
        problem=problem,
        ratios=[1.0, 1.0],
        job_s=[0.1, 0.5],
        reference_point=[3.0, 3.0],
        known=[],
    )
    first = run_virtual_study(study)
    assert first.jobs == [6, 6]
    assert first.seconds == pytest.approx(6 * 0.5)
    assert len(evaluated) == 12
    points = [
        dict(zip(("x1", "x2", "x3"), x, strict=True))
        for objective, x in evaluated
        if objective == "f1"
    ]
    known = [(x, {"f1": problem.evaluate("f1", x)}) for x in points]
    evaluated.clear()
    assert run_virtual_study(study.model_copy(update={"known": known})) == first
    assert [objective for objective, _ in evaluated] == ["f2"] * 6


def test_the_conclusion_follows_from_the_studies() -> None:
    def study(*history: tuple[float, float]) -> VirtualResult:
        _, last = history[-1]
        return VirtualResult(
            seconds=10.0,
            hypervolume=last,
            front=1,
            jobs=[],
            busy=[],
            history=list(history),
        )

    better = study((4.0, 1.0), (6.0, 2.1), (10.0, 2.2))
    worse = study((10.0, 1.0))
    other = study((10.0, 2.0))
    one = evidence({"asynchronous": [better], "synchronous": [other]})
    assert (one.seeds, one.reached, one.saved, one.saved_s) == (1, 1, 0.4, 4.0)
    assert one.larger == pytest.approx(0.1)
    both = evidence({"asynchronous": [better, worse], "synchronous": [other, other]})
    assert (both.seeds, both.reached, both.saved) == (2, 1, 0.2)
    assert both.larger == pytest.approx((0.1 - 0.5) / 2)
    virtual = {"asynchronous": [better, worse], "synchronous": [other, other]}
    text = conclusion(virtual, slowest_s=0.5)
    assert "1 of 2 seeds" in text
    assert "would save 48 hours" in text  # 2 s of 0.5 s each: 4 runs of 12 hours
    assert "20% of the time" in text
    assert "smaller" in text
    assert CAUTION in text
    many = {"asynchronous": [better] * 3, "synchronous": [other] * 3}
    assert CAUTION not in conclusion(many, 1.0)
    assert "counterpoise" not in conclusion(many, 1.0)
    many["counterpoise"] = [study((10.0, 3.3))] * 3
    assert "50.0% larger than with `sbp-bo`" in conclusion(many, 1.0)
