"""The other jobs of a sample, after a result of one of its runs."""

from itertools import chain

from app.domain.studies import CoObjectives
from app.domain.work.changes import ChangeSet
from app.domain.work.sample_rules import (
    change_other_jobs,
    find_still_ruled_out,
    samples_with_affected_jobs,
)
from app.store.database import Connection
from app.store.studies.evaluations import evaluations_of
from app.store.studies.points import jobs_of_samples
from app.store.work.row_locks import lock_free_jobs_of_samples


def add_changes_of_other_jobs(
    connection: Connection, changes: ChangeSet, co_objectives: CoObjectives
) -> None:
    """Withdraw the jobs of samples that are ruled out, and make jobs ready that waited
    for these results. One query, and mostly none.
    """
    keep_ruled_out(connection, changes, co_objectives)
    affected = samples_with_affected_jobs(changes)
    if affected:
        others = lock_free_jobs_of_samples(connection, sorted(affected))
        change_other_jobs(changes, others, co_objectives)


def keep_ruled_out(
    connection: Connection, changes: ChangeSet, co_objectives: CoObjectives
) -> None:
    """A sample that leaves an infeasible result stays infeasible if another result rules
    it out. Two queries, and mostly none.
    """
    samples = changes.samples_leaving_infeasible
    if not samples:
        return
    results = evaluations_of(connection, samples)
    by_sample = jobs_of_samples(connection, sorted(samples), lock=False)
    changes.still_ruled_out = find_still_ruled_out(
        changes, results, chain.from_iterable(by_sample.values()), co_objectives
    )
