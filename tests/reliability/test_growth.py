"""A soak: memory, file handles and connections of server, planner and worker do not
grow with the jobs done.
"""

from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import monotonic

import pytest

from tests.reliability.processes.soak import Soak, Usage

# Of one process, as in docs/operations.md
MAX_CONNECTIONS = {
    "server": 11,
    "planner": 4,
    "worker": 0,
}
# Taken once, for example when a table of the allocator becomes too small
ALLOCATOR_BYTES = 2 << 20
MAX_NEW_HANDLES = 2
WINDOW = 5  # percent of the jobs


def lowest(usages: list[Usage]) -> Usage:
    """What is held only for a moment does not count; what leaks does."""
    return Usage(
        jobs=usages[len(usages) // 2].jobs,
        memory=min(usage.memory for usage in usages),
        handles=min(usage.handles for usage in usages),
        connections=min(usage.connections for usage in usages),
    )


def growth(windows: list[Usage]) -> float:
    """Bytes per job, by the median window: a leak grows in every window, an allocator
    in one.
    """
    grown = [after.memory - before.memory for before, after in pairwise(windows)]
    total = median(grown) * len(grown)
    jobs = windows[-1].jobs - windows[0].jobs
    return total / jobs


def check_process(name: str, usages: list[Usage], max_bytes_per_job: float) -> None:
    windows = [
        lowest(usages[percent : percent + WINDOW]) for percent in range(50, 90, WINDOW)
    ]
    first, last = windows[0], windows[-1]
    bytes_per_job = growth(windows)
    print(  # noqa: T201
        f"growth: {name} {bytes_per_job:.0f} bytes a job from {first.jobs} to {last.jobs}",
        flush=True,
    )
    allowed = ALLOCATOR_BYTES + max_bytes_per_job * (last.jobs - first.jobs)
    assert last.memory - first.memory < allowed, (name, windows)
    assert last.handles <= first.handles + MAX_NEW_HANDLES, (name, windows)
    assert last.connections <= first.connections + MAX_NEW_HANDLES, (name, windows)
    assert max(usage.connections for usage in usages) <= MAX_CONNECTIONS[name], name
    assert bytes_per_job <= max_bytes_per_job, name


def print_usage(soak: Soak, usages: dict[str, Usage]) -> None:
    parts = []
    for name, usage in usages.items():
        megabytes = usage.memory / 2**20
        parts.append(
            f"{name} {megabytes:.1f} MB, {usage.handles} handles, {usage.connections} connections"
        )
    jobs = usages["server"].jobs
    print(  # noqa: T201
        f"growth: {jobs} jobs, {soak.steps_done()} steps: {'; '.join(parts)}",
        flush=True,
    )


def run_soak(
    url: str,
    folder: Path,
    jobs: int,
    max_bytes_per_job: float,
) -> None:
    began = monotonic()
    with ExitStack() as stack:
        soak = Soak(stack, url, folder, jobs)
        usages: dict[str, list[Usage]] = {name: [] for name in soak.pids}
        for percent, by_process in soak.usages():
            for name, usage in by_process.items():
                usages[name].append(usage)
            if percent % 20 == 10:
                print_usage(soak, by_process)
        for name in usages:
            check_process(name, usages[name], max_bytes_per_job)
        soak.finish()
        print_usage(soak, soak.usage())
        print(f"growth: {jobs} jobs in {monotonic() - began:.0f} s", flush=True)  # noqa: T201


@pytest.mark.slow  # half a minute
@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_handles_and_connections_do_not_grow(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print()  # noqa: T201
        run_soak(database_url, tmp_path, 4000, 300.0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_a_hundred_thousand_jobs(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{database_url.partition(':')[0]}")  # noqa: T201
        run_soak(database_url, tmp_path, 100_000, 50.0)
