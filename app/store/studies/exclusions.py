"""Samples that an engineer has excluded from front and models: a log in the order of
the study's sequence, and the present state on the sample.
"""

from sqlalchemy import Connection, insert, select, update

from app.store.tables import exclusions, samples


def is_excluded(connection: Connection, study: int, sample: int) -> bool | None:
    """None if the study has no such sample."""
    query = select(samples.c.excluded).where(
        samples.c.study_id == study, samples.c.id == sample
    )
    excluded: bool | None = connection.execute(query).scalar_one_or_none()
    return excluded


def record_exclusion(
    connection: Connection, study: int, seq: int, sample: int, excluded: bool
) -> None:
    row = {"study_id": study, "seq": seq, "sample_id": sample, "excluded": excluded}
    connection.execute(insert(exclusions).values(row))
    connection.execute(
        update(samples).where(samples.c.id == sample).values(excluded=excluded)
    )


def excluded_until(connection: Connection, study: int, seq: int) -> set[int]:
    """The samples that are excluded after a prefix of the study's sequence."""
    query = (
        select(exclusions.c.sample_id, exclusions.c.excluded)
        .where(exclusions.c.study_id == study, exclusions.c.seq <= seq)
        .order_by(exclusions.c.seq)
    )
    state = {row.sample_id: row.excluded for row in connection.execute(query)}
    return {sample for sample, is_out in state.items() if is_out}
