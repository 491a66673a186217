"""What is counted with each transition: jobs of objectives, open objectives of samples, settled samples of studies."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Update,
    bindparam,
    func,
    literal_column,
    select,
    update,
)

from app.domain.changes import UNSETTLED, Change, Ledger
from app.store.sql.bulk import ForEach, Given, from_json, update_each
from app.store.sql.in_array import among
from app.store.tables import objectives, samples, studies

# Counters of an objective.
KEPT = ("done", "failed", "superseded", "open_full", "expired", "late", "duplicate")
Also = Mapping[int, Sequence[int]]  # the objectives that come with each objective's run


def _counts(ledgers: Sequence[Ledger], also: Also) -> dict[int, Counter[str]]:
    """By how much the counters of each objective grow."""
    deltas: dict[int, Counter[str]] = {}
    guests_of_all = {guest for guests in also.values() for guest in guests}
    for ledger in ledgers:
        for one in ledger.changes:
            job = one.job
            delta = deltas.setdefault(job.objective, Counter())
            delta["open_full"] += 0 if job.cheap_only else _more(one)
            delta[job.state] -= 1
            delta[one.state] += 1
            for guest in also.get(job.objective, []):  # what it left; where it arrives, its own result says
                delta = deltas.setdefault(guest, Counter())
                delta[job.state] -= job.state in ("failed", "superseded")
                delta[one.state] += one.state == "superseded"
        for result in ledger.results:
            if result.of_job and result.objective in guests_of_all:
                deltas.setdefault(result.objective, Counter())["failed" if result.failure else "done"] += 1
        for objective, mishap in ledger.mishaps:
            deltas.setdefault(objective, Counter())[mishap] += 1
    return deltas


def _more(change: Change) -> int:
    """By how many the unsettled jobs grow."""
    return (change.state in UNSETTLED) - (change.job.state in UNSETTLED)


def opened(study: int, changes: Sequence[Change], also: Also) -> list[dict[str, int]]:
    """By how much the open objectives of each sample grow."""
    opened: Counter[int] = Counter()
    for one in changes:
        opened[one.job.sample] += _more(one) * (1 + len(also.get(one.job.objective, [])))
    return [{"one": sample, "by": by, "study": study} for sample, by in opened.items() if by]


def counted(ledgers: Sequence[Ledger], also: Also) -> list[dict[str, int]]:
    deltas = _counts(ledgers, also)
    moved = {objective: delta for objective, delta in deltas.items() if any(delta[name] for name in KEPT)}
    return [{"one": one, **{f"by_{name}": moved[one][name] for name in KEPT}} for one in sorted(moved)]


COUNT_OBJECTIVE = update_each(
    {"one": objectives.c.id.type} | {f"by_{name}": Integer() for name in KEPT},
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["one"])
        .values({name: objectives.c[name] + given[f"by_{name}"] for name in KEPT})
    ),
    parameter="objectives_rows",
)
_OPENED = {"one": samples.c.id.type, "by": Integer(), "study": studies.c.id.type}
OPEN_SAMPLE = update_each(
    _OPENED,
    lambda given: update(samples).where(samples.c.id == given["one"]).values(open=samples.c.open + given["by"]),
    parameter="samples_rows",
)
_PLANNED = (samples.c.full, ~samples.c.given_up, samples.c.imported_seq.is_(None))


def settled(connection: Connection, opened: Sequence[Mapping[str, int]]) -> Counter[int]:
    """By how many each study's settled full samples will grow; asked before it is written."""
    grown: Counter[int] = Counter()
    for by in sorted({row["by"] for row in opened}):
        ids = [row["one"] for row in opened if row["by"] == by]
        for row in connection.execute(_SETTLED, {"ids": ids, "open": max(-by, 0)}):
            grown[row.study_id] += row.settled if by < 0 else -row.settled
    return grown


_SETTLED = (
    select(samples.c.study_id, func.count().label("settled"))
    .where(among(samples.c.id, "ids"), samples.c.open == bindparam("open"), *_PLANNED)
    .group_by(samples.c.study_id)
)


def _settled_now() -> ColumnElement[int]:
    """The same inside the statement that opens the samples: all its parts see what was there before it."""
    given = from_json(_OPENED, "samples_rows")
    closes, opens = given["by"] == -samples.c.open, (given["by"] > _ZERO) & (samples.c.open == _ZERO)
    grown = func.count().filter(closes) - func.count().filter(opens)
    mine = (given["study"] == studies.c.id, samples.c.id == given["one"])
    return select(grown).where(*mine, *_PLANNED).correlate(studies).scalar_subquery()


_ZERO = literal_column("0", Integer)


def _grow(given: Given, settled: ColumnElement[int]) -> Update:
    grown = {"sequence": studies.c.sequence + given["numbers"], "settled_full": studies.c.settled_full + settled}
    return update(studies).where(studies.c.id == given["one"]).values(grown)


_GROWN = {"one": studies.c.id.type, "numbers": BigInteger()}
GROW_STUDY = ForEach(
    postgresql=_grow(from_json(_GROWN, "studies_rows"), _settled_now()),
    sqlite=_grow({name: bindparam(name) for name in _GROWN}, bindparam("settled")),
    parameter="studies_rows",
)
