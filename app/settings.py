"""Settings from the environment (prefix COUNTERPOISE_), read once and frozen."""

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsInvalid

PREFIX = "COUNTERPOISE_"
Tokens = Annotated[tuple[SecretStr, ...], NoDecode]


class Settings(BaseSettings):
    """What an operator may choose; each field is documented in docs/operations.md."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    database_url: str = Field("sqlite:///counterpoise.db", repr=False)
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    worker_tokens: Tokens = ()
    read_tokens: Tokens = ()
    admin_tokens: Tokens = ()
    lease_s: float = Field(60.0, gt=0, le=86_400, allow_inf_nan=False)
    heartbeat_s: float = Field(20.0, gt=0, allow_inf_nan=False)
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1024)
    events_kept_days: float = Field(30.0, gt=0, le=36_500, allow_inf_nan=False)
    log_format: Literal["auto", "json", "pretty"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("worker_tokens", "read_tokens", "admin_tokens", mode="before")
    @classmethod
    def _split_tokens(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("worker_tokens", "read_tokens", "admin_tokens")
    @classmethod
    def _long_enough(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(token.get_secret_value()) < 16 for token in tokens):
            raise ValueError("a token needs at least 16 characters (make one with: openssl rand -hex 24)")
        return tokens

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str) -> str:
        if url.startswith("sqlite:///") and url != "sqlite:///" and ":memory:" not in url and "?" not in url:
            return url
        for scheme in ("postgresql://", "postgres://", "postgresql+psycopg://"):
            if url.startswith(scheme):
                return _postgresql(url.removeprefix(scheme))
        raise ValueError("it must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE")

    @model_validator(mode="after")
    def _heartbeat_inside_lease(self) -> "Settings":
        if self.heartbeat_s > self.lease_s / 2:
            raise ValueError(
                f"{PREFIX}HEARTBEAT_S ({self.heartbeat_s:g}) must be at most half of "
                f"{PREFIX}LEASE_S ({self.lease_s:g}), so that one lost heartbeat does not lose a lease"
            )
        return self

    @property
    def has_tokens(self) -> bool:
        return bool(self.worker_tokens or self.read_tokens or self.admin_tokens)

    @property
    def has_public_tokens(self) -> bool:
        """Those of docker-compose.yml, for trying it out: everybody can read them there."""
        tokens = (*self.worker_tokens, *self.read_tokens, *self.admin_tokens)
        return any(token.get_secret_value().startswith("demo-") for token in tokens)

    @property
    def on_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


def _postgresql(rest: str) -> str:
    authority, _, query = rest.partition("?")
    if "password=" in query:
        raise ValueError("the password goes before the host, as in postgresql://USER:PASSWORD@HOST/DATABASE")
    if authority.partition("/")[0].count("@") > 1:
        raise ValueError("a password that contains @ must have it written as %40")
    try:
        urlsplit(f"postgresql://{rest}").port  # noqa: B018  (reading it checks it)
    except ValueError:
        raise ValueError("the port is not a number") from None
    return f"postgresql+psycopg://{rest}"


def load_settings(**overrides: object) -> Settings:
    """Read the environment; options of the command line (not None) come before it."""
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsInvalid("; ".join(_sentence(fault) for fault in error.errors())) from None


def _sentence(fault: object) -> str:
    assert isinstance(fault, dict)  # noqa: S101
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    name = PREFIX + str(fault["loc"][0]).upper()
    # Secrets and URLs with passwords must not reach a terminal or a log.
    secret = "TOKENS" in name or "DATABASE" in name
    given = "" if secret else f" = {fault['input']!r}"
    return f"{name}{given} is not usable: {message}"
