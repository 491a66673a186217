"""The benchmark of the GP measures what its columns name. No test asserts a time."""

from io import StringIO

from rich.console import Console

from benchmarks.speed.gp import (
    FUNCTIONS,
    TOLERANCE,
    Row,
    data_set,
    run,
    summarise,
    table,
)


def test_rows_have_ratios_and_counts() -> None:
    steps: list[tuple[int, int]] = []
    rows = run(
        sizes=(15, 20),
        datasets=2,
        peer_up_to=15,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [row["n"] for row in rows] == [15, 20]
    assert isinstance(rows[0]["no_worse"], int)
    assert rows[1]["no_worse"] is None
    assert rows[1]["fit_ratio"] is None
    assert all(isinstance(row["lapack_ratio"], float) for row in rows)


def test_times_are_medians_and_likelihoods_are_counted() -> None:
    """Of five, one is worse than scikit-learn's by more than the tolerance; without
    scikit-learn there is no count.
    """
    gains = (-TOLERANCE - 0.1, -TOLERANCE, 0.0, 3.0, -1.0)
    times = (9.0, 1.0, 2.0, 4.0, 3.0)
    measured: list[Row] = [
        {"fit_ms": time, "gain": gain} for time, gain in zip(times, gains, strict=True)
    ]
    assert summarise(measured) == {"fit_ms": 3.0, "no_worse": 4}
    alone: list[Row] = [{"fit_ms": 1.0, "fit_ratio": None, "gain": None}] * 2
    assert summarise(alone) == {"fit_ms": 1.0, "fit_ratio": None, "no_worse": None}


def test_table_shows_every_row() -> None:
    rows = run(sizes=(15, 20), datasets=1, peer_up_to=15)
    out = StringIO()
    Console(file=out, width=200).print(table(rows))
    assert "│ 15" in out.getvalue()
    assert "│ 20" in out.getvalue()


def test_data_sets_are_standardised_and_seeded() -> None:
    for seed in range(len(FUNCTIONS)):
        X, y = data_set(50, seed)
        assert abs(X.mean()) < 1e-12
        assert abs(y.std() - 1) < 1e-12
        assert (data_set(50, seed)[1] == y).all()
