"""The data that the dashboard draws; any program can read them."""

import re
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BeforeValidator

from app.api.dependencies import DatabaseDep, StudyName
from app.api.paging import PageRequestDep, to_page
from app.api.security.access import READERS
from app.service.models import model_quality, predictions
from app.service.models.prediction_process import PredictionProcess
from app.service.monitoring import (
    balance,
    convergence,
    overview,
    speeds,
    timeline,
)
from app.service.monitoring.timeline import TimelineRequest
from counterpoise.wire.monitoring.balance import BalanceView
from counterpoise.wire.monitoring.convergence import ConvergenceView
from counterpoise.wire.monitoring.models import ModelsView
from counterpoise.wire.monitoring.overview import StudyOverview
from counterpoise.wire.monitoring.predictions import PredictionPoints, PredictionsView
from counterpoise.wire.monitoring.speeds import SpeedsView
from counterpoise.wire.monitoring.timeline import Timeline
from counterpoise.wire.views import Page

router = APIRouter(tags=["monitoring"], dependencies=READERS)
LONGEST_CURSOR = 30_000
MostSteps = Annotated[
    int,
    Query(
        ge=2,
        le=2000,
        description="the largest number of steps to return, evenly spread over the study",
    ),
]


@router.get("/overview", summary="Studies with health, expected end and progress")
def get_overview(database: DatabaseDep, page: PageRequestDep) -> Page[StudyOverview]:
    """Oldest first. Request few at a time: each study costs several queries."""
    return to_page(overview.overview(database, page.after, page.limit), page)


@router.get(
    "/studies/{name}/overview",
    summary="One study with health, expected end and progress",
)
def get_study_overview(name: StudyName, database: DatabaseDep) -> StudyOverview:
    """Health, expected end and the recent hypervolume of one study."""
    return overview.overview_of(database, name)


def _iso_8601(text: object) -> object:
    """Refuse plain numbers, which would be seconds since 1970."""
    if isinstance(text, str) and not re.match(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError("must be a time such as 2026-05-01T12:00:00Z")
    return text


Moment = Annotated[datetime, BeforeValidator(_iso_8601)]


async def get_timeline_request(
    start: Annotated[
        Moment | None,
        Query(alias="from", description="ISO 8601; by default the study's beginning"),
    ] = None,
    end: Annotated[
        Moment | None, Query(alias="to", description="ISO 8601; by default now")
    ] = None,
    latest: Annotated[
        int | None,
        Query(
            ge=1,
            le=20_000,
            description="without `from`: begin with the first of this number of attempts before the end",
        ),
    ] = None,
    resolution_s: Annotated[
        float | None,
        Query(
            ge=0,
            le=1e9,
            allow_inf_nan=False,
            description="merge ended attempts that are shorter than this and follow each other;"
            " 0: none; by default a thousandth of the range, up to the study's end",
        ),
    ] = None,
    limit: Annotated[
        int, Query(ge=1, le=20_000, description="attempts to read for one page")
    ] = 5000,
    cursor: Annotated[
        str | None,
        Query(max_length=LONGEST_CURSOR, description="`next` of the previous page"),
    ] = None,
) -> TimelineRequest:
    return TimelineRequest(
        start=None if start is None else start.timestamp(),
        end=None if end is None else end.timestamp(),
        latest=latest,
        resolution_s=resolution_s,
        limit=limit,
        cursor=cursor,
    )


@router.get(
    "/studies/{name}/timeline", summary="What the slots of the workers did, and when"
)
def get_timeline(
    name: StudyName,
    database: DatabaseDep,
    request: Annotated[TimelineRequest, Depends(get_timeline_request)],
) -> Timeline:
    """Attempts by worker slot, bursts of short ones as one item; how busy slots were;
    how many jobs wait, and why.
    """
    return timeline.timeline(database, name, request)


@router.get("/studies/{name}/speeds", summary="Which worker is slow")
def get_speeds(name: StudyName, database: DatabaseDep) -> SpeedsView:
    """The median time of each worker at each run, compared with the other workers."""
    return speeds.worker_speeds(database, name)


@router.get(
    "/studies/{name}/convergence", summary="Hypervolume over steps, time and slow runs"
)
def get_convergence(
    name: StudyName, database: DatabaseDep, points: MostSteps = 200
) -> ConvergenceView:
    """Is it still worth the money? An assessment, a sentence and the points of the chart."""
    return convergence.convergence(database, name, points)


@router.get("/studies/{name}/models", summary="How well the models predict")
def get_models(
    name: StudyName, database: DatabaseDep, points: MostSteps = 100
) -> ModelsView:
    """Skill and calibration over steps; predictions against values that came later."""
    return model_quality.model_quality(database, name, points)


@router.get("/studies/{name}/balance", summary="Cheap-only against full samples")
def get_balance(
    name: StudyName, database: DatabaseDep, points: MostSteps = 100
) -> BalanceView:
    """By objective in all, and by objective and step with sources and penalties."""
    return balance.balance(database, name, points)


@router.get("/studies/{name}/predictions", summary="The predicted front")
def get_predictions(name: StudyName, database: DatabaseDep) -> PredictionsView:
    """What the models of the last search step expect of the points that it found."""
    return predictions.predicted_front(database, name)


@router.post("/studies/{name}/predictions", summary="Predict values at points")
def post_predictions(
    name: StudyName, body: PredictionPoints, request: Request, database: DatabaseDep
) -> PredictionsView:
    """Mean and deviation of each objective by the models of the last search step.

    Changes nothing; the points are in the body because they may be many.
    """
    process: PredictionProcess = request.app.state.prediction_process
    return predictions.predict(database, process, name, body.points)
