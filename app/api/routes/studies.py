"""Routes for engineers: studies and their contents."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Response

from app.api.dependencies import DatabaseDep, SettingsDep, StudyName
from app.api.openapi.document import json_body, schema_reference
from app.api.paging import PageRequestDep, to_page
from app.api.security.access import (
    ADMINS,
    READERS,
    WORKERS_AND_READERS,
    require_access_to,
)
from app.service.models.prediction_process import PredictionProcess
from app.service.models.predictions import with_estimates
from app.service.studies import lifecycle, listings, progress
from app.service.studies.explain_job import explain_job
from app.service.studies.front import front_view
from app.service.work.cancel import cancel_job
from counterpoise.wire.codes import JobState
from counterpoise.wire.specification import EXAMPLE, Specification, parse_specification
from counterpoise.wire.views import (
    CancelJob,
    CancelledJob,
    Extend,
    FrontView,
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
JobNumber = Annotated[
    int,
    Path(
        ge=1,
        le=2**53,
        description="its number, from /ask or a list of jobs",
        examples=[17],
    ),
]


@router.post(
    "/studies",
    status_code=201,
    summary="Create a study",
    dependencies=ADMINS,
    responses={
        200: {"model": StudyView, "description": "The same study exists already"}
    },
    openapi_extra=json_body(schema_reference(Specification), EXAMPLE),
)
def post_study(
    body: Annotated[Any, Body()],
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    paused: Annotated[
        bool,
        Query(
            description="plan nothing before `resume`, so that data can be imported first"
        ),
    ] = False,
) -> StudyView:
    """The same specification again gives 200; another specification with the same name
    gives 409.
    """
    spec = parse_specification(body)
    if not lifecycle.create(database, spec, settings.lease_s, paused=paused):
        response.status_code = 200
    return progress.study_view(database, spec.name)


@router.get("/studies", summary="List studies", dependencies=READERS)
def get_studies(database: DatabaseDep, page: PageRequestDep) -> Page[StudySummary]:
    """The oldest first.

    `next` of a response, given as `cursor`, leads to the page after it.
    """
    return to_page(progress.list_studies(database, page.after, page.limit), page)


@router.get(
    "/studies/{name}",
    summary="Progress and health of a study",
    dependencies=WORKERS_AND_READERS,
)
def get_study(name: StudyName, database: DatabaseDep, request: Request) -> StudyView:
    """Counts by objective, the hypervolume, and in `health` what needs attention and
    what to do.
    """
    require_access_to(request, name)
    return progress.study_view(database, name)


@router.delete(
    "/studies/{name}",
    status_code=204,
    summary="Delete a study and all its data",
    dependencies=ADMINS,
)
def delete_study(
    name: StudyName,
    database: DatabaseDep,
    force: Annotated[
        bool, Query(description="even if workers hold jobs; their values are lost")
    ] = False,
) -> None:
    """Cannot be undone. Refused while workers hold jobs of the study, unless forced."""
    lifecycle.delete(database, name, force=force)


@router.get(
    "/studies/{name}/samples", summary="Samples with their values", dependencies=READERS
)
def get_samples(
    name: StudyName,
    database: DatabaseDep,
    page: PageRequestDep,
    full: Annotated[
        bool | None,
        Query(
            description="true: only samples wanted on all objectives; false: only cheap-only ones"
        ),
    ] = None,
) -> Page[SampleView]:
    """Known values in the user's units and directions; failures by objective."""
    return to_page(
        listings.list_samples(database, name, page.after, page.limit, full), page
    )


@router.get("/studies/{name}/jobs", summary="Jobs", dependencies=READERS)
def get_jobs(
    name: StudyName,
    database: DatabaseDep,
    page: PageRequestDep,
    objective: Annotated[
        str | None, Query(max_length=100, description="only jobs of this objective")
    ] = None,
    state: Annotated[
        JobState | None, Query(description="only jobs in this state")
    ] = None,
    newest_first: Annotated[
        bool, Query(description="true: from the newest to the oldest")
    ] = False,
) -> Page[JobView]:
    """A job is one objective of one sample. The oldest first, unless `newest_first`."""
    jobs = listings.list_jobs(
        database,
        name,
        page.after,
        page.limit,
        objective,
        state,
        newest_first=newest_first,
    )
    return to_page(jobs, page)


