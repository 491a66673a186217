"""The paper's result tables as data."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

FILE = Path(__file__).with_name("paper_tables.csv")
Key = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class Entry:
    mean: float
    std: float


@cache
def load(table: str) -> Mapping[Key, Entry]:
    """(problem, m, rc, algorithm) -> Entry of one table, for example "Tab.1"; problems
    in lower case.
    """
    with FILE.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == table]
    if not rows:
        raise ValueError(f"no table {table!r} in {FILE.name}")
    return MappingProxyType(
        {_key(row): Entry(float(row["mean"]), float(row["std"])) for row in rows}
    )


def _key(row: Mapping[str, str]) -> Key:
    return row["problem"].lower(), int(row["m"]), int(row["rc"]), row["algorithm"]


def published(rc: int) -> Mapping[Key, Entry]:
    """K-RVEA, HK-RVEA and SBP-BO: Tab.1 for r_c = 5, Tab.2 for r_c = 10, nothing for
    another r_c.
    """
    name = {5: "Tab.1", 10: "Tab.2"}.get(rc)
    return load(name) if name else {}
