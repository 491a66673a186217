"""What workers call: ask, tell, heartbeat, release."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from app.api.access import WORKER, Allow
from app.api.batching.ask_batcher import Desk
from app.api.batching.tell_batcher import TellDesk
from app.api.fast_route import Direct
from app.api.openapi import body, reference
from app.api.problems import RESPONSES
from app.api.validation_messages import BodyInvalid, fault_of, in_body
from app.errors import LeaseUnknown, ResultConflict, TellInvalid
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from counterpoise.wire.work import MOST_TELLS, Ask, Asked, HeartbeatAnswer, Leases, Released, Tell, Told

router = APIRouter(tags=["work"], dependencies=[Depends(Allow(WORKER))], responses=RESPONSES, route_class=Direct)
REFUSALS = {404: LeaseUnknown, 409: ResultConflict, 422: TellInvalid}
# Its items are tells; but nothing that might be one is refused, so nothing may be ruled out here.
ANYTHING = {"description": "anything else: answered with status 422 in its place, and refuses no other item"}
LIST = {
    "type": "array",
    "items": {"anyOf": [reference(Tell), ANYTHING]},
    "minItems": 1,
    "maxItems": MOST_TELLS,
    "description": "tells, each answered in its place",
}
EXAMPLE = {"job": 17, "lease": "0123456789abcdef0123456789abcdef", "value": 3.25, "duration_s": 0.8}


@router.post("/ask", summary="Get jobs")
async def post_ask(ask: Ask, request: Request) -> Asked:
    """Answers at once if there are jobs, else as soon as there are, else with the reason when `wait_s` is over."""
    desk: Desk = request.app.state.desk
    leaves = asyncio.ensure_future(_left(request))
    try:
        return await desk.ask(ask, leaves)
    finally:
        leaves.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@router.post(
    "/tell",
    summary="Tell a value or a failure, or a list of them",
    openapi_extra=body({"anyOf": [reference(Tell), LIST]}, EXAMPLE),
)
async def post_tell(said: Annotated[Any, Body()], request: Request) -> Told | list[Told]:
    """Idempotent per lease. A list is answered item by item: a bad item refuses no other.

    `job` and `lease` are a pair that /ask answered; that of the example stands for yours.
    """
    desk: TellDesk = request.app.state.tell_desk
    if isinstance(said, list):
        return await _tell_list(said, desk)
    try:
        item = Tell.model_validate(said)
    except ValidationError as error:
        raise BodyInvalid(error, Tell) from None
    (answer,) = await desk.tell([item])
    if answer.status != 200:
        raise REFUSALS[answer.status](answer.detail)
    return answer


async def _tell_list(items: list[Any], desk: TellDesk) -> list[Told]:
    if not 1 <= len(items) <= MOST_TELLS:
        raise TellInvalid(f"a list holds 1 to {MOST_TELLS} tells, not {len(items)}; send several lists")
    answers: dict[int, Told] = {}
    good: dict[int, Tell] = {}
    for index, raw in enumerate(items):
        try:
            good[index] = Tell.model_validate(raw)
        except ValidationError as error:
            fault = fault_of(in_body(error, index)[0], Tell)
            job = raw.get("job") if isinstance(raw, dict) else None
            number = job if isinstance(job, int) and not isinstance(job, bool) else 0
            answers[index] = Told(job=number, status=422, detail=f"{fault.pointer}: {fault.detail}")
    if good:
        answers |= zip(good, await desk.tell(list(good.values())), strict=True)
    return [answers[index] for index in range(len(items))]


@router.post("/heartbeat", summary="Give a sign of life")
async def post_heartbeat(held: Leases, request: Request) -> HeartbeatAnswer:
    """New deadlines, and which jobs to cancel. An expired lease lives again while nobody else has its job.

    Leases come from /ask; that of the example stands for yours.
    """
    leases = list(dict.fromkeys(held.leases))
    return HeartbeatAnswer(leases=await run_in_threadpool(heartbeat, request.app.state.database, leases))


@router.post("/release", summary="Give jobs back")
async def post_release(held: Leases, request: Request) -> Released:
    """For jobs that will not be evaluated; counts nothing against them.

    Leases come from /ask; that of the example stands for yours.
    """
    leases = list(dict.fromkeys(held.leases))
    return Released(released=await run_in_threadpool(release, request.app.state.database, leases))
