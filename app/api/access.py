"""Authorisation: bearer tokens with roles.

Without tokens the server is on loopback only, and every request passes.
"""

import hmac
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from app.errors import CrossOriginRefused, RoleInsufficient, TokenMissing
from app.settings import Settings

WORKER, READ, ADMIN = "worker", "read", "admin"


class RequireRole(HTTPBearer):
    """A dependency that admits these roles and `admin`.

    Its base class adds the scheme to the OpenAPI document.
    """

    def __init__(self, *roles: str) -> None:
        super().__init__(
            scheme_name="token", description="a token of a role that the route admits"
        )
        self.roles = (*roles, ADMIN)

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        settings: Settings = request.app.state.settings
        if not settings.has_tokens:
            refuse_other_origins(request)
            return
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        role = role_of(settings, token.strip()) if scheme.lower() == "bearer" else None
        if role is None:
            raise TokenMissing(
                "this server requires a valid token: send the header `Authorization: Bearer TOKEN`"
            )
        if role not in self.roles:
            required = " or ".join(self.roles)
            raise RoleInsufficient(
                f"a {role} token may not do this; it needs a token of role {required}"
            )


WORKERS = [Depends(RequireRole(WORKER))]
READERS = [Depends(RequireRole(READ))]
WORKERS_AND_READERS = [Depends(RequireRole(READ, WORKER))]
ADMINS = [Depends(RequireRole())]


def role_of(settings: Settings, given: str) -> str | None:
    """The role of a token.

    Compares with every known token, so that the time it takes reveals nothing.
    """
    matching_role = None
    for role, tokens in (
        (WORKER, settings.worker_tokens),
        (READ, settings.read_tokens),
        (ADMIN, settings.admin_tokens),
    ):
        for token in tokens:
            if hmac.compare_digest(token.get_secret_value().encode(), given.encode()):
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
