"""The cookie of a browser: role, expiry and the fingerprint of a token, signed.

Nothing is stored. The key comes from the configured tokens: every server with the same
tokens accepts the cookie, and a server with other tokens does not.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass

from app.settings import Settings

LIFETIME_S = 12 * 3600
# Browsers accept the prefix only with Secure, without a domain and for the whole host:
# no other host or path can set this cookie.
PLAIN_NAME = "counterpoise"
SECURE_NAME = "__Host-counterpoise"
LONGEST_COOKIE = 1000
FINGERPRINT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Session:
    role: str
    expires_at: float
    fingerprint: str


def cookie_name(*, is_https: bool) -> str:
    return SECURE_NAME if is_https else PLAIN_NAME


def sign(settings: Settings, role: str, token: str, now: float) -> tuple[str, Session]:
    """The cookie's value, and what it contains."""
    session = Session(role, now + LIFETIME_S, fingerprint(settings, token))
    content = [session.role, session.expires_at, session.fingerprint]
    payload = _encode(json.dumps(content).encode())
    return f"{payload}.{_signature(settings, payload)}", session


def verify(settings: Settings, cookie: str, now: float) -> Session | None:
    """None if the cookie is not one of ours, or has expired."""
    payload, _, signature = cookie.partition(".")
    if len(cookie) > LONGEST_COOKIE or not cookie.isascii():
        return None
    if not hmac.compare_digest(signature, _signature(settings, payload)):
        return None
    try:
        session = Session(*json.loads(_decode(payload)))
    except (ValueError, TypeError, binascii.Error):
        return None
    return session if now < session.expires_at else None


def fingerprint(settings: Settings, token: str) -> str:
    """Tells tokens apart without revealing them."""
    digest = hmac.digest(_key(settings), b"token:" + token.encode(), hashlib.sha256)
    return digest[:FINGERPRINT_BYTES].hex()


def _signature(settings: Settings, payload: str) -> str:
    message = b"cookie:" + payload.encode()
    return _encode(hmac.digest(_key(settings), message, hashlib.sha256))


def _key(settings: Settings) -> bytes:
    """Of read and admin tokens: a new worker token ends no session."""
    tokens = (*settings.read_tokens, *settings.admin_tokens)
    secrets = sorted(token.get_secret_value() for token in tokens)
    return hmac.digest(
        b"counterpoise session", json.dumps(secrets).encode(), hashlib.sha256
    )


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
