"""What is worth knowing about a study's evaluation times, although nothing is wrong."""

from collections.abc import Iterator

from counterpoise.wire.text import format_span
from counterpoise.wire.views import OutputView, StudyView

FACTOR = 3.0  # between declared and measured times


def remarks(study: StudyView) -> list[str]:
    return [*_declared_times(study), *_cut_ratios(study)]


def _declared_times(study: StudyView) -> Iterator[str]:
    declared = {
        output["name"]: output.get("evaluation_time_s")
        for kind in ("objectives", "constraints")
        for output in study.spec.get(kind, [])
    }
    for view in _measured(study):
        expected, measured = declared.get(view.name), view.median_duration_s or 0.0
        if expected and not expected / FACTOR <= measured <= expected * FACTOR:
            yield (
                f"{view.name}: an evaluation takes {format_span(measured)}, declared"
                f" are {format_span(expected)}; ratios follow what is declared"
            )


def _cut_ratios(study: StudyView) -> Iterator[str]:
    most = float(study.spec.get("max_ratio") or 0.0)
    measured = _measured(study)
    slowest = max((view.median_duration_s or 0.0 for view in measured), default=0.0)
    for view in measured:
        own = view.median_duration_s or 0.0
        if most and own and slowest / own > most and view.ratio >= int(most):
            yield (
                f"{view.name}: its ratio is cut to {view.ratio:g} by max_ratio; by the"
                f" measured times it is {slowest / own:,.0f}"
            )


def _measured(study: StudyView) -> list[OutputView]:
    """Runs of which enough were measured for quartiles."""
    return [view for view in study.outputs if view.duration_quartiles_s is not None]
