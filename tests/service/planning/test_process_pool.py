"""Processes of a pool whose owner is killed."""

import subprocess
import sys

KILLED = """
import os
from app.process_pool import RestartingPool, follow_parent
pool = RestartingPool(1, "math", follow_parent)
print(pool.map(abs, [-3]), flush=True)
os._exit(0)
"""


def test_a_killed_owner_leaves_no_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[3]\n"
    assert done.stderr == ""
