"""The front: the nondominated of all full samples that have all values and keep all
limits.
"""

from collections.abc import Iterator, Sequence

from app.domain.studies import Study
from app.service.studies.feasibility import NO_FEASIBLE_DETAIL, least_violating
from app.service.studies.kept_fronts import KeptFront, kept_fronts
from app.service.studies.lifecycle import require_study
from app.service.studies.listings import sample_views
from app.store.database import Connection, Database
from app.store.studies.changes import full_samples_changed
from app.store.studies.samples import page_of_samples
from counterpoise.wire.codes import FrontCode
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import FrontItem, FrontView, SampleView

FRONT_PAGE = 10_000
# With more values since the kept front it is computed anew
MOST_CHANGES = 10_000


def front(database: Database, name: str) -> list[FrontItem]:
    return front_view(database, name).items


def front_view(database: Database, name: str) -> FrontView:
    """The front; without a feasible sample the reason, and the least violating ones."""
    others: list[SampleView] = []
    with database.read() as connection:
        study = require_study(connection, name)
        kept = kept_fronts(database)
        best = _best(connection, study, kept.get(study.id))
        kept.put(study.id, KeptFront(study.sequence, best))
        if not best:
            for samples in _full_samples(connection, study):
                others += _breaking(samples)
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


def _best(
    connection: Connection, study: Study, kept: KeptFront | None
) -> list[SampleView]:
    """The front; what is kept of an earlier one saves reading all samples again."""
    if kept is not None and kept.sequence == study.sequence:
        return kept.best
    changed = None
    if kept is not None:
        changed = full_samples_changed(
            connection, study.id, kept.sequence, MOST_CHANGES
        )
    if kept is None or changed is None:
        best: list[SampleView] = []
        for samples in _full_samples(connection, study):
            best = _nondominated(study.spec, best + samples)
        return best
    new = {sample.id for sample in changed}
    others = [view for view in kept.best if view.sample not in new]
    return _nondominated(study.spec, others + sample_views(connection, study, changed))


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
