"""Settings from the environment (prefix COUNTERPOISE_), read once and frozen."""

from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsInvalid

PREFIX = "COUNTERPOISE_"
SHORTEST_TOKEN = 16
POSTGRESQL_SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")
Tokens = Annotated[tuple[SecretStr, ...], NoDecode]


class Settings(BaseSettings):
    """What an operator can set; each field is documented in docs/operations.md."""

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
        if not isinstance(value, str):
            return value
        tokens = [token.strip() for token in value.split(",")]
        return tuple(token for token in tokens if token)

    @field_validator("worker_tokens", "read_tokens", "admin_tokens")
    @classmethod
    def _check_length(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(token) < SHORTEST_TOKEN for token in tokens):
            raise ValueError(
                f"a token needs at least {SHORTEST_TOKEN} characters (make one with: openssl rand -hex 24)"
            )
        return tokens

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: str) -> str:
        if _is_sqlite_file(url):
            return url
        for scheme in POSTGRESQL_SCHEMES:
            if url.startswith(scheme):
                return _postgresql_url(url.removeprefix(scheme))
        raise ValueError(
            "it must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
        )

    @model_validator(mode="after")
    def _check_heartbeat(self) -> "Settings":
        if self.heartbeat_s > self.lease_s / 2:
            raise ValueError(
                f"{PREFIX}HEARTBEAT_S ({self.heartbeat_s:g}) must be at most half of "
                f"{PREFIX}LEASE_S ({self.lease_s:g}), so that one lost heartbeat does not lose a lease"
            )
        return self

    @property
    def tokens(self) -> tuple[SecretStr, ...]:
        return (*self.worker_tokens, *self.read_tokens, *self.admin_tokens)

    @property
    def has_tokens(self) -> bool:
        return bool(self.tokens)

    @property
    def has_public_tokens(self) -> bool:
        """Whether there are tokens of docker-compose.yml, which are published."""
        return any(
            token.get_secret_value().startswith("demo-") for token in self.tokens
        )

    @property
    def on_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


def _is_sqlite_file(url: str) -> bool:
    file = url.removeprefix("sqlite:///")
    return file not in ("", url) and ":memory:" not in file and "?" not in file


def _postgresql_url(rest: str) -> str:
    authority, _, query = rest.partition("?")
    if "password=" in query:
        raise ValueError(
            "the password goes before the host, as in postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    if authority.partition("/")[0].count("@") > 1:
        raise ValueError("an @ in a password must be written as %40")
    try:
        urlsplit(f"postgresql://{rest}").port  # noqa: B018  (checked when it is read)
    except ValueError:
        raise ValueError("the port is not a number") from None
    return f"postgresql+psycopg://{rest}"


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; options of the command line, unless None, override it."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        messages = [_message(fault) for fault in error.errors()]
        raise SettingsInvalid("; ".join(messages)) from None


def _message(fault: Any) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    name = PREFIX + str(fault["loc"][0]).upper()
    # Tokens and URLs with passwords must not reach a terminal or a log.
    is_secret = "TOKENS" in name or "DATABASE" in name
    value = "" if is_secret else f" = {fault['input']!r}"
    return f"{name}{value} is not usable: {message}"
