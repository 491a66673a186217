"""Each step of a finished study happened once, with its batch; and its sequence has no
gap.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from app.store.tables import events, samples, steps, studies

Read = Callable[[Any], list[Any]]  # the rows of a query


def check_finished(read: Read, spec: dict[str, Any]) -> None:
    (study,) = read(select(studies).where(studies.c.name == spec["name"]))
    assert study.phase == "finished"
    assert study.planned_full == spec["budget"]
    assert study.settled_full == spec["budget"]
    numbers = read(select(events.c.seq).where(events.c.study_id == study.id))
    assert sorted(row.seq for row in numbers) == list(range(1, study.sequence + 1))
    check_steps(read, study.id, spec)


def check_steps(read: Read, study_id: int, spec: dict[str, Any]) -> None:
    rows = read(select(steps).where(steps.c.study_id == study_id))
    assert {row.state for row in rows} == {"done"}
    identities = {(row.kind, row.objective, row.number) for row in rows}
    assert len(identities) == len(rows)
    searches = [row.number for row in rows if row.kind == "search"]
    count = (spec["budget"] - spec["initial_samples"]) // spec["batch_size"]
    # Where many slots are free, a step proposes more than a batch.
    assert sorted(searches) == list(range(1, len(searches) + 1))
    assert 1 <= len(searches) <= count
    is_full = (samples.c.study_id == study_id, samples.c.full)
    full = Counter(
        row.step_id for row in read(select(samples.c.step_id).where(*is_full))
    )
    for row in rows:
        proposed = full.pop(row.id, 0)
        if row.kind == "search":
            assert spec["batch_size"] <= proposed == row.inputs["size"]
        else:
            assert proposed == (spec["initial_samples"] if row.kind == "initial" else 0)
    assert not full
