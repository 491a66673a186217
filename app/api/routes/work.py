"""Routes for workers: ask, tell, heartbeat, release, goodbye."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from app.api.batching.ask_batcher import AskBatcher
from app.api.batching.tell_batcher import TellBatcher
from app.api.fast_route import FastRoute
from app.api.openapi.document import json_body, operation_id, schema_reference
from app.api.problems import RESPONSES
from app.api.security.access import WORKERS, require_access_to
from app.api.validation_messages import BodyInvalid, errors_in_body, to_fault
from app.errors import LeaseUnknown, ResultConflict, TellInvalid
from app.service.work.goodbye import goodbye
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from counterpoise.wire.work import (
    ALL,
    MOST_TELLS,
    Ask,
    Asked,
    Goodbye,
    HeartbeatAnswer,
    Leases,
    Released,
    Tell,
    Told,
)

router = APIRouter(
    tags=["work"],
    dependencies=WORKERS,
    responses=RESPONSES,
    route_class=FastRoute,
    generate_unique_id_function=operation_id,
)
ERRORS_BY_STATUS = {404: LeaseUnknown, 409: ResultConflict, 422: TellInvalid}
TELL = schema_reference(Tell)
# An item that is not a tell refuses no other item, so the schema of a list must admit
# anything.
INVALID_ITEM = {
    "description": "anything else: gets status 422 in its place, and refuses no other item"
}
TELLS = {
    "type": "array",
    "items": {"anyOf": [TELL, INVALID_ITEM]},
    "minItems": 1,
    "maxItems": MOST_TELLS,
    "description": "tells, each with a result in its place",
}
EXAMPLE = {
    "job": 17,
    "lease": "0123456789abcdef0123456789abcdef",
    "value": 3.25,
    "duration_s": 0.8,
}


@router.post("/ask", summary="Get jobs")
async def post_ask(ask: Ask, request: Request) -> Asked:
    """Responds as soon as there are jobs, or after `wait_s` with the reason why there
    are none.
    """
    batcher: AskBatcher = request.app.state.ask_batcher
    ask = limit_to_studies(ask, request)
    disconnected = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        return await batcher.ask(ask, disconnected)
    finally:
        disconnected.cancel()


def limit_to_studies(ask: Ask, request: Request) -> Ask:
    """The ask, limited to the studies of its token if it has a limit; `*` means all of
    these.
    """
    studies: frozenset[str] | None = getattr(request.state, "studies", None)
    if studies is None:
        return ask
    for name in ask.studies:
        if name != ALL:
            require_access_to(request, name)
    return (
        ask.model_copy(update={"studies": sorted(studies)})
        if ALL in ask.studies
        else ask
    )


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@router.post(
    "/tell",
    summary="Tell a value or a failure, or a list of them",
    openapi_extra=json_body({"anyOf": [TELL, TELLS]}, EXAMPLE),
)
async def post_tell(
    body: Annotated[Any, Body()], request: Request
) -> Told | list[Told]:
    """Idempotent per lease.

    The items of a list are independent: an invalid one refuses no other.

    `job` and `lease` come from /ask; replace those of the example.
    """
    batcher: TellBatcher = request.app.state.tell_batcher
    if isinstance(body, list):
        return await _tell_list(body, batcher)
    try:
        item = Tell.model_validate(body)
    except ValidationError as error:
        raise BodyInvalid(error, Tell) from None
    (result,) = await batcher.tell([item])
    if result.status != 200:
        raise ERRORS_BY_STATUS[result.status](result.detail)
    return result


async def _tell_list(items: list[Any], batcher: TellBatcher) -> list[Told]:
    if not 1 <= len(items) <= MOST_TELLS:
        raise TellInvalid(
            f"a list holds 1 to {MOST_TELLS} tells, not {len(items)}; send several lists"
        )
    results: dict[int, Told] = {}
    valid: dict[int, Tell] = {}
    for index, item in enumerate(items):
        try:
            valid[index] = Tell.model_validate(item)
        except ValidationError as error:
            results[index] = _invalid_item(item, index, error)
    if valid:
        recorded = await batcher.tell(list(valid.values()))
        results.update(zip(valid, recorded, strict=True))
    return [results[index] for index in range(len(items))]


def _invalid_item(item: Any, index: int, error: ValidationError) -> Told:
    fault = to_fault(errors_in_body(error, index)[0], Tell)
    job = item.get("job") if isinstance(item, dict) else None
    is_number = isinstance(job, int) and not isinstance(job, bool)
    return Told(
        job=job if is_number else 0,
        status=422,
        detail=f"{fault.pointer}: {fault.detail}",
    )


@router.post("/heartbeat", summary="Prolong leases")
async def post_heartbeat(body: Leases, request: Request) -> HeartbeatAnswer:
    """Returns new deadlines, and which jobs to cancel.

    Revives an expired lease while no other worker has its job.

    Leases come from /ask; replace that of the example.
    """
    leases = list(dict.fromkeys(body.leases))
    return HeartbeatAnswer(
        leases=await run_in_threadpool(heartbeat, request.app.state.database, leases)
    )


@router.post("/release", summary="Give jobs back")
async def post_release(body: Leases, request: Request) -> Released:
    """For jobs that will not be evaluated; does not count as an attempt or a loss.

    Leases come from /ask; replace that of the example.
    """
    leases = list(dict.fromkeys(body.leases))
    return Released(
        released=await run_in_threadpool(release, request.app.state.database, leases)
    )


@router.post("/goodbye", summary="A worker has ended")
async def post_goodbye(body: Goodbye, request: Request) -> Released:
    """Releases all jobs of this process of the worker, which is no longer listed as
    alive.

    Sent by a worker that ends, or for it by the one that is started under its name.
    """
    return Released(
        released=await run_in_threadpool(
            goodbye, request.app.state.database, body.worker, body.instance
        )
    )
