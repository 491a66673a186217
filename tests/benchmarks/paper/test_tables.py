"""The copy of the paper's tables."""

import pytest

from benchmarks.paper.tables import Entry, load, published


def test_tables_hold_all_instances() -> None:
    assert {
        table: len(load(table))
        for table in ("Tab.1", "Tab.2", "Tab.4", "Bi-objective1")
    } == {
        "Tab.1": 144,
        "Tab.2": 144,
        "Tab.4": 240,
        "Bi-objective1": 64,
    }


def test_an_entry_of_each_ratio() -> None:
    assert published(5)["dtlz2", 3, 5, "SBP-BO"] == Entry(0.0415, 0.00327)
    assert published(10)["dtlz7", 10, 10, "SBP-BO"] == Entry(1.26, 0.174)
    assert published(7) == {}


def test_an_unknown_table_is_named() -> None:
    with pytest.raises(ValueError, match=r"no table 'Tab\.9'"):
        load("Tab.9")
