"""Workers whose clocks are hours off work like any other: no time that they read or
send decides anything.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from counterpoise import Client
from tests.e2e.processes import COUNTERPOISE, ROOT, eventually, running
from tests.worker.in_process_server import serving_here
from tests.worker.test_worker_processes import SPEC

LEASE_S = 3.0
HEARTBEATS = 4  # two in each lease time
OFFSETS_S = {"ahead": 6 * 3600, "behind": -6 * 3600}
# Imported by every Python process of the worker before anything else.
CLOCK = """
import datetime, time
_time, _datetime = time.time, datetime.datetime
class _Off(_datetime):
    @classmethod
    def now(cls, tz=None):
        return _datetime.now(tz) + datetime.timedelta(seconds={offset_s})
time.time = lambda: _time() + {offset_s}
datetime.datetime = _Off
"""


@contextmanager
def worker_with_clock(url: str, folder: Path, offset_s: int) -> Iterator[None]:
    """A worker that evaluates one job while the block runs, and ends after it."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK.format(offset_s=offset_s))
    variables = {"PYTHONPATH": f"{folder}:{ROOT}", "GATE": str(folder)}
    options = [
        "--url",
        url,
        "--study=beam",
        "--json",
        f"--spool={folder / 'spool'}",
        f"--name={folder.name}",
    ]
    simulation = "--objective=mass=tests.worker.simulations:slow"
    with running(
        COUNTERPOISE, "worker", *options, "--max-jobs=1", simulation, **variables
    ) as (process, log):
        started = eventually(lambda: list(folder.glob("begun-*")), "the evaluation")
        assert len(started) == 1
        yield
        (folder / "open").touch()
        eventually(lambda: process.poll() is not None, "the end of the worker")
        assert process.returncode == 0, log.read_text()


@pytest.mark.parametrize(
    "backend",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
    indirect=True,
)
def test_worker_with_a_wrong_clock_keeps_its_job_for_several_leases(
    database_url: str, tmp_path: Path
) -> None:
    with serving_here(database_url) as url, Client(url) as client:
        client.create_study(SPEC | {"lease_s": LEASE_S})
        ahead = worker_with_clock(url, tmp_path / "ahead", OFFSETS_S["ahead"])
        behind = worker_with_clock(url, tmp_path / "behind", OFFSETS_S["behind"])
        with ahead, behind:
            deadline = ""
            for _ in range(HEARTBEATS):
                deadline = eventually(
                    lambda after=deadline: later_deadline(client, after),  # type: ignore[misc]
                    "a later deadline",
                )
        check_done_once(client)


def later_deadline(client: Client, after: str) -> str | None:
    """The earlier deadline of the two leased jobs, if it is later than this."""
    deadlines = [
        job.expires_at for job in client.jobs("beam", state="leased") if job.expires_at
    ]
    assert len(deadlines) == len(OFFSETS_S), "a lease has expired"
    return min(deadlines) if min(deadlines) > after else None


def check_done_once(client: Client) -> None:
    assert [job.attempts for job in client.jobs("beam", state="done")] == [1, 1]
    for worker in client.workers():
        assert worker.worker in OFFSETS_S
        assert (worker.done, worker.failures.lost) == (1, 0)
    (mass, *_) = client.study("beam").objectives
    assert mass.median_duration_s is not None
    assert 0 < mass.median_duration_s < 3600
