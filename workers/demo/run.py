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
from workers.demo.comparison import compare
from workers.demo.findings import Findings, gather
from workers.demo.picture import draw
from workers.demo.problems import DemoProblem
from workers.demo.processes import COUNTERPOISE, Crew, DemoFailed, Process, crew
from workers.demo.report import comparison_table, print_findings, verdict, write_csv
from workers.demo.watching import display

DATABASE, SPOOL = "counterpoise-demo.db", "spool"
LOOK_S = 0.3


def run(problem: DemoProblem, folder: Path, port: int, *, stay: bool, as_json: bool) -> None:
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    said, shown = Console(stderr=True, highlight=False), Console(highlight=False)
    if not shown.is_terminal:
        shown.width = max(shown.width, 160)  # in a file or a pipe nothing need be cut off
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder), crew(folder.resolve()) as members:
        server, url = serve(members, port)
        said.print(f"server: {url}, database and logs in {folder}", soft_wrap=True)
        found = optimise(problem, members, url, said)
        files = [folder / "front.csv", folder / "front.png"]
        write_csv(found, files[0])
        draw(found, files[1])
        if not as_json:
            print_findings(found, shown)
        if not stay:
            server.stop()
        virtual = compare(found, members, said)
        if as_json:
            shown.print_json(json.dumps(found.as_json(virtual, files)))
        else:
            shown.print(comparison_table(found, virtual))
            shown.print(verdict(virtual), soft_wrap=True)
            shown.print(f"written: {files[0]}, {files[1]}", soft_wrap=True)
        if stay:
            said.print(f"the server stays at {url} (its API: {url}/docs) until Ctrl-C")
            while server.running():
                time.sleep(LOOK_S)


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """The folder is this demo's; what an earlier one left of its study is removed."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DemoFailed(
                f"another demo is running in {folder}; end it, or choose another folder with --out"
            ) from None
        for file in folder.glob(f"{DATABASE}*"):
            file.unlink()
        shutil.rmtree(folder / SPOOL, ignore_errors=True)  # its results are that database's
        yield


def serve(members: Crew, port: int) -> tuple[Process, str]:
    command = [*COUNTERPOISE, "serve", "--port", str(port), "--database-url", f"sqlite:///{DATABASE}"]
    server = members.start("server", command, COUNTERPOISE_LOG_FORMAT="json")
    while not (url := _listening(server)):
        server.running()
        time.sleep(0.05)
    while not _ready(url):
        server.running()
        time.sleep(0.05)
    return server, url


def _listening(server: Process) -> str | None:
    lines = [line for line in server.log.read_text().splitlines() if '"listening"' in line and line.endswith("}")]
    return str(json.loads(lines[0])["url"]) if lines else None


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=10, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def optimise(problem: DemoProblem, members: Crew, url: str, said: Console) -> Findings:
    """One worker per objective until the study is finished."""
    name = problem.study["name"]
    with Client(url) as client:
        client.create_study(problem.study)
        for objective, function in problem.functions.items():
            worker = ["worker", "--url", url, "--study", name, "--objective", f"{objective}={function}"]
            options = ["--name", objective, "--slots", "1", "--spool", SPOOL, "--grace-s", "0", "--until-finished"]
            members.start(f"{objective} worker", [*COUNTERPOISE, *worker, *options], **problem.environment)
        with display(said) as show:
            while (study := client.study(name)).phase != "finished":
                members.check()
                show(study, len(client.front(name)))
                time.sleep(LOOK_S)
            show(study, len(client.front(name)))
        found = gather(client, problem)
    if not found.front:
        raise DemoFailed(f"no sample has a value of every objective; the workers' logs in {members.folder} say why")
    return found
