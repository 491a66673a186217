"""Logging in and out in a browser."""

import json
import time

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app.api.dependencies import SettingsDep
from app.api.openapi.document import json_body, schema_reference
from app.api.security.access import (
    Caller,
    Role,
    authenticate,
    refuse_cross_site,
    refuse_other_origins,
    role_of,
)
from app.api.security.login_limit import LoginLimit
from app.api.security.session_cookie import LIFETIME_S, cookie_name, sign
from app.api.validation_messages import BodyInvalid
from app.domain.times import iso
from app.errors import RoleInsufficient, TokenMissing
from app.settings import Settings
from counterpoise import __version__
from counterpoise.wire.monitoring.session import Login, Me

router = APIRouter(tags=["session"])
LONGEST_BODY = 2000  # it is read before anybody is authenticated


@router.get("/me", summary="The role of this client")
async def get_me(request: Request, settings: SettingsDep) -> Me:
    """Needs no token: `role` is null where one is required and missing."""
    try:
        caller = authenticate(settings, request)
    except TokenMissing:
        return _me(settings, None)
    return _me(settings, caller)


@router.post(
    "/login",
    summary="Exchange a token for a cookie",
    openapi_extra=json_body(
        schema_reference(Login), {"token": "a-read-or-admin-token"}
    ),
)
async def post_login(request: Request, response: Response, settings: SettingsDep) -> Me:
    """For browsers: a cookie that holds the role for 12 hours.

    Programs send the token itself with every request. Few failures are accepted per
    minute.
    """
    if not settings.has_tokens:
        refuse_other_origins(request)
        await _read_login(request)  # also here the body has to be one
        return _me(settings, Caller(Role.ADMIN))
    refuse_cross_site(request)
    limit: LoginLimit = request.app.state.login_limit
    address = request.client.host if request.client else ""
    limit.check(address)
    token = (await _read_login(request)).token.strip()
    role = role_of(settings, token)
    if role is None:
        limit.count_failure(address)
        raise TokenMissing("this token is not one of the server's; check it for typos")
    if role is Role.WORKER:
        raise RoleInsufficient(
            "a worker token opens no pages; log in with a token of role read or admin"
        )
    value, session = sign(settings, role, token, time.time())
    is_https = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(is_https=is_https),
        value,
        max_age=LIFETIME_S,
        path="/",
        secure=is_https,
        httponly=True,
        samesite="strict",
    )
    return _me(settings, Caller(role, "cookie", session.expires_at))


@router.post("/logout", status_code=204, summary="Remove the cookie")
async def post_logout(request: Request, response: Response) -> None:
    """The cookie is signed, not stored: a copy of it stays valid until it expires."""
    refuse_cross_site(request)
    is_https = request.url.scheme == "https"
    response.delete_cookie(
        cookie_name(is_https=is_https),
        path="/",
        secure=is_https,
        httponly=True,
        samesite="strict",
    )


def _me(settings: Settings, caller: Caller | None) -> Me:
    return Me(
        role=None if caller is None else caller.role,
        login_required=settings.has_tokens,
        by=None if caller is None else caller.by,
        expires_at=None if caller is None else iso(caller.expires_at),
        version=__version__,
    )


async def _read_login(request: Request) -> Login:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY:
            raise _invalid("the body is too long for a token")
    try:
        return Login.model_validate(json.loads(body))
    except ValidationError as error:
        raise BodyInvalid(error, Login) from None
    except (ValueError, RecursionError):
        raise _invalid('it must be JSON: {"token": "..."}') from None


def _invalid(message: str) -> RequestValidationError:
    fault = {"type": "value_error", "loc": ("body",), "msg": message, "input": None}
    return RequestValidationError([fault])
