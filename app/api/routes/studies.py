"""What engineers call: studies, and what is in them."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Query, Response

from app.api.access import READ, WORKER, Allow
from app.api.dependencies import TheDatabase, ThePage, TheSettings, Window
from app.api.openapi import body, reference
from app.service.studies import lifecycle as studies
from app.service.studies import listings as lists
from app.service.studies import progress
from app.service.studies.explain_job import explain_job
from counterpoise.wire.codes import JobState
from counterpoise.wire.specification import EXAMPLE, NAME_RULE, Specification, parse_specification
from counterpoise.wire.views import (
    Extend,
    FrontItem,
    JobStory,
    JobView,
    Page,
    Retried,
    Retry,
    SampleView,
    StepView,
    Stop,
    StudySummary,
    StudyView,
)

router = APIRouter(tags=["studies"])
READERS = [Depends(Allow(READ))]
ADMINS = [Depends(Allow())]
# No database can look for a NUL.
Name = Annotated[str, Path(description=NAME_RULE, max_length=100, pattern=r"^[^\x00]*$", examples=["wing"])]
Item = TypeVar("Item")


def page(rows: Sequence[tuple[int, Item]], window: Window) -> Page[Item]:
    full = len(rows) == window.limit
    return Page(items=[item for _, item in rows], next=str(rows[-1][0]) if full else None)


@router.post(
    "/studies",
    status_code=201,
    summary="Create a study",
    dependencies=ADMINS,
    responses={200: {"model": StudyView, "description": "The same study is there already"}},
    openapi_extra=body(reference(Specification), EXAMPLE),
)
def post_study(
    said: Annotated[Any, Body()],
    response: Response,
    database: TheDatabase,
    settings: TheSettings,
    paused: Annotated[bool, Query(description="begin nothing before `resume`, so that it can be filled first")] = False,
) -> StudyView:
    """The same specification again is answered with 200; another one of the same name with 409."""
    spec = parse_specification(said)
    if not studies.create(database, spec, settings.lease_s, paused=paused):
        response.status_code = 200
    return progress.study_view(database, spec.name)


@router.get("/studies", summary="List studies", dependencies=READERS)
def get_studies(database: TheDatabase, window: ThePage) -> Page[StudySummary]:
    """The oldest first. `next` of an answer, given as `cursor`, leads to the page after it."""
    return page(progress.list_studies(database, window.after, window.limit), window)


@router.get("/studies/{name}", summary="Progress and health of a study", dependencies=[Depends(Allow(READ, WORKER))])
def get_study(name: Name, database: TheDatabase) -> StudyView:
    """Counts by objective, the hypervolume, and in `health` what needs attention, in plain words."""
    return progress.study_view(database, name)


@router.delete("/studies/{name}", status_code=204, summary="Delete a study and all its data", dependencies=ADMINS)
def delete_study(
    name: Name,
    database: TheDatabase,
    force: Annotated[bool, Query(description="even if workers hold jobs; their values are lost")] = False,
) -> None:
    """There is no way back. Refused while workers hold jobs of it, unless forced."""
    studies.delete(database, name, force=force)


@router.get("/studies/{name}/samples", summary="Samples with their values", dependencies=READERS)
def get_samples(
    name: Name,
    database: TheDatabase,
    window: ThePage,
    full: Annotated[
        bool | None, Query(description="true: only those wanted on all objectives; false: only cheap-only ones")
    ] = None,
) -> Page[SampleView]:
    """Values in the user's units and directions, as far as they are known; failures by objective."""
    return page(lists.list_samples(database, name, window.after, window.limit, full), window)


@router.get("/studies/{name}/jobs", summary="Jobs", dependencies=READERS)
def get_jobs(
    name: Name,
    database: TheDatabase,
    window: ThePage,
    objective: Annotated[str | None, Query(max_length=100, description="only this objective's")] = None,
    state: Annotated[JobState | None, Query(description="only those in this state")] = None,
) -> Page[JobView]:
    """One objective of one sample each, the oldest first."""
    return page(lists.list_jobs(database, name, window.after, window.limit, objective, state), window)


@router.get("/jobs/{job}", summary="Why a job is where it is", tags=["jobs"], dependencies=READERS)
def get_job(
    job: Annotated[int, Path(ge=1, le=2**53, description="as /ask or a list of jobs answered it", examples=[17])],
    database: TheDatabase,
) -> JobStory:
    """What happened to it, who had it, and what it waits for, in plain words."""
    return explain_job(database, job)


@router.get("/studies/{name}/steps", summary="Steps with their diagnostics", dependencies=READERS)
def get_steps(name: Name, database: TheDatabase, window: ThePage) -> Page[StepView]:
    """Those that are due, too. `record` holds what a replay needs."""
    return page(lists.list_steps(database, name, window.after, window.limit), window)


@router.get("/studies/{name}/front", summary="The nondominated full samples", dependencies=READERS)
def get_front(name: Name, database: TheDatabase) -> Page[FrontItem]:
    """All of it, in the user's units and directions."""
    return Page(items=lists.front(database, name), next=None)


@router.post("/studies/{name}/pause", summary="No new leases and steps", dependencies=ADMINS)
def post_pause(name: Name, database: TheDatabase) -> StudyView:
    """What runs goes on, and its values are taken."""
    studies.pause(database, name)
    return progress.study_view(database, name)


@router.post("/studies/{name}/resume", summary="Go on", dependencies=ADMINS)
def post_resume(name: Name, database: TheDatabase) -> StudyView:
    """Ends a pause; of a study that is not paused, nothing changes."""
    studies.resume(database, name)
    return progress.study_view(database, name)


@router.post("/studies/{name}/stop", summary="Finish now", dependencies=ADMINS)
def post_stop(name: Name, database: TheDatabase, how: Stop | None = None) -> StudyView:
    """Ready jobs are superseded; running ones may finish, or are advised to cancel."""
    studies.stop(database, name, cancel_running=how.cancel_running if how else False)
    return progress.study_view(database, name)


@router.post("/studies/{name}/extend", summary="Raise the budget", dependencies=ADMINS)
def post_extend(name: Name, wish: Extend, database: TheDatabase) -> StudyView:
    """Reopens a finished study."""
    studies.extend(database, name, wish.budget)
    return progress.study_view(database, name)


@router.post("/studies/{name}/retry", summary="Run failed jobs again", dependencies=ADMINS)
def post_retry(name: Name, database: TheDatabase, which: Retry | None = None) -> Retried:
    """They are ready again, as if never tried; of a finished study, too."""
    return Retried(jobs=studies.retry(database, name, which.objectives if which else None))
