"""The command line: help, exit codes, `serve` and `migrate`."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from app.store.upgrade import head
from benchmarks.cli import bench
from counterpoise import __version__
from counterpoise.cli import app

COUNTERPOISE = Path(sys.executable).with_name("counterpoise")
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("COUNTERPOISE_")
}


def run(*arguments: str, cwd: Path, **environment: str) -> Result:
    """In this process: to start another takes longer than most commands."""
    with chdir(cwd):
        return CliRunner().invoke(app, arguments, env={"COLUMNS": "200"} | environment)


def run_process(
    *arguments: str, cwd: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """For commands that set up logs."""
    return subprocess.run(
        [COUNTERPOISE, *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@contextmanager
def serving(
    cwd: Path, *arguments: str, **environment: str
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A real server on a free port; yields the URL in its log."""
    process = subprocess.Popen(
        [COUNTERPOISE, "serve", "--port", "0", *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, "COUNTERPOISE_LOG_FORMAT": "json", **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        url = next(json.loads(line)["url"] for line in lines if '"listening"' in line)
        wait_until_ready(url)
        yield url, process
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            assert httpx.get(f"{url}/readyz").json() == {"status": "ready"}
            return
        except httpx.TransportError:
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.05)


def test_version(tmp_path: Path) -> None:
    assert __version__ in run("--version", cwd=tmp_path).stdout
    assert (
        json.loads(run("version", "--json", cwd=tmp_path).stdout)["counterpoise"]
        == __version__
    )


@pytest.mark.parametrize("command", ["serve", "migrate", "demo", "version"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert command in CliRunner().invoke(app, ["--help"]).output
    assert (
        f"Example: counterpoise {command}"
        in CliRunner().invoke(app, [command, "--help"]).output
    )


@pytest.mark.parametrize("command", ["paper", "gp", "step", "simulate", "store"])
def test_every_benchmark_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(bench, [command, "--help"])
    assert result.exit_code == 0
    assert f"Example: counterpoise bench {command}" in result.output


def test_bench_passes_its_arguments_on(tmp_path: Path) -> None:
    refused = run("bench", "store", "--cycles", "0", cwd=tmp_path)
    assert refused.exit_code == 2
    assert "Usage: counterpoise bench store" in refused.stderr
    assert "--cycles" in refused.stderr


def test_no_command_prints_help_and_an_unknown_one_exits_with_2(tmp_path: Path) -> None:
    assert "Usage: counterpoise" in run(cwd=tmp_path).stdout
    assert run("srve", cwd=tmp_path).exit_code == 2


def test_migrate_on_both_databases(tmp_path: Path, empty_url: str) -> None:
    first = run_process("migrate", "--database-url", empty_url, "--json", cwd=tmp_path)
    assert json.loads(first.stdout) == {"before": None, "after": head()}
    again = run_process("migrate", cwd=tmp_path, COUNTERPOISE_DATABASE_URL=empty_url)
    assert again.stdout == f"database: already at {head()}\n"


def test_serve_upgrades_sqlite_but_not_postgresql(
    tmp_path: Path, empty_url: str, backend: str
) -> None:
    if backend == "sqlite":
        with serving(tmp_path, "--no-planner", "--database-url", empty_url) as (
            url,
            process,
        ):
            assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) in (0, -signal.SIGTERM)
        return
    refused = run_process(
        "serve", "--port", "0", "--database-url", empty_url, cwd=tmp_path
    )
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1] == (
        f"Error: the database is at schema none, this version needs {head()}; run: counterpoise migrate"
    )


def test_serve_on_both_databases(tmp_path: Path, database_url: str) -> None:
    with serving(tmp_path, "--no-planner", COUNTERPOISE_DATABASE_URL=database_url) as (
        url,
        _,
    ):
        assert (
            httpx.get(f"{url}/readyz", headers={"X-Request-ID": "me"}).headers[
                "x-request-id"
            ]
            == "me"
        )
        assert "server" not in httpx.get(f"{url}/healthz").headers


def test_a_server_starts_without_numerical_libraries() -> None:
    code = "import sys, app.server; print(sorted({'numpy', 'scipy', 'sklearn', 'moocore'} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "99999"], "COUNTERPOISE_PORT = 99999 is not usable"),
        (
            ["--database-url", "oracle://x"],
            "COUNTERPOISE_DATABASE_URL is not usable: it must be sqlite:///FILE",
        ),
        (["--host", "0.0.0.0"], "without tokens the server listens on loopback only"),  # noqa: S104
        (
            ["--host", "no.such.host.invalid"],
            "without tokens the server listens on loopback only",
        ),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_sentence(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run("serve", *arguments, cwd=tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_serve_creates_its_database_and_warns_of_a_public_token(tmp_path: Path) -> None:
    with serving(
        tmp_path, "--no-planner", COUNTERPOISE_ADMIN_TOKENS="demo-public-token"
    ) as (_, process):
        assert (tmp_path / "counterpoise.db").exists()
        process.terminate()
        assert "begins with demo- is public" in process.stderr.read()  # type: ignore[union-attr]


def test_a_busy_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run_process(
            "serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path
        )
    assert result.returncode == 2
    assert "in use; choose another with --host and --port" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_database_that_cannot_be_opened_exits_with_1_and_one_sentence(
    tmp_path: Path,
) -> None:
    missing = ["--database-url", "sqlite:///no/such/folder/x.db"]
    served = run_process("serve", *missing, cwd=tmp_path)
    migrated = run_process("migrate", *missing, cwd=tmp_path)
    assert (served.returncode, migrated.returncode) == (1, 1)
    for printed in (served.stderr, migrated.stderr):
        assert "cannot be used now" in printed
        assert printed.count("\n") == 1
