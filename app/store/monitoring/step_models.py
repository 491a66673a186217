"""The models of each study's last search step."""

from sqlalchemy import Connection, delete, insert, select

from app.domain.planning.step_models import PredictingStep, StepModels
from app.store.tables import step_models, steps


def replace_step_models(
    connection: Connection, study: int, step: int, models: StepModels
) -> None:
    """In the transaction that commits the step, which has locked the study."""
    connection.execute(delete(step_models).where(step_models.c.study_id == study))
    row = {
        "study_id": study,
        "step_id": step,
        "arrays": models.arrays,
        "front": models.front,
    }
    connection.execute(insert(step_models).values(row))


def predicting_step(connection: Connection, study: int) -> PredictingStep | None:
    """None before the first search step."""
    query = (
        select(step_models.c.step_id, steps.c.number, step_models.c.front)
        .join(steps, steps.c.id == step_models.c.step_id)
        .where(step_models.c.study_id == study)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else PredictingStep(row.step_id, row.number, row.front)


def arrays_of_step(connection: Connection, step: int) -> bytes | None:
    """None if a later step has replaced them."""
    query = select(step_models.c.arrays).where(step_models.c.step_id == step)
    arrays: bytes | None = connection.execute(query).scalar_one_or_none()
    return arrays
