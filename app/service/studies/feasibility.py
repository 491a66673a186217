"""Whether a study has found a feasible sample, and which samples come nearest to one."""

from collections.abc import Sequence

from app.domain.steps import Step
from app.domain.studies import Study
from counterpoise.wire.codes import HealthCode, StepKind
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import HealthItem, NearlyFeasible, SampleView

MOST_SHOWN = 10
NO_FEASIBLE_DETAIL = (
    "no full sample has all its values and keeps all limits; those that break them least are listed;"
    " if none comes near, check the limits and their units"
)


def feasible_count(last_steps: Sequence[Step]) -> int | None:
    """Complete samples that kept all limits at the last step; None before the first."""
    return last_steps[0].feasible if last_steps else None


def feasibility_items(study: Study, last_steps: Sequence[Step]) -> list[HealthItem]:
    if feasible_count(last_steps) != 0:
        return []
    step = last_steps[0]
    name = step.name(study.spec.output_names)
    has_ended = step.kind is StepKind.CLOSING
    when = "when the study ended" if has_ended else f"at step {name}"
    if study.spec.is_limited:
        detail = (
            f"{when} no full sample had all its values and kept all limits;"
            f" `counterpoise study front {study.name}` lists those that break them least"
        )
        remedy = "check the limits, or extend the study"
    else:
        detail = (
            f"{when} no full sample had all its values:"
            " a run of each has failed, or found it infeasible"
        )
        remedy = "retry what has failed, or extend the study"
    if has_ended:
        detail += f"; {remedy}"
    return [HealthItem(code=HealthCode.NO_FEASIBLE_SAMPLE, detail=detail, step=name)]


def least_violating(
    spec: Specification, samples: Sequence[SampleView]
) -> list[NearlyFeasible]:
    """Of full samples that break limits, those with the smallest violation; values that
    are not known count as feasible.
    """
    broken = [sample for sample in samples if sample.broken_limits]
    ranges = {name: _range(name, samples) for name in spec.output_names}
    nearest = [_nearly_feasible(spec, sample, ranges) for sample in broken]
    nearest.sort(key=lambda item: (item.violation, item.sample))
    return nearest[:MOST_SHOWN]


def _nearly_feasible(
    spec: Specification, sample: SampleView, ranges: dict[str, float]
) -> NearlyFeasible:
    violation = 0.0
    for output in spec.outputs:
        if output.name in sample.broken_limits:
            excess = output.excess(sample.values[output.name])
            violation += excess / (ranges[output.name] or 1.0)
    return NearlyFeasible(
        sample=sample.sample,
        step=sample.step,
        x=sample.x,
        values=sample.values,
        violation=violation,
        broken_limits=sample.broken_limits,
    )


def _range(name: str, samples: Sequence[SampleView]) -> float:
    values = [sample.values[name] for sample in samples if name in sample.values]
    return max(values) - min(values) if values else 0.0
