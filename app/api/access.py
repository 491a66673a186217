"""Who may do what: bearer tokens with roles. Without tokens the server is on loopback only and everybody may."""

import hmac
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.security import HTTPBearer

from app.errors import PageForeign, RoleInsufficient, TokenMissing
from app.settings import Settings

WORKER, READ, ADMIN = "worker", "read", "admin"


def role_of(settings: Settings, given: str) -> str | None:
    """Compares with every token in constant time: how long it takes tells nothing about them."""
    found = None
    for role, tokens in (
        (WORKER, settings.worker_tokens),
        (READ, settings.read_tokens),
        (ADMIN, settings.admin_tokens),
    ):
        for token in tokens:
            if hmac.compare_digest(token.get_secret_value().encode(), given.encode()):
                found = role
    return found


class Allow(HTTPBearer):
    """A dependency that lets these roles, and `admin`, pass. Its class tells the document that a token is wanted."""

    def __init__(self, *roles: str) -> None:
        super().__init__(scheme_name="token", description="a token of the role that the route needs")
        self.roles = roles

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        settings: Settings = request.app.state.settings
        if not settings.has_tokens:
            refuse_foreign_pages(request)
            return
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        role = role_of(settings, given.strip()) if scheme.lower() == "bearer" else None
        if role is None:
            raise TokenMissing("this server wants a token it knows: send the header `Authorization: Bearer TOKEN`")
        if role not in (*self.roles, ADMIN):
            needed = " or ".join(dict.fromkeys([*self.roles, ADMIN]))
            raise RoleInsufficient(f"a {role} token may not do this; it needs a token of role {needed}")


def refuse_foreign_pages(request: Request) -> None:
    """On loopback everybody may, but not every web page that somebody on this machine happens to look at.

    A browser names the page in `Origin`; a page whose name was made to lead here shows in `Host`.
    """
    for header, prefix in (("Origin", ""), ("Host", "//")):
        said = request.headers.get(header)
        if said is not None and not _is_loopback(prefix + said):
            raise PageForeign(
                f"{header} {said!r} is not this machine: without tokens the server answers programs and pages of"
                " this machine only; use http://127.0.0.1, or set tokens (see docs/operations.md)"
            )


@lru_cache(maxsize=100)  # the same few names with every request
def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
