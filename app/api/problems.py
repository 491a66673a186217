"""Every error as RFC 9457 problem+json; the one mapping from the server's errors to
HTTP.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from app import errors
from app.api.validation_messages import BodyInvalid, model_of, to_fault
from app.errors import CounterpoiseError
from counterpoise.wire.contradictions import MOST_FAULTS
from counterpoise.wire.problems import Fault, Problem
from counterpoise.wire.specification import SpecificationInvalid
from counterpoise.wire.text import printable

MEDIA_TYPE = "application/problem+json"
Handler = Callable[[Request, Exception], Coroutine[Any, Any, JSONResponse]]
# By class of error: status, stable type, title.
STATUS: dict[type[CounterpoiseError], tuple[int, str, str]] = {
    errors.TokenMissing: (401, "token-missing", "A token is required"),
    errors.CrossOriginRefused: (
        403,
        "page-foreign",
        "Web pages of other origins are refused",
    ),
    errors.TooManyWrongTokens: (429, "too-many-tokens", "Too many wrong tokens"),
    errors.StudyForbidden: (
        403,
        "study-forbidden",
        "The token is limited to other studies",
    ),
    errors.RoleInsufficient: (
        403,
        "role-insufficient",
        "The token's role does not allow this",
    ),
    errors.StudyUnknown: (404, "study-unknown", "There is no such study"),
    errors.ObjectiveUnknown: (404, "objective-unknown", "There is no such objective"),
    errors.JobUnknown: (404, "job-unknown", "There is no such job"),
    errors.SampleUnknown: (404, "sample-unknown", "There is no such sample"),
    errors.WorkerUnknown: (404, "worker-unknown", "There is no such worker"),
    errors.LeaseUnknown: (404, "lease-unknown", "There is no such lease"),
    errors.StudyExists: (409, "study-exists", "The name is taken"),
    errors.JobNotCancellable: (
        409,
        "job-not-cancellable",
        "This job cannot be cancelled",
    ),
    errors.StudyBusy: (409, "study-busy", "Workers hold jobs of this study"),
    errors.ResultConflict: (
        409,
        "result-conflict",
        "Another result was told with this lease",
    ),
    errors.RequestRefused: (
        409,
        "request-refused",
        "Not possible in the study's present state",
    ),
    errors.TellInvalid: (422, "tell-invalid", "The tell does not fit its job"),
    errors.ImportInvalid: (422, "import-invalid", "Some rows cannot be imported"),
    errors.CursorInvalid: (422, "cursor-invalid", "There is no such page"),
    errors.PointInvalid: (422, "point-invalid", "The point does not fit the study"),
    errors.PredictionsBusy: (503, "predictions-busy", "Try again"),
    errors.TooManyLogins: (429, "too-many-logins", "Too many failed logins"),
    errors.StateChanged: (503, "state-changed", "Try again"),
    errors.DatabaseBehind: (503, "database-behind", "The database has another schema"),
    errors.DatabaseUnusable: (503, "database-unusable", "The database cannot be used"),
}
# By status, for what the framework refuses: stable type, title.
FRAMEWORK: dict[int, tuple[str, str]] = {
    400: ("bad-request", "The request cannot be read"),
    404: ("not-found", "There is no such path"),
    405: ("method-not-allowed", "The path does not take this method"),
    413: ("content-too-large", "The body is too large"),
    415: ("unsupported-media-type", "The body has an unsupported media type"),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": Problem,
        "description": "A problem, as defined by RFC 9457",
        "content": {MEDIA_TYPE: {}},
    }
}


def install_problems(app: FastAPI) -> None:
    for error, respond in (
        (CounterpoiseError, known_error_response),
        (SpecificationInvalid, specification_response),
        (RequestValidationError, validation_response),
        (HTTPException, framework_response),
    ):
        app.add_exception_handler(error, _without_thread(respond))


def _without_thread(respond: Callable[[Request, Any], JSONResponse]) -> Handler:
    """Starlette would call a plain function in a thread, and there may be none left
    while all wait for the database.
    """

    async def handle(request: Request, error: Exception) -> JSONResponse:
        return respond(request, error)

    return handle


def problem_response(
    request: Request,
    status: int,
    slug: str,
    title: str,
    detail: str,
    faults: Sequence[Fault] = (),
    fault_count: int | None = None,
) -> JSONResponse:
    problem = Problem(
        type=f"urn:counterpoise:problem:{slug}",
        title=title,
        status=status,
        detail=printable(detail),
        instance=request.url.path,
        request_id=request.state.request_id,
        errors=list(faults),
        error_count=fault_count,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True), status, media_type=MEDIA_TYPE
    )


def known_error_response(request: Request, error: CounterpoiseError) -> JSONResponse:
    status, slug, title = next(
        STATUS[kind] for kind in type(error).__mro__ if kind in STATUS
    )
    faults: Sequence[Fault] = getattr(error, "faults", ())
    count = error.count if isinstance(error, errors.ImportInvalid) else None
    response = problem_response(request, status, slug, title, str(error), faults, count)
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.TooManyLogins):
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def specification_response(
    request: Request, error: SpecificationInvalid
) -> JSONResponse:
    title = "The specification is not valid"
    detail = _count_faults(len(error.faults))
    return problem_response(
        request, 422, "invalid-specification", title, detail, error.faults
    )


def validation_response(
    request: Request, error: RequestValidationError
) -> JSONResponse:
    model = (
        error.model
        if isinstance(error, BodyInvalid)
        else model_of(request.scope.get("route"))
    )
    found = error.errors()
    faults = [to_fault(fault, model) for fault in found[:MOST_FAULTS]]
    return problem_response(
        request,
        422,
        "invalid-request",
        "The request is not valid",
        _count_faults(len(found)),
        faults,
    )


def _count_faults(count: int) -> str:
    if count > MOST_FAULTS:
        return f"{count} faults; the first {MOST_FAULTS} are listed in `errors` with their places."
    return f"{count} fault{'s' if count > 1 else ''}; each is listed in `errors` with its place."


def framework_response(request: Request, error: HTTPException) -> JSONResponse:
    status = error.status_code
    slug, title = FRAMEWORK.get(status, (f"http-{status}", HTTPStatus(status).phrase))
    headers = dict(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        # The framework names those of one route only
        headers["Allow"] = _allowed_methods(request)
    response = problem_response(
        request, status, slug, title, _framework_detail(request, error, headers)
    )
    response.headers.update(headers)
    return response


def _allowed_methods(request: Request) -> str:
    """The methods of all routes that have this path."""
    routes: Sequence[BaseRoute] = request.app.routes
    allowed = []
    for method in METHODS:
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in routes):
            allowed.append(method)
    return ", ".join(allowed)


def _framework_detail(
    request: Request, error: HTTPException, headers: Mapping[str, str]
) -> str:
    """The framework's messages name the fault; these add what to do."""
    path = request.url.path
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"There is nothing at {request.method} {path}; the routes are listed at /docs."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return (
                f"{path} does not take {request.method}; it takes {headers['Allow']}."
            )
        case HTTPStatus.BAD_REQUEST:
            return (
                f"{error.detail}: it must be JSON in UTF-8, not compressed, not deeply nested,"
                " with numbers of ordinary length."
            )
    return error.detail


def internal_error_response(request: Request) -> JSONResponse:
    detail = (
        "The server failed on this request; its changes were rolled back. It is safe to try again."
        f" If it happens again, look for request id {request.state.request_id} in the server's log."
    )
    return problem_response(request, 500, "internal", "Internal server error", detail)
