"""What is due in a study now: evaluated in every transaction that settles, from counters alone."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.changes import JobRow, Ledger
from app.domain.step_names import name_in
from app.domain.stepping import Finish, Generation, Nothing, Progress, Step, Stream, due
from app.service.planning.ratios import current_ratios
from app.store.studies.steps import drop_due, due_steps, make_due
from app.store.studies.studies import change_objective, change_study, guests, objectives_of
from app.store.wakeups import notify
from app.store.work.apply import write

Open = Mapping[int, int]  # by sample, on how many objectives it is not settled; if that is known


def settled_together(
    study: Row[Any], rows: Sequence[Row[Any]], jobs: Sequence[JobRow], opened: Open = MappingProxyType({})
) -> tuple[int, bool]:
    """How many of these jobs may be settled at once, and whether anything may be due after that.

    A step reads what was known when it became due. If that can be in the middle of a list, the list is parted there, or
    what a step reads would depend on who happened to speak at the same time.
    """

    def may_be_due_after(count: int) -> bool:
        return _may_become_due(study, rows, jobs[:count], opened)

    if not may_be_due_after(len(jobs)):
        return len(jobs), False
    return 1 + bisect_left(range(1, len(jobs)), True, key=may_be_due_after), True


def _may_become_due(study: Row[Any], rows: Sequence[Row[Any]], jobs: Sequence[JobRow], opened: Open) -> bool:
    """Could settling these jobs, or some of them, make anything due? Asked before anything is written."""
    if study.phase == "finished":
        return False
    also = guests(rows)
    told_of: Counter[int] = Counter()
    for job in jobs:
        told_of[job.sample] += 0 if job.cheap_only else 1 + len(also[job.objective])
    settled = sum(0 < told >= opened.get(sample, 0) for sample, told in told_of.items())
    if settled and study.planned_full - study.settled_full <= settled:
        return True
    if study.phase != "initial":
        return False
    # Generations become due as jobs are settled, never the other way: nothing at the end, nothing before.
    told = Counter(job.objective for job in jobs)
    return not isinstance(due(progress_of(study, rows, _most(study, rows), set(), told)), Nothing)


def _most(study: Row[Any], rows: Sequence[Row[Any]]) -> list[float]:
    """Ratios with which anything is due that could be with any others; to measure them costs queries."""
    return [float(study.spec["max_ratio"])] * len(rows)


def make_due_what_is(connection: Connection, study: Row[Any]) -> None:
    """Note, under the study's lock, which steps have become due, and the prefix of the sequence they may read."""
    batch_is_out = study.planned_full > study.settled_full
    if study.phase == "finished" or (study.phase == "search" and batch_is_out):
        return  # as after nearly every tell, so it is asked before anything is read
    waiting = due_steps(connection, study.id)
    if any(step.kind != "stream" for step in waiting):
        return
    rows = objectives_of(connection, study.id)
    streaming = {step.objective for step in waiting}
    if batch_is_out:
        _make_generations_due(connection, study, rows, streaming)
        return
    match due(progress_of(study, rows, [row.ratio for row in rows], streaming)):
        case Step(number, size):
            _make_step_due(connection, study, rows, number, size)
        case Finish():
            make_due(connection, study.id, "closing", study.budget, study.sequence, {"budget": study.budget})
            announce(connection, study, [name_in(study, "closing", study.budget)])


def _make_generations_due(
    connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], streaming: set[int]
) -> None:
    if isinstance(due(progress_of(study, rows, _most(study, rows), streaming)), Nothing):
        return
    ratios = current_ratios(connection, study, rows)
    for row, ratio in zip(rows, ratios, strict=True):
        if ratio != row.ratio:
            change_objective(connection, row.id, ratio=ratio)
    generations: list[str | None] = []
    while isinstance(decision := due(progress_of(study, rows, ratios, streaming)), Generation):
        inputs = {"size": decision.size, "ratios": ratios}
        make_due(connection, study.id, "stream", decision.number, study.sequence, inputs, decision.objective)
        streaming.add(decision.objective)
        generations.append(name_in(study, "stream", decision.number, decision.objective))
    if generations:
        announce(connection, study, generations)


def _make_step_due(connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], number: int, size: int) -> None:
    ratios = current_ratios(connection, study, rows)
    threshold = study.spec["cheap_threshold"]
    # Which objectives are cheap is fixed when search begins; later only the ratios follow.
    cheap = [ratio > threshold if row.cheap is None else row.cheap for row, ratio in zip(rows, ratios, strict=True)]
    for row, ratio, is_cheap in zip(rows, ratios, cheap, strict=True):
        if (ratio, is_cheap) != (row.ratio, row.cheap):
            change_objective(connection, row.id, ratio=ratio, cheap=is_cheap)
    begins = study.phase == "initial"
    if begins:
        change_study(connection, study.id, phase="search")
        drop_due(connection, study.id, ["stream"])
    inputs: dict[str, Any] = {"size": size, "budget": study.budget, "ratios": ratios, "settled": study.planned_full}
    inputs["cheap"] = [row.position for row, is_cheap in zip(rows, cheap, strict=True) if is_cheap]
    make_due(connection, study.id, "search", number, study.sequence, inputs)
    announce(connection, study, [name_in(study, "search", number)], [("phase", {"phase": "search"})] if begins else [])


def announce(
    connection: Connection,
    study: Row[Any],
    steps: Sequence[str | None],
    before: Sequence[tuple[str, dict[str, Any]]] = (),
) -> None:
    """Say that steps are due: in the study's sequence after all that they may read."""
    due = [("step_due", {"step": step}) for step in steps]
    write(connection, study, Ledger(events=[*before, *due]), {})
    notify(connection)


def progress_of(
    study: Row[Any],
    rows: Sequence[Row[Any]],
    ratios: Sequence[float],
    streaming: set[int],
    told: Mapping[int, int] = MappingProxyType({}),
) -> Progress:
    """The stepping rule's view of a study.

    `streaming`: objectives whose next generation is due already; `told`: jobs that are about to be settled, by
    objective.
    """
    threshold = study.spec["cheap_threshold"]
    cheap = tuple(row.position for row, ratio in zip(rows, ratios, strict=True) if ratio > threshold)
    streams = tuple(
        Stream(
            objective=row.position,
            generation=row.generation,
            planned=row.created,
            unsettled=_unsettled(row) - told.get(row.id, 0),
        )
        for row in rows
        if row.position in cheap and row.same_run_as is None and row.position not in streaming and row.generation >= 0
    )
    return Progress(
        phase=study.phase,
        n=study.planned_full,
        budget=study.budget,
        planned=study.planned_full,
        unsettled_full=study.planned_full - study.settled_full,
        step=study.step,
        batch=study.spec["batch_size"],
        ratios=tuple(ratios),
        cheap=cheap,
        streams=streams,
    )


def _unsettled(row: Row[Any]) -> int:
    """Jobs of an objective's stream that are not settled; before its first generation, the design's."""
    everything = int(row.created - row.done - row.failed - row.superseded)
    return int(row.open_full) if row.generation == 0 else everything - int(row.open_full)
