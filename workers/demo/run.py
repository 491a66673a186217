"""The demo from beginning to end."""

import fcntl
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from rich.console import Console

from counterpoise.client import Client
from counterpoise.wire.codes import Phase
from workers.demo.comparison import compare
from workers.demo.display import display
from workers.demo.plot import draw_front
from workers.demo.problems import DemoProblem
from workers.demo.processes import (
    COUNTERPOISE,
    DemoFailed,
    DemoProcess,
    DemoProcesses,
    demo_processes,
)
from workers.demo.report import comparison_table, conclusion, print_result, write_csv
from workers.demo.result import DemoResult, read_result

DATABASE, SPOOL = "counterpoise-demo.db", "spool"
POLL_S = 0.3
START_POLL_S = 0.05
PIPE_WIDTH = 160  # in a file or a pipe nothing needs to be cut off


def run(
    problem: DemoProblem, folder: Path, port: int, *, stay: bool, as_json: bool
) -> None:
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGHUP, _exit)
    messages = Console(stderr=True, highlight=False)
    output = Console(highlight=False)
    if not output.is_terminal:
        output.width = max(output.width, PIPE_WIDTH)
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder), demo_processes(folder.resolve()) as processes:
        server, url = serve(processes, port)
        messages.print(f"server: {url}, database and logs in {folder}", soft_wrap=True)
        result = optimise(problem, processes, url, messages)
        files = [folder / "front.csv", folder / "front.png"]
        write_csv(result, files[0])
        draw_front(result, files[1])
        if not as_json:
            print_result(result, output)
        if not stay:
            server.stop()
        virtual = compare(result, processes, messages)
        if as_json:
            output.print_json(json.dumps(result.as_json(virtual, files)))
        else:
            output.print(comparison_table(result, virtual))
            output.print(conclusion(virtual), soft_wrap=True)
            output.print(f"written: {files[0]}, {files[1]}", soft_wrap=True)
        if stay:
            messages.print(
                f"the server stays at {url} (its API: {url}/docs) until Ctrl-C"
            )
            while server.is_running():
                time.sleep(POLL_S)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Locks the folder for this demo, and removes the study of an earlier one."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "end it, or choose another folder with --out"
            raise DemoFailed(f"another demo is running in {folder}; {hint}") from None
        for file in folder.glob(f"{DATABASE}*"):
            file.unlink()
        # With results for that database
        shutil.rmtree(folder / SPOOL, ignore_errors=True)
        yield


def serve(processes: DemoProcesses, port: int) -> tuple[DemoProcess, str]:
    command = [
        *COUNTERPOISE,
        "serve",
        "--port",
        str(port),
        "--database-url",
        f"sqlite:///{DATABASE}",
    ]
    server = processes.start("server", command, COUNTERPOISE_LOG_FORMAT="json")
    while not (url := _url_in_log(server)):
        server.is_running()
        time.sleep(START_POLL_S)
    while not _is_ready(url):
        server.is_running()
        time.sleep(START_POLL_S)
    return server, url


def _url_in_log(server: DemoProcess) -> str | None:
    for line in server.log.read_text().splitlines():
        if '"listening"' in line and line.endswith("}"):
            return str(json.loads(line)["url"])
    return None


def _is_ready(url: str) -> bool:
    try:
        return (
            httpx.get(f"{url}/readyz", timeout=10, trust_env=False).status_code == 200
        )
    except httpx.TransportError:
        return False


def optimise(
    problem: DemoProblem, processes: DemoProcesses, url: str, messages: Console
) -> DemoResult:
    """Run one worker per objective until the study is finished."""
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
        raise DemoFailed(f"no sample has a value of every objective; {hint}")
    return result


def start_workers(problem: DemoProblem, processes: DemoProcesses, url: str) -> None:
    name = problem.study["name"]
    for objective, function in problem.functions.items():
        command = [
            *COUNTERPOISE,
            "worker",
            "--url",
            url,
            "--study",
            name,
            "--objective",
            f"{objective}={function}",
        ]
        options = [
            "--name",
            objective,
            "--slots",
            "1",
            "--spool",
            SPOOL,
            "--grace-s",
            "0",
            "--until-finished",
        ]
        processes.start(
            f"{objective} worker", [*command, *options], **problem.environment
        )
