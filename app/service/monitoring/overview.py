"""The list of studies with a summary of each, in a constant number of queries per
study.
"""

from app.domain.studies import Study
from app.errors import StudyUnknown
from app.service.monitoring.convergence import hypervolume_line
from app.service.require_study import require_study
from app.service.studies.progress import study_view
from app.service.work.workers import live_worker_views
from app.store.database import Database
from app.store.studies.studies import page_of_studies
from counterpoise.eta import eta
from counterpoise.wire.monitoring.overview import EtaView, StudyOverview
from counterpoise.wire.views import StudySummary, WorkerView

LINE = 24


def overview(
    database: Database, after: int, limit: int
) -> list[tuple[int, StudyOverview]]:
    workers = live_worker_views(database)
    with database.read() as connection:
        studies = page_of_studies(connection, after, limit)
    found = []
    for study in studies:
        try:
            found.append((study.id, _overview(database, study, workers)))
        except StudyUnknown:  # deleted meanwhile
            continue
    return found


def overview_of(database: Database, name: str) -> StudyOverview:
    """The summary of one study."""
    with database.read() as connection:
        study = require_study(connection, name)
    return _overview(database, study, live_worker_views(database))


def _overview(
    database: Database, study: Study, workers: list[WorkerView]
) -> StudyOverview:
    view = study_view(database, study.name)
    with database.read() as connection:
        line, front = hypervolume_line(connection, study, LINE)
    expected = eta(view, workers)
    return StudyOverview(
        **view.model_dump(include=set(StudySummary.model_fields)),
        health=view.health,
        eta=EtaView(
            low_s=expected.low_s, high_s=expected.high_s, unknown=expected.unknown
        ),
        hypervolume=line,
        front=front,
    )
