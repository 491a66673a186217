"""The front: the nondominated of all full samples that have all values and keep all
limits.
"""

from collections.abc import Mapping
from itertools import compress

from app.domain.studies import Study
from app.service.require_study import require_study
from app.service.studies.feasibility import NO_FEASIBLE_DETAIL, least_violating
from app.service.studies.kept_fronts import KeptFront, kept_fronts
from app.service.studies.listings import sample_views
from app.store.database import Connection, Database
from app.store.studies.changes import full_samples_changed
from app.store.studies.evaluations import page_of_full_values
from app.store.studies.samples import page_of_samples, samples_by_id
from counterpoise.wire.codes import FrontCode
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import FrontItem, FrontView, NearlyFeasible, SampleView

FRONT_PAGE = 10_000
# With more values since the kept front it is computed anew
MOST_CHANGES = 10_000


def front(database: Database, name: str) -> list[FrontItem]:
    return front_view(database, name).items


def front_view(database: Database, name: str) -> FrontView:
    """The front; without a feasible sample the reason, and the least violating ones."""
    with database.read() as connection:
        study = require_study(connection, name)
        fronts = kept_fronts(database)
        front = _front(connection, study, fronts.get(study.id))
        fronts.put(study.id, front)
    if front.best:
        items = [
            FrontItem(sample=view.sample, step=view.step, x=view.x, values=view.values)
            for view in front.best
        ]
        return FrontView(items=items, next=None)
    if not front.nearest:
        detail = "no full sample that is not excluded has all its values yet"
        return FrontView(items=[], next=None, code=FrontCode.NO_SAMPLE, detail=detail)
    return FrontView(
        items=[],
        next=None,
        code=FrontCode.NO_FEASIBLE_SAMPLE,
        detail=NO_FEASIBLE_DETAIL,
        least_violating=front.nearest,
    )


def _front(connection: Connection, study: Study, kept: KeptFront | None) -> KeptFront:
    if kept is not None and kept.sequence == study.sequence:
        return kept
    best = _best(connection, study, kept)
    nearest = [] if best else _nearest(connection, study)
    return KeptFront(study.sequence, best, nearest)


def _best(
    connection: Connection, study: Study, kept: KeptFront | None
) -> list[SampleView]:
    """The front; what is kept of an earlier one saves reading all samples again."""
    changed = None
    if kept is not None:
        changed = full_samples_changed(
            connection, study.id, kept.sequence, MOST_CHANGES
        )
    if kept is None or changed is None:
        return _best_of_all(connection, study)
    new = {sample.id for sample in changed}
    views = [view for view in kept.best if view.sample not in new]
    views += sample_views(connection, study, changed)
    values = {view.sample: view.values for view in views if not view.excluded}
    best = _nondominated(study.spec, values)
    return [view for view in views if view.sample in best]


def _best_of_all(connection: Connection, study: Study) -> list[SampleView]:
    """Compared by their values alone, page by page: views of many samples take long."""
    best: dict[int, Mapping[str, float]] = {}
    after = 0
    while page := page_of_full_values(connection, study.id, after, FRONT_PAGE):
        best = _nondominated(study.spec, best | page)
        after = max(page)
    return sample_views(connection, study, samples_by_id(connection, best))


def _nearest(connection: Connection, study: Study) -> list[NearlyFeasible]:
    """The samples that break the limits least."""
    breaking: list[SampleView] = []
    after = 0
    while samples := page_of_samples(
        connection, study.id, after, FRONT_PAGE, full=True
    ):
        views = sample_views(connection, study, samples)
        breaking += [view for view in views if view.broken_limits and not view.excluded]
        after = samples[-1].id
    return least_violating(study.spec, breaking)


def _nondominated(
    spec: Specification, values: Mapping[int, Mapping[str, float]]
) -> dict[int, Mapping[str, float]]:
    """Of these samples, those of the front: sample -> values by output."""
    complete = {
        sample: own
        for sample, own in values.items()
        if len(own) == len(spec.outputs) and not spec.broken_limits(own)
    }
    if not complete:
        return {}
    # Imported here: a server starts faster without numerical libraries, and mostly
    # needs none.
    import moocore
    import numpy as np

    columns = []
    for objective in spec.objectives:
        column = [own[objective.name] for own in complete.values()]
        columns.append(objective.sign * np.array(column))
    F = np.column_stack(columns)  # (n, m)
    is_best = moocore.is_nondominated(F, keep_weakly=True)
    return dict(compress(complete.items(), is_best))
