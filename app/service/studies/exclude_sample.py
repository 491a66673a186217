"""Exclude a sample from front and models, and restore it."""

from app.domain.work.changes import ChangeSet, Event
from app.errors import SampleUnknown
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.studies.exclusions import is_excluded, record_exclusion
from app.store.work.apply_changes import apply
from counterpoise.wire.codes import EventKind
from counterpoise.wire.points import Exclusion


def exclude_sample(
    database: Database, name: str, sample: int, *, excluded: bool
) -> Exclusion:
    """Steps that become due from now on leave its values out, or use them again.

    Its point stays taken, its jobs go on, and its place in the budget stays used.
    """
    database.write(_exclude, name, sample, excluded)
    return Exclusion(sample=sample, excluded=excluded)


def _exclude(connection: Connection, name: str, sample: int, excluded: bool) -> None:
    study = require_study(connection, name, lock=True)
    before = is_excluded(connection, study.id, sample)
    if before is None:
        raise SampleUnknown(
            f"study {name!r} has no sample {sample}; its samples are listed at /studies/{name}/samples"
        )
    if before == excluded:
        return
    record_exclusion(connection, study.id, study.sequence + 1, sample, excluded)
    kind = EventKind.EXCLUDED if excluded else EventKind.RESTORED
    apply(connection, study, ChangeSet(events=[Event(kind, {"sample": sample})]))
