"""Points that an engineer requests, and samples that an engineer excludes."""

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import DatabaseDep, StudyName
from app.api.security.access import ADMINS
from app.service.studies.evaluate_point import evaluate_point
from app.service.studies.exclude_sample import exclude_sample
from counterpoise.wire.points import EvaluatedPoint, EvaluatePoint, Exclusion

router = APIRouter(tags=["studies"], dependencies=ADMINS)
SampleNumber = Annotated[
    int, Path(ge=1, le=2**53, description="its number, from a list", examples=[61])
]


@router.post(
    "/studies/{name}/samples", status_code=201, summary="Evaluate a point of your own"
)
def post_sample(
    name: StudyName, body: EvaluatePoint, database: DatabaseDep
) -> EvaluatedPoint:
    """A full sample that counts towards the budget, unless it is partial or requested
    outside the budget.

    Its jobs come before cheap-only ones. 409 if a sample has this point already.
    """
    return evaluate_point(database, name, body)


@router.post(
    "/studies/{name}/samples/{sample}/exclude",
    summary="Leave a sample out of front and models",
)
def post_exclude(
    name: StudyName, sample: SampleNumber, database: DatabaseDep
) -> Exclusion:
    """Its values stay stored; steps that become due from now on do not read them."""
    return exclude_sample(database, name, sample, excluded=True)


@router.post(
    "/studies/{name}/samples/{sample}/restore",
    summary="Use an excluded sample again",
)
def post_restore(
    name: StudyName, sample: SampleNumber, database: DatabaseDep
) -> Exclusion:
    """Steps that become due from now on read its values again."""
    return exclude_sample(database, name, sample, excluded=False)
