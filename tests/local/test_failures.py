"""Which failures a run reports, and when it ends because of them."""

import io

import pytest

from counterpoise.local.failures import MOST_LINES, FailureLog, check_for_values
from counterpoise.local.processes import RunFailed
from tests.commands.fake_api import STUDY, objective


def test_the_first_different_failures_of_each_objective_are_read_once() -> None:
    stream = io.StringIO()
    log = FailureLog(stream=stream)
    log.info("done", objective="mass")
    log.warning("asking for jobs failed")
    for message in ("a", "a", "b", "c", "d"):
        log.warning(message, objective="mass", sample=1)
    log.warning("a", objective="drag")
    expected = [
        "mass: a",
        "mass: b",
        "mass: c",
        "mass: further failures are in the log",
    ]
    assert log.unread() == [*expected, "drag: a"]
    assert log.unread() == []
    assert log.last("mass") == "c"
    assert log.last("lift") is None
    assert len(expected) == MOST_LINES + 1
    assert stream.getvalue().count("\n") == 8


@pytest.mark.parametrize(
    ("counts", "ends"),
    [
        ({"failed": 3}, True),
        ({"failed": 2}, False),
        ({"failed": 3, "done": 1}, False),
        ({"failed": 3, "infeasible": 1}, False),
    ],
)
def test_a_run_ends_when_an_objective_only_fails(
    counts: dict[str, int], ends: bool
) -> None:
    view = objective("mass", **{"failed": 0, "done": 0, "infeasible": 0, **counts})
    study = STUDY.model_copy(update={"objectives": [view]})
    log = FailureLog(stream=io.StringIO())
    check_for_values(study, log)  # failures of other workers: not ours to judge
    log.warning("error: exit code 3", objective=view.name)
    if ends:
        with pytest.raises(RunFailed, match="exit code 3"):
            check_for_values(study, log)
    else:
        check_for_values(study, log)
