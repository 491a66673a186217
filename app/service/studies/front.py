"""The front: the nondominated of all full samples that have all values and keep all
limits.
"""

from collections.abc import Iterator, Sequence

from app.domain.studies import Study
from app.service.studies.feasibility import NO_FEASIBLE_DETAIL, least_violating
from app.service.studies.lifecycle import require_study
from app.service.studies.listings import sample_views
from app.store.database import Connection, Database
from app.store.studies.samples import page_of_samples
from counterpoise.wire.codes import FrontCode
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import FrontItem, FrontView, SampleView

FRONT_PAGE = 10_000


def front(database: Database, name: str) -> list[FrontItem]:
    return front_view(database, name).items


def front_view(database: Database, name: str) -> FrontView:
    """The front; without a feasible sample the reason, and the least violating ones."""
    best: list[SampleView] = []
    others: list[SampleView] = []  # as long as there is no feasible one
    with database.read() as connection:
        study = require_study(connection, name)
        for samples in _full_samples(connection, study):
            best = _nondominated(study.spec, best + samples)
            others = [] if best else others + _breaking(samples)
    if best:
        items = [
            FrontItem(sample=view.sample, step=view.step, x=view.x, values=view.values)
            for view in best
        ]
        return FrontView(items=items, next=None)
    if not others:
        detail = "no full sample has all its values yet"
        return FrontView(items=[], next=None, code=FrontCode.NO_SAMPLE, detail=detail)
    return FrontView(
        items=[],
        next=None,
        code=FrontCode.NO_FEASIBLE_SAMPLE,
        detail=NO_FEASIBLE_DETAIL,
        least_violating=least_violating(study.spec, others),
    )


def _full_samples(connection: Connection, study: Study) -> Iterator[list[SampleView]]:
    after = 0
    while samples := page_of_samples(
        connection, study.id, after, FRONT_PAGE, full=True
    ):
        yield sample_views(connection, study, samples)
        after = samples[-1].id


def _breaking(samples: Sequence[SampleView]) -> list[SampleView]:
    return [
        sample for sample in samples if sample.broken_limits and not sample.excluded
    ]


def _nondominated(
    spec: Specification, samples: Sequence[SampleView]
) -> list[SampleView]:
    complete = [
        sample
        for sample in samples
        if len(sample.values) == len(spec.outputs)
        and not sample.broken_limits
        and not sample.excluded
    ]
    if not complete:
        return []
    # Imported here: a server starts faster without numerical libraries, and mostly
    # needs none.
    import moocore
    import numpy as np

    columns = []
    for objective in spec.objectives:
        sign = -1.0 if objective.direction == "maximize" else 1.0
        values = [sample.values[objective.name] for sample in complete]
        columns.append(sign * np.array(values))
    F = np.column_stack(columns)  # (n, m)
    is_best = moocore.is_nondominated(F, keep_weakly=True)
    return [
        sample for sample, is_kept in zip(complete, is_best, strict=True) if is_kept
    ]
