"""Children of a parent that is killed with SIGKILL end."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]

# Each program prints the ids of its children, then waits until it is killed.
POOL = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from counterpoise.child_processes import end_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), end_with_parent)
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(60)
"""
PIPE = """
import subprocess, sys, time
code = "import time; from counterpoise.child_processes import end_with_parent; end_with_parent(); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(60)
"""
GUARDED = """
import subprocess, time
from counterpoise.child_processes import Guardian
guardian = Guardian()
member = subprocess.Popen(["sleep", "60"], process_group=guardian.group)
watched = subprocess.Popen(["sleep", "60"], start_new_session=True)
guardian.watch(watched.pid)
print(guardian.group, member.pid, watched.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "program", [POOL, PIPE, GUARDED], ids=["multiprocessing", "pipe", "guardian"]
)
def test_a_killed_parent_leaves_no_child_behind(program: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(program)
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, text=True
    ) as parent:
        assert parent.stdout is not None
        children = [
            psutil.Process(int(pid)) for pid in parent.stdout.readline().split()
        ]
        parent.kill()
    assert children
    _, alive = psutil.wait_procs(children, 10)
    assert alive == []


def test_a_child_with_a_grace_period_ends_by_itself() -> None:
    code = """
import sys, threading
from counterpoise.child_processes import end_with_parent
stop = threading.Event()
end_with_parent(stop.set, 60.0)
stop.wait()
sys.exit(7)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=ROOT
    )
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(30) == 7


def test_a_guardian_with_a_grace_period_asks_first() -> None:
    code = """
import subprocess, sys, time
from counterpoise.child_processes import Guardian
guardian = Guardian(30.0)
command = ["sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"]
child = subprocess.Popen(command, process_group=guardian.group, stdout=subprocess.PIPE)
child.stdout.readline()
guardian.end_gently()
code = child.wait()
guardian.close()
print(code)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "3\n"


def test_what_a_guardian_has_forgotten_is_left_alone() -> None:
    code = """
import subprocess
from counterpoise.child_processes import Guardian
guardian = Guardian()
child = subprocess.Popen(
    ["sleep", "60"], start_new_session=True, stdout=subprocess.DEVNULL
)
guardian.watch(child.pid)
guardian.forget(child.pid)
guardian.close()
print(child.pid)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    left = psutil.Process(int(result.stdout))
    left.send_signal(signal.SIGKILL)
