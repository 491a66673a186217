"""What the tables promise to the statements that are executed most."""

import re

import pytest
from sqlalchemy import Table

from app.store.tables import attempts, samples


@pytest.mark.parametrize(
    ("table", "changing"),
    [
        (samples, {"given_up", "infeasible", "open", "waiting"}),
        (attempts, {"ended_at", "outcome", "value", "failure", "message", "details"}),
    ],
)
def test_columns_that_change_with_every_tell_are_in_no_index(
    table: Table, changing: set[str]
) -> None:
    """So an update on PostgreSQL writes no index (ADR 0014)."""
    assert changing <= set(table.columns.keys())
    for index in table.indexes:
        predicate = str(index.dialect_options["postgresql"]["where"])
        read = set(index.columns.keys()) | set(re.findall(r"\w+", predicate))
        assert not read & changing, index.name
