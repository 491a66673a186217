"""The deflection as an older machine computes it: more slowly, and with a solver that
fails from time to time.

The demo has one, so that its pages have a slow worker and failed jobs to show.
"""

import time
from collections.abc import Mapping
from itertools import count

from workers.wing import deflection as new_machine

SLOWDOWN = 2.5
FAILS_EVERY = 6  # runs
LICENCE_WAIT_S = 0.5
_runs = count(1)


def deflection(x: Mapping[str, float]) -> float:
    run = next(_runs)
    if run % FAILS_EVERY == 0:
        time.sleep(LICENCE_WAIT_S)
        raise RuntimeError(
            f"no licence for the mesher (in the demo, every {FAILS_EVERY}th run on the"
            " old machine fails; another attempt succeeds)"
        )
    begin = time.monotonic()
    value = new_machine.deflection(x)
    time.sleep((SLOWDOWN - 1.0) * (time.monotonic() - begin))
    return value
