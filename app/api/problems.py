"""Every error as RFC 9457 problem+json; the one mapping from the tree of errors to HTTP."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from app import errors
from app.api.validation_messages import BodyInvalid, fault_of, model_of, printable
from app.errors import CounterpoiseError
from counterpoise.wire.contradictions import MOST_FAULTS
from counterpoise.wire.problems import Fault, Problem
from counterpoise.wire.specification import SpecificationInvalid

# The error's class: status, stable type, title.
STATUS: dict[type[CounterpoiseError], tuple[int, str, str]] = {
    errors.TokenMissing: (401, "token-missing", "A token is needed"),
    errors.PageForeign: (403, "page-foreign", "Not from this page"),
    errors.RoleInsufficient: (403, "role-insufficient", "This token may not do this"),
    errors.StudyUnknown: (404, "study-unknown", "There is no such study"),
    errors.ObjectiveUnknown: (404, "objective-unknown", "There is no such objective"),
    errors.JobUnknown: (404, "job-unknown", "There is no such job"),
    errors.WorkerUnknown: (404, "worker-unknown", "There is no such worker"),
    errors.LeaseUnknown: (404, "lease-unknown", "There is no such lease"),
    errors.StudyExists: (409, "study-exists", "The name is taken"),
    errors.StudyBusy: (409, "study-busy", "Workers hold jobs of this study"),
    errors.ResultConflict: (409, "result-conflict", "This lease has told something else"),
    errors.RequestRefused: (409, "request-refused", "This cannot be done now"),
    errors.TellInvalid: (422, "tell-invalid", "The tell does not fit its job"),
    errors.ImportInvalid: (422, "import-invalid", "Some rows cannot be imported"),
    errors.CursorInvalid: (422, "cursor-invalid", "There is no such page"),
    errors.StateChanged: (503, "state-changed", "Try again"),
    errors.DatabaseBehind: (503, "database-behind", "The database has another schema"),
    errors.DatabaseUnusable: (503, "database-unusable", "The database cannot be used"),
}
# What the framework itself refuses: stable type, title.
FRAMEWORK: dict[int, tuple[str, str]] = {
    400: ("bad-request", "The request cannot be read"),
    404: ("not-found", "There is nothing here"),
    405: ("method-not-allowed", "This path does not take this method"),
    413: ("content-too-large", "The body is too large"),
    415: ("unsupported-media-type", "The body is of another kind"),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": Problem,
        "description": "A problem, as RFC 9457 says it",
        "content": {"application/problem+json": {}},
    }
}


def problem(
    request: Request, status: int, slug: str, title: str, detail: str, errors: Sequence[Fault] = ()
) -> JSONResponse:
    body = Problem(
        type=f"urn:counterpoise:problem:{slug}",
        title=title,
        status=status,
        detail=printable(detail),
        instance=request.url.path,
        request_id=request.state.request_id,
        errors=list(errors),
    )
    return JSONResponse(body.model_dump(exclude_none=True), status, media_type="application/problem+json")


def answer_known(request: Request, error: CounterpoiseError) -> JSONResponse:
    status, slug, title = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    faults = error.faults if isinstance(error, errors.ImportInvalid) else ()
    response = problem(request, status, slug, title, str(error), faults)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def answer_specification(request: Request, error: SpecificationInvalid) -> JSONResponse:
    detail = (
        f"{len(error.faults)} fault{'s' if len(error.faults) > 1 else ''}; each is listed in `errors` with its place."
    )
    return problem(request, 422, "invalid-specification", "The specification is not valid", detail, error.faults)


def answer_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    model = error.model if isinstance(error, BodyInvalid) else model_of(request.scope.get("route"))
    found = error.errors()
    faults = [fault_of(each, model) for each in found[:MOST_FAULTS]]
    detail = f"{len(found)} fault{'s' if len(found) > 1 else ''}; each is listed in `errors` with its place."
    if len(found) > MOST_FAULTS:
        detail = f"{len(found)} faults; the first {MOST_FAULTS} are listed in `errors` with their places."
    return problem(request, 422, "invalid-request", "The request is not valid", detail, faults)


def answer_framework(request: Request, error: HTTPException) -> JSONResponse:
    slug, title = FRAMEWORK.get(error.status_code, (f"http-{error.status_code}", HTTPStatus(error.status_code).phrase))
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _allowed(request)  # the framework names those of one route only
    response = problem(request, error.status_code, slug, title, _way_out(request, error, headers))
    response.headers.update(headers)
    return response


def _allowed(request: Request) -> str:
    """The methods that this path takes."""
    routes: Sequence[BaseRoute] = request.app.routes
    scopes = {method: {**request.scope, "method": method} for method in METHODS}
    taken = [m for m, scope in scopes.items() if any(route.matches(scope)[0] is Match.FULL for route in routes)]
    return ", ".join(taken)


def _way_out(request: Request, error: HTTPException, headers: Mapping[str, str]) -> str:
    """The framework's own texts say what is wrong, not what to do."""
    path = request.url.path
    if error.status_code == 404:
        return f"There is nothing at {request.method} {path}; the routes are listed at /docs."
    if error.status_code == 405:
        return f"{path} does not take {request.method}; it takes {headers['Allow']}."
    if error.status_code == 400:
        return f"{error.detail}: it must be JSON in UTF-8, not compressed, not very deep, with numbers of sane length."
    return error.detail


def answer_unforeseen(request: Request) -> JSONResponse:
    detail = (
        "The server failed on this request; what it had begun was rolled back. It is safe to try again."
        f" If it happens again, look for request id {request.state.request_id} in the server's log."
    )
    return problem(request, 500, "internal", "Internal server error", detail)


def install_problems(app: FastAPI) -> None:
    app.add_exception_handler(CounterpoiseError, answer_known)  # type: ignore[arg-type]
    app.add_exception_handler(SpecificationInvalid, answer_specification)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, answer_invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, answer_framework)  # type: ignore[arg-type]
