"""How the hypervolume and the front have grown, and what the latest slow runs added."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.monitoring.assessments import convergence_assessment
from app.domain.monitoring.even_spread import spread
from app.domain.studies import Study
from app.domain.times import iso
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.monitoring.steps import StepPart, last_closing_step, search_steps
from counterpoise.wire.codes import Convergence, StepKind
from counterpoise.wire.monitoring.convergence import (
    ConvergencePoint,
    ConvergenceView,
    RecentGain,
)
from counterpoise.wire.text import format_span

PARTS = ("hypervolume", "slow")
RECENT_STEPS = 5
HOUR_S = 3600.0


def convergence(database: Database, name: str, most: int) -> ConvergenceView:
    with database.read() as connection:
        study = require_study(connection, name)
        steps = _steps(connection, study, spread(study.step, most))
        first_recent = max(study.step - RECENT_STEPS, 1)
        recent = _steps(connection, study, range(first_recent, study.step + 1))
    gain = _recent_gain(recent)
    assessment = _assessment(gain)
    last = _last_hypervolume(steps)
    return ConvergenceView(
        study=study.name,
        slow_run=_slow_run(study, steps),
        reference_point=reference_point(study, last),
        exact=last.get("exact"),
        steps=study.step,
        points=_points(study, steps),
        recent=gain,
        assessment=assessment,
        detail=describe_gain(assessment, gain),
    )


def hypervolume_line(
    connection: Connection, study: Study, most: int
) -> tuple[list[float], int | None]:
    """The hypervolume at a few steps, and the size of the front at the last."""
    steps = _steps(connection, study, spread(study.step, most - 1))
    recorded = [step.parts["hypervolume"] for step in steps]
    known = [record for record in recorded if record]
    front = known[-1].get("front") if known else None
    return [record["value"] for record in known], front


def _steps(
    connection: Connection, study: Study, numbers: Sequence[int]
) -> list[StepPart]:
    """These search steps and, if there is one, the step that closed the study."""
    steps = search_steps(connection, study.id, numbers, PARTS)
    closing = last_closing_step(connection, study.id, PARTS)
    if closing is not None and (not steps or closing.due_at >= steps[-1].due_at):
        steps.append(closing)
    return steps


def _points(study: Study, steps: Sequence[StepPart]) -> list[ConvergencePoint]:
    points: list[ConvergencePoint] = []
    for step in steps:
        hypervolume = step.parts["hypervolume"] or {}
        slow = step.parts["slow"] or {}
        point = ConvergencePoint(
            step=step.name,
            number=_number(study, step),
            at=iso(step.due_at),
            elapsed_s=max(step.due_at - study.created_at, 0.0),
            evaluated_full=step.inputs.settled,
            slow_evaluations=slow.get("evaluations"),
            slow_s=slow.get("seconds"),
            hypervolume=hypervolume.get("value"),
            front=hypervolume.get("front"),
            gain_per_slow_h=None,
        )
        if points:
            point.gain_per_slow_h = _gain_per_slow_h(points[-1], point)
        points.append(point)
    return points


def _number(study: Study, step: StepPart) -> int:
    """A closing step is numbered by the budget that it ends; here it follows the last
    search step.
    """
    return study.step + 1 if step.kind is StepKind.CLOSING else step.number


def _gain_per_slow_h(before: ConvergencePoint, after: ConvergencePoint) -> float | None:
    if before.hypervolume is None or after.hypervolume is None:
        return None
    if before.slow_s is None or after.slow_s is None or after.slow_s <= before.slow_s:
        return None
    hours = (after.slow_s - before.slow_s) / HOUR_S
    return (after.hypervolume - before.hypervolume) / hours


def _recent_gain(steps: Sequence[StepPart]) -> RecentGain | None:
    """From the first to the last of these steps."""
    known = [step for step in steps if step.parts["hypervolume"]]
    if len(known) < 2:
        return None
    first, last = known[0], known[-1]
    before = first.parts["hypervolume"]["value"]
    gain = last.parts["hypervolume"]["value"] - before
    return RecentGain(
        slow_evaluations=_difference(first, last, "evaluations"),
        slow_s=_difference(first, last, "seconds"),
        steps=len(known) - 1,
        gain=gain,
        share=gain / before if before > 0 else None,
    )


def _assessment(gain: RecentGain | None) -> Convergence:
    if gain is None:
        return Convergence.TOO_EARLY
    if gain.share is None and gain.gain > 0.0:
        return Convergence.IMPROVING
    return convergence_assessment(gain.share)


def _difference(first: StepPart, last: StepPart, name: str) -> Any:
    before, after = first.parts["slow"], last.parts["slow"]
    return after[name] - before[name] if before and after else None


def _last_hypervolume(steps: Sequence[StepPart]) -> dict[str, Any]:
    recorded = [step.parts["hypervolume"] for step in steps]
    known = [record for record in recorded if record]
    return known[-1] if known else {}


def _slow_run(study: Study, steps: Sequence[StepPart]) -> str | None:
    slow = steps[-1].parts["slow"] if steps else None
    return study.spec.output_names[slow["objective"]] if slow else None


def reference_point(
    study: Study, hypervolume: Mapping[str, Any]
) -> dict[str, float] | None:
    """That of a recorded hypervolume, in the user's directions."""
    if not hypervolume:
        return None
    objectives, values = study.spec.objectives, hypervolume["reference"]
    return {
        objective.name: objective.sign * value
        for objective, value in zip(objectives, values, strict=True)
    }


def describe_gain(assessment: Convergence, gain: RecentGain | None) -> str:
    if gain is None or assessment is Convergence.TOO_EARLY:
        return "There are too few steps to compare."
    if gain.slow_evaluations:
        took = f" ({format_span(gain.slow_s)})" if gain.slow_s else ""
        what = f"The last {_counted(gain.slow_evaluations, 'slow run')}{took}"
    else:
        what = f"The last {_counted(gain.steps, 'step')}"
    if gain.share is None:
        return f"{what} made all of the hypervolume."
    if gain.share < 0.0:  # an estimate, or samples of the front were excluded
        return f"{what} added nothing to the hypervolume."
    sentence = f"{what} added {_percent(100.0 * gain.share)} to the hypervolume"
    advice = {
        Convergence.STALLED: "; more of them are unlikely to pay.",
        Convergence.SLOWING: "; the gain per run is small now.",
    }
    return sentence + advice.get(assessment, ".")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 10.0 else f"{value:.2g} %"
