"""The demo from beginning to end."""

import fcntl
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console

from counterpoise.client import Client
from counterpoise.local.picture import draw_result
from counterpoise.local.processes import (
    COUNTERPOISE,
    LocalProcesses,
    RunFailed,
    local_processes,
)
from counterpoise.local.result import read_result as read_local_result
from counterpoise.local.server import start_server
from counterpoise.wire.codes import Phase
from workers.demo.comparison import compare
from workers.demo.display import display
from workers.demo.problems import DemoProblem
from workers.demo.report import comparison_table, conclusion, print_result, write_csv
from workers.demo.result import DemoResult, read_result

DATABASE, SPOOL = "counterpoise-demo.db", "spool"
POLL_S = 0.3
PIPE_WIDTH = 160  # in a file or a pipe nothing needs to be cut off


def run(
    problem: DemoProblem,
    folder: Path,
    port: int,
    seeds: int,
    *,
    stay: bool,
    every: bool,
    as_json: bool,
) -> None:
    messages = Console(stderr=True, highlight=False)
    output = Console(highlight=False)
    if not output.is_terminal:
        output.width = max(output.width, PIPE_WIDTH)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder), local_processes(folder.resolve()) as processes:
        server = start_server(processes, port, DATABASE)
        url = server.url
        messages.print(f"server: {url}, database and logs in {folder}", soft_wrap=True)
        result = optimise(problem, processes, url, messages)
        files = [folder / "front.csv", folder / "front.png"]
        write_csv(result, files[0])
        with Client(url) as client:
            draw_result(read_local_result(client, result.study.name, folder), files[1])
        if not as_json:
            print_result(result, output, every=every)
        if not stay:
            server.process.stop()
        # Virtual time has no limits
        virtual = (
            {} if problem.constraints else compare(result, seeds, processes, messages)
        )
        if as_json:
            output.print_json(json.dumps(result.as_json(virtual, files)))
        else:
            if virtual:
                output.print(comparison_table(result, virtual))
                slowest_s = max(run.job_s for run in result.runs)
                output.print(conclusion(virtual, slowest_s), soft_wrap=True)
            output.print(f"written: {files[0]}, {files[1]}", soft_wrap=True)
        if stay:
            messages.print(
                f"the server stays at {url} until Ctrl-C: dashboard {url}/, API {url}/docs",
                soft_wrap=True,
            )
            with suppress(KeyboardInterrupt):
                while server.process.is_running():
                    time.sleep(POLL_S)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Locks the folder for this demo, and removes the study of an earlier one."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "end it, or choose another folder with --out"
            raise RunFailed(f"another demo is running in {folder}; {hint}") from None
        for file in folder.glob(f"{DATABASE}*"):
            file.unlink()
        # With results for that database
        shutil.rmtree(folder / SPOOL, ignore_errors=True)
        yield


def optimise(
    problem: DemoProblem, processes: LocalProcesses, url: str, messages: Console
) -> DemoResult:
    """Run the problem's workers until the study is finished."""
    name = problem.study["name"]
    with Client(url) as client:
        client.create_study(problem.study)
        start_workers(problem, processes, url)
        with display(messages) as show:
            while (study := client.study(name)).phase != Phase.FINISHED:
                processes.check()
                show(study, len(client.front(name)))
                time.sleep(POLL_S)
            show(study, len(client.front(name)))
        result = read_result(client, problem)
    if not result.front:
        hint = f"see the logs of the workers in {processes.folder}"
        limits = " and keeps all limits" if problem.constraints else ""
        raise RunFailed(f"no sample has a value of every output{limits}; {hint}")
    return result


def start_workers(problem: DemoProblem, processes: LocalProcesses, url: str) -> None:
    name = problem.study["name"]
    for worker in problem.workers:
        command = [
            *COUNTERPOISE,
            "worker",
            "--url",
            url,
            "--study",
            name,
            "--objective",
            f"{worker.run}={worker.function}",
        ]
        options = [
            "--name",
            worker.name,
            "--slots",
            "1",
            "--spool",
            SPOOL,
            "--grace-s",
            "0",
            "--until-finished",
        ]
        processes.start(
            f"{worker.name} worker", [*command, *options], **problem.environment
        )
