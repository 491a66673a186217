"""The other jobs of a sample, after a result of one of its runs."""

from app.domain.studies import CoObjectives
from app.domain.work.changes import ChangeSet
from app.domain.work.sample_rules import change_other_jobs, samples_with_affected_jobs
from app.store.database import Connection
from app.store.work.row_locks import lock_jobs_not_held_of


def add_changes_of_other_jobs(
    connection: Connection, changes: ChangeSet, co_objectives: CoObjectives
) -> None:
    """Withdraw the jobs of samples that are ruled out, and make jobs ready that waited
    for these results. One query, and mostly none.
    """
    affected = samples_with_affected_jobs(changes)
    if affected:
        others = lock_jobs_not_held_of(connection, sorted(affected))
        change_other_jobs(changes, others, co_objectives)
