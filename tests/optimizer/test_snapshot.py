import numpy as np
import pytest
from numpy.testing import assert_array_equal

from app.optimizer.samples import Samples
from app.optimizer.snapshot import LARGEST, Data, Snapshot
from counterpoise.wire.work import LARGEST as WIRE_LARGEST


def snapshot(**changes: object) -> Snapshot:
    fields: dict[str, object] = {
        "step": 1,
        "settled": 2,
        "budget": 9,
        "batch": 3,
        "X": np.zeros((2, 4)),
        "F": np.zeros((2, 3)),
    }
    return Snapshot(**{**fields, **changes})  # type: ignore[arg-type]


def test_what_is_left_out_is_empty_for_every_objective() -> None:
    empty = snapshot()
    assert [len(data) for data in (*empty.partial, *empty.extra)] == [0] * 6
    assert [
        points.shape for points in (*empty.pending, *empty.taken, *empty.infeasible)
    ] == [(0, 4)] * 9
    assert empty.frozen == empty.theta == empty.frozen_theta == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"F": np.zeros((3, 3))}, "does not fit"),
        ({"F": np.full((2, 3), np.nan)}, "F between"),
        ({"F": np.full((2, 3), -1.1e100)}, "F between -1e[+]100 and 1e[+]100"),
        ({"X": np.full((2, 4), np.inf)}, "X must be finite"),
        ({"step": 0}, "begin at 1"),
        ({"budget": 0}, "begin at 1"),
        ({"batch": -1}, "begin at 1"),
        ({"pending": (np.zeros((1, 4)),)}, "pending has 1 entries for 3"),
        ({"pending": (np.zeros((1, 3)),) * 3}, "every point needs 4 coordinates"),
        ({"taken": (np.zeros(4),) * 3}, "every point needs 4 coordinates"),
        (
            {"frozen": (None, Data(np.zeros((1, 5)), np.zeros(1)), None)},
            "every point needs 4 coordinates",
        ),
        ({"theta": (np.ones(3), None, None)}, "need 4 numbers"),
        (
            {
                "extra": (Data(np.zeros((1, 4)), np.zeros(1)),) * 3,
                "extra_steps": (np.zeros(2),) * 3,
            },
            "extra_steps",
        ),
    ],
)
def test_a_snapshot_that_does_not_fit_together_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        snapshot(**changes)


def test_data_need_one_value_per_point_whose_square_does_not_overflow() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Data(np.zeros((2, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="points must be finite"):
        Data(np.full((1, 1), np.nan), np.zeros(1))
    for value in (np.nan, np.inf, 1.1e100):
        with pytest.raises(ValueError, match="values between"):
            Data(np.zeros((1, 1)), np.array([value]))
    assert len(Data(np.zeros((1, 1)), np.array([-LARGEST]))) == 1


def test_whatever_may_be_told_may_be_learnt_from() -> None:
    assert WIRE_LARGEST <= LARGEST


def test_a_running_sample_is_awaited_once_and_its_values_count() -> None:
    X = np.array([[0.1, 0.2], [0.3, 0.4]])
    F, known = (
        np.array([[5.0, 0.0], [0.0, 0.0]]),
        np.array([[True, False], [False] * 2]),
    )
    running = Samples(X, F, known, np.zeros(2, dtype=np.int64))
    nothing = np.empty((0, 2))
    snapshot = Snapshot(
        1, 0, 9, 1, nothing, nothing, running=running, pending=(nothing, X)
    )
    assert_array_equal(snapshot.awaited(0), X[1:])
    assert_array_equal(snapshot.awaited(1), X)
    assert_array_equal(snapshot.incomplete(0).y, [5.0])
    assert len(snapshot.incomplete(1)) == 0
