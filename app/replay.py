"""The command `replay`: computes steps again and compares them with what is stored."""

from collections.abc import Callable
from contextlib import closing

from app.service.planning.replay import Replayed
from app.service.planning.replay import replay as replay_steps
from app.settings import Settings
from app.store.database import open_existing
from app.store.upgrade import require_head


def replay(
    settings: Settings,
    *,
    study: str,
    step: str | None,
    report: Callable[[Replayed], None],
) -> bool:
    """Report how a step (None: every finished step) compares; True if all are equal."""
    with closing(open_existing(settings.database_url)) as database:
        require_head(database)
        all_equal = True
        for result in replay_steps(database, study, step):
            report(result)
            all_equal = all_equal and result.equal
        return all_equal
