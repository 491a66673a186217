"""A worker whose clock is hours off works as any other: no time that it reads or sends decides anything."""

from pathlib import Path

import pytest

from counterpoise import Client
from tests.e2e.processes import COUNTERPOISE, ROOT, eventually, running
from tests.worker.in_process_server import serving_here
from tests.worker.test_worker_processes import SPEC

LEASE_S = 3.0
# Loaded by every Python of the worker before anything else.
CLOCK = """
import datetime, time
_time, _datetime = time.time, datetime.datetime
class _Off(_datetime):
    @classmethod
    def now(cls, tz=None):
        return _datetime.now(tz) + datetime.timedelta(seconds={off_s})
time.time = lambda: _time() + {off_s}
datetime.datetime = _Off
"""


AHEAD, BEHIND = 6 * 3600, -6 * 3600


# The database should make no difference to a worker; all four in `make slow`.
@pytest.mark.parametrize(
    ("backend", "off_s"),
    [
        ("sqlite", AHEAD),
        ("postgresql", BEHIND),
        pytest.param("sqlite", BEHIND, marks=pytest.mark.slow),
        pytest.param("postgresql", AHEAD, marks=pytest.mark.slow),
    ],
)
def test_a_worker_whose_clock_is_hours_off_keeps_a_job_for_several_leases(
    database_url: str, tmp_path: Path, off_s: int
) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCK.format(off_s=off_s))
    deceived = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "GATE": str(tmp_path)}
    said = ["--study=beam", "--json", f"--spool={tmp_path / 'spool'}", "--max-jobs=1"]
    simulation = "--objective=mass=tests.worker.simulations:slow"
    with serving_here(database_url) as url, Client(url) as client:
        client.create_study(SPEC | {"lease_s": LEASE_S})
        with running(COUNTERPOISE, "worker", "--url", url, *said, simulation, **deceived) as (process, log):
            begun = eventually(lambda: list(tmp_path.glob("begun-*")), "the evaluation")
            deadline = ""
            for _ in range(4):  # two a lease
                deadline = eventually(lambda after=deadline: later(client, after), "a later deadline")  # type: ignore[misc]
            (tmp_path / "open").touch()
            eventually(lambda: process.poll() is not None, "the worker's end")
            assert process.returncode == 0, log.read_text()
        (done,) = client.jobs("beam", state="done")
        assert (done.attempts, len(begun)) == (1, 1)
        (worker,) = client.workers()
        assert (worker.done, worker.failures.lost) == (1, 0)
        (mass, *_) = client.study("beam").objectives
        assert mass.median_duration_s is not None
        assert 0 < mass.median_duration_s < 3600


def later(client: Client, after: str) -> str | None:
    found = [job.expires_at for job in client.jobs("beam", state="leased") if job.expires_at]
    return next((deadline for deadline in found if deadline > after), None)
