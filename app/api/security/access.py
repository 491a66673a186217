"""Authorisation: bearer tokens with roles, and a cookie that stands for one in a browser.

`authenticate` decides who sends a request, before any of its body is read
(`app.api.security.authentication`); `RequireRole` decides, by route, whether the role suffices.
Without tokens the server is on loopback only, and every local program is admitted.
"""

import hmac
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from app.api.security.session_cookie import cookie_name, fingerprint, verify
from app.errors import (
    CrossOriginRefused,
    RoleInsufficient,
    StudyForbidden,
    TokenMissing,
)
from app.settings import Settings, split_entry

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Role(StrEnum):
    WORKER = "worker"
    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    role: Role
    by: Literal["token", "cookie"] | None = None  # None: the server has no tokens
    expires_at: float | None = None  # of a cookie


def authenticate(settings: Settings, request: Request) -> Caller:
    """The caller, by what the headers contain; raises the error that refuses the
    request.
    """
    if not settings.has_tokens:
        refuse_other_origins(request)
        return Caller(Role.ADMIN)
    caller = (
        _caller_by_token(settings, request)
        if "Authorization" in request.headers
        else _caller_by_cookie(settings, request)
    )
    if caller is None:
        raise TokenMissing(
            "this server requires a valid token: send the header `Authorization: Bearer TOKEN`, or log in"
        )
    return caller


def _caller_by_token(settings: Settings, request: Request) -> Caller | None:
    token = bearer_token(request)
    role = None if token is None else role_of(settings, token)
    return None if role is None else Caller(role, "token")


def _caller_by_cookie(settings: Settings, request: Request) -> Caller | None:
    """A browser sends the cookie with every request, whichever page has caused it."""
    name = cookie_name(is_https=request.url.scheme == "https")
    cookie = request.cookies.get(name)
    session = None if cookie is None else verify(settings, cookie, time.time())
    if session is None:
        return None
    role = Role(session.role)
    if not _is_current(settings, role, session.fingerprint):
        return None
    if request.method not in SAFE_METHODS:
        require_same_origin(request)
    return Caller(role, "cookie", session.expires_at)


def _is_current(settings: Settings, role: Role, given: str) -> bool:
    """Whether the token that a cookie was given for still has this role."""
    tokens = settings.admin_tokens if role is Role.ADMIN else settings.read_tokens
    fingerprints = [fingerprint(settings, token.get_secret_value()) for token in tokens]
    return given in fingerprints


def require_same_origin(request: Request) -> None:
    """Refuse what a page of another origin, or an unknown one, has caused."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        is_same = site == "same-origin"
    else:  # an old browser, or plain http
        origin = urlsplit(request.headers.get("Origin", ""))
        is_same = origin.netloc != "" and origin.netloc == request.headers.get("Host")
    if not is_same:
        raise CrossOriginRefused(
            "with a cookie, changes are accepted from this server's own pages only;"
            " programs send the header `Authorization: Bearer TOKEN`"
        )


def refuse_cross_site(request: Request) -> None:
    """Like `require_same_origin`, but admits programs, which send neither header."""
    if "Sec-Fetch-Site" in request.headers or "Origin" in request.headers:
        require_same_origin(request)


def require_access_to(request: Request, study: str) -> None:
    """Refuse a worker whose token is limited to other studies."""
    studies: frozenset[str] | None = getattr(request.state, "studies", None)
    if studies is not None and study not in studies:
        raise StudyForbidden(
            f"this token is limited to other studies than {study!r}; use one of that study"
        )


def studies_of(settings: Settings, given: str) -> frozenset[str] | None:
    """The studies to which a worker's token is limited; None if it is not."""
    limits: set[str] = set()
    for entry in settings.worker_tokens:
        study, token = split_entry(entry.get_secret_value())
        if hmac.compare_digest(token.encode(), given.encode()):
            if study is None:
                return None
            limits.add(study)
    return frozenset(limits) or None


def caller_of(request: Request) -> Caller:
    """What `authenticate` returned for this request."""
    caller: Caller = request.state.caller
    return caller


class RequireRole(HTTPBearer):
    """A dependency that admits these roles and `admin`.

    Its base class adds the scheme to the OpenAPI document.
    """

    def __init__(self, *roles: Role) -> None:
        super().__init__(
            scheme_name="token", description="a token of a role that the route admits"
        )
        self.roles = (*roles, Role.ADMIN)

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        role = caller_of(request).role
        if role not in self.roles:
            required = " or ".join(self.roles)
            raise RoleInsufficient(
                f"a {role} token may not do this; it needs a token of role {required}"
            )


WORKERS = [Depends(RequireRole(Role.WORKER))]
READERS = [Depends(RequireRole(Role.READ))]
WORKERS_AND_READERS = [Depends(RequireRole(Role.READ, Role.WORKER))]
ADMINS = [Depends(RequireRole())]


def bearer_token(request: Request) -> str | None:
    """The token of the header `Authorization`, if it has one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def role_of(settings: Settings, given: str) -> Role | None:
    """The role of a token.

    Compares with every known token, so that the time it takes reveals nothing.
    """
    matching_role = None
    for role, tokens in (
        (Role.WORKER, settings.worker_tokens),
        (Role.READ, settings.read_tokens),
        (Role.ADMIN, settings.admin_tokens),
    ):
        for token in tokens:
            _, secret = split_entry(token.get_secret_value())
            if hmac.compare_digest(secret.encode(), given.encode()):
                matching_role = role
    return matching_role


def refuse_other_origins(request: Request) -> None:
    """Without tokens, admit local programs but no web page of another origin that is
    open in a local browser.

    A browser sends the page's origin in `Origin`. A page whose host name resolves to
    this machine has it in `Host`.
    """
    for header, prefix in (("Origin", ""), ("Host", "//")):
        value = request.headers.get(header)
        if value is not None and not _is_loopback(prefix + value):
            raise CrossOriginRefused(
                f"{header} {value!r} is not this machine: without tokens the server responds to programs and pages of"
                " this machine only; use http://127.0.0.1, or set tokens (see docs/operations.md)"
            )


@lru_cache(maxsize=100)  # every request has one of a few values
def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
