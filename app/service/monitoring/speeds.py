"""Which workers of a study are slow, from the latest attempts of each run."""

from app.domain.monitoring.speeds import Speed, speeds
from app.service.require_study import require_study
from app.store.database import Database
from app.store.monitoring.attempts import latest_attempts, names_of_workers
from app.store.studies.studies import objectives_of
from counterpoise.wire.monitoring.speeds import SpeedsView, WorkerSpeed

CONSIDERED = 1000  # attempts of each run


def worker_speeds(database: Database, name: str) -> SpeedsView:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        runs = {run.id: run.name for run in objectives if run.has_jobs}
        attempts = latest_attempts(connection, list(runs), CONSIDERED)
        found = speeds(attempts)
        workers = names_of_workers(connection, {speed.worker for speed in found})
    items = [
        _view(speed, workers[speed.worker], runs[speed.objective]) for speed in found
    ]
    return SpeedsView(study=study.name, considered=CONSIDERED, items=items)


def _view(speed: Speed, worker: str, run: str) -> WorkerSpeed:
    return WorkerSpeed(
        worker=worker,
        objective=run,
        done=speed.done,
        failed=speed.failed,
        median_s=speed.median_s,
        pace=speed.pace,
        slow=speed.is_slow,
    )
