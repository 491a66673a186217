"""What has changed in a study after a prefix of its sequence."""

from sqlalchemy import Connection, select

from app.domain.samples import Sample
from app.store.records import sample_from_row
from app.store.sql.in_array import in_array
from app.store.studies.samples import SELECT_SAMPLES
from app.store.tables import exclusions, sample_values, samples


def full_samples_changed(
    connection: Connection, study: int, seq: int, most: int
) -> list[Sample] | None:
    """Full samples with values or failures after this prefix; None if there are more
    than `most` of these, or if a sample was excluded or restored: then all must be read.
    """
    v = sample_values.c
    values = (
        select(v.sample_id)
        .where(v.study_id == study, v.seq > seq)
        .order_by(v.seq)
        .limit(most + 1)
    )
    changed = list(connection.execute(values).scalars())
    e = exclusions.c
    moved = select(e.seq).where(e.study_id == study, e.seq > seq).limit(1)
    if len(changed) > most or connection.execute(moved).first() is not None:
        return None
    query = SELECT_SAMPLES.where(
        in_array(samples.c.id, "ids", sorted(set(changed))), samples.c.full
    )
    return [sample_from_row(row) for row in connection.execute(query)]
