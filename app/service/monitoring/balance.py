"""Cheap-only against full samples, by objective and step."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from app.domain.monitoring.even_spread import spread
from app.domain.planning.ratios import LAST_DURATIONS, ratio_source
from app.domain.studies import Objective, Study
from app.service.require_study import require_study
from app.store.database import Database
from app.store.monitoring.steps import StepPart, search_steps
from app.store.studies.evaluations import last_durations
from app.store.studies.studies import objectives_of
from counterpoise.wire.monitoring.balance import (
    BalanceView,
    ObjectiveBalance,
    StepBalance,
)

PARTS = ("ratios", "sbp", "full_sources", "cheap_sources")


def balance(database: Database, name: str, most: int) -> BalanceView:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        runs = [objective for objective in objectives if objective.has_jobs]
        durations = last_durations(connection, [run.id for run in runs], LAST_DURATIONS)
        steps = search_steps(connection, study.id, spread(study.step, most), PARTS)
    items = []
    for step in steps:
        items += [_step_balance(step, run) for run in runs]
    return BalanceView(
        study=study.name,
        ratio_source=ratio_source(study.spec, objectives, durations),
        steps=study.step,
        objectives=_totals(study, runs),
        items=items,
    )


def _totals(study: Study, runs: Sequence[Objective]) -> list[ObjectiveBalance]:
    settled = {run.id: run.done + run.infeasible + run.failed for run in runs}
    slowest = min(runs, key=lambda run: run.ratio)
    totals = []
    for run in runs:
        is_cheap = run.is_cheap(study.spec.cheap_threshold)
        planned = max(study.planned_full - run.open_full, 0)
        # Slow runs are for full samples only, also for those outside the budget
        full = min(planned, settled[run.id]) if is_cheap else settled[run.id]
        per_full = None
        if settled[slowest.id] > 0:
            per_full = settled[run.id] / settled[slowest.id]
        total = ObjectiveBalance(
            objective=run.name,
            cheap=is_cheap,
            ratio=run.ratio,
            full=full,
            cheap_only=settled[run.id] - full,
            superseded=run.superseded,
            per_full=per_full,
        )
        totals.append(total)
    return totals


def _step_balance(step: StepPart, run: Objective) -> StepBalance:
    full_sources = step.parts["full_sources"] or []
    cheap_sources = _at(step.parts["cheap_sources"], run.position) or []
    sbp = _at(step.parts["sbp"], run.position) or (None, None)
    return StepBalance(
        step=step.name,
        number=step.number,
        objective=run.name,
        ratio=_at(step.parts["ratios"], run.position),
        full=len(full_sources),
        cheap_only=len(cheap_sources),
        sbp_low=sbp[0],
        sbp_high=sbp[1],
        full_sources=dict(Counter(full_sources)),
        cheap_sources=dict(Counter(cheap_sources)),
    )


def _at(items: Sequence[Any] | None, position: int) -> Any:
    """None where nothing was recorded."""
    return items[position] if items and position < len(items) else None