@router.get(
    "/jobs/{job}", summary="History of a job", tags=["jobs"], dependencies=READERS
)
def get_job(job: JobNumber, database: DatabaseDep) -> JobStory:
    """What happened to the job, which workers had it, and what it waits for."""
    return explain_job(database, job)


@router.post(
    "/jobs/{job}/cancel", summary="Cancel a job", tags=["jobs"], dependencies=ADMINS
)
def post_cancel_job(
    job: JobNumber, database: DatabaseDep, body: CancelJob | None = None
) -> CancelledJob:
    """Ends the run of a leased job: its worker is told with its next heartbeat.

    Counts as a loss, so that the job is tried again; with `fail` it has failed.
    """
    state = cancel_job(database, job, fail=body.fail if body else False)
    return CancelledJob(job=job, state=state)


@router.get(
    "/studies/{name}/steps",
    summary="Steps with their diagnostics",
    dependencies=READERS,
)
def get_steps(
    name: StudyName, database: DatabaseDep, page: PageRequestDep
) -> Page[StepView]:
    """Finished steps and those that are due. `record` holds what a replay needs."""
    return to_page(listings.list_steps(database, name, page.after, page.limit), page)


@router.get(
    "/studies/{name}/front",
    summary="The nondominated full samples",
    dependencies=READERS,
)
def get_front(name: StudyName, database: DatabaseDep, request: Request) -> FrontView:
    """The whole front, in the user's units and directions: the nondominated samples
    that keep all limits.

    If there are none, `code` is the reason, and `least_violating` lists the samples
    that break the limits least.
    """
    process: PredictionProcess = request.app.state.prediction_process
    return with_estimates(database, process, name, front_view(database, name))


@router.post("/studies/{name}/pause", summary="Pause a study", dependencies=ADMINS)
def post_pause(name: StudyName, database: DatabaseDep) -> StudyView:
    """No new leases or steps. Running jobs go on, and their values are recorded."""
    lifecycle.pause(database, name)
    return progress.study_view(database, name)


@router.post(
    "/studies/{name}/resume", summary="Resume a paused study", dependencies=ADMINS
)
def post_resume(name: StudyName, database: DatabaseDep) -> StudyView:
    """Ends a pause; a study that is not paused does not change."""
    lifecycle.resume(database, name)
    return progress.study_view(database, name)


@router.post("/studies/{name}/stop", summary="Finish a study now", dependencies=ADMINS)
def post_stop(
    name: StudyName, database: DatabaseDep, body: Stop | None = None
) -> StudyView:
    """Ready jobs are superseded; running ones may finish, or are advised to cancel."""
    lifecycle.stop(
        database, name, cancel_running=body.cancel_running if body else False
    )
    return progress.study_view(database, name)


@router.post("/studies/{name}/extend", summary="Raise the budget", dependencies=ADMINS)
def post_extend(name: StudyName, body: Extend, database: DatabaseDep) -> StudyView:
    """Reopens a finished study."""
    lifecycle.extend(database, name, body.budget)
    return progress.study_view(database, name)


@router.post(
    "/studies/{name}/retry", summary="Run failed jobs again", dependencies=ADMINS
)
def post_retry(
    name: StudyName, database: DatabaseDep, body: Retry | None = None
) -> Retried:
    """Failed jobs are ready again, as if they had not failed; also in a finished study.

    Infeasible points are results, and are not run again unless `infeasible` requests
    it.
    """
    wanted = body or Retry()
    jobs = lifecycle.retry(
        database, name, wanted.objectives, infeasible=wanted.infeasible
    )
    return Retried(jobs=jobs)
