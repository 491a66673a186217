"""Settings from the environment (prefix COUNTERPOISE_), read once and frozen."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsInvalid

PREFIX = "COUNTERPOISE_"
SHORTEST_TOKEN = 16
POSTGRESQL_SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
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
    worker_tokens_file: Path | None = None
    read_tokens_file: Path | None = None
    admin_tokens_file: Path | None = None
    lease_s: float = Field(60.0, gt=0, le=86_400, allow_inf_nan=False)
    heartbeat_s: float = Field(20.0, gt=0, allow_inf_nan=False)
    root_path: str = ""
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1024)
    workers_kept_days: float = Field(30.0, gt=0, le=36_500, allow_inf_nan=False)
    events_kept_days: float = Field(30.0, gt=0, le=36_500, allow_inf_nan=False)
    log_format: Literal["auto", "json", "pretty"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("worker_tokens", "read_tokens", "admin_tokens", mode="before")
    @classmethod
    def _split_tokens(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        tokens = [token.strip() for token in re.split("[,\n]", value)]
        return tuple(token for token in tokens if token)

    @model_validator(mode="before")
    @classmethod
    def _read_token_files(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Tokens in files are added to those in the environment."""
        for name in ("worker_tokens", "read_tokens", "admin_tokens"):
            file = given.get(f"{name}_file")
            if file:
                tokens = [str(given.get(name) or ""), _read_tokens(file)]
                given = {**given, name: "\n".join(tokens)}
        return given

    @field_validator("read_tokens", "admin_tokens")
    @classmethod
    def _refuse_studies(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(split_entry(token.get_secret_value())[0] for token in tokens):
            raise ValueError(
                "only worker tokens can be limited to a study, as in STUDY:TOKEN"
            )
        return tokens

    @field_validator("worker_tokens", "read_tokens", "admin_tokens")
    @classmethod
    def _check_length(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        secrets = [split_entry(token.get_secret_value())[1] for token in tokens]
        if any(len(secret) < SHORTEST_TOKEN for secret in secrets):
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

    @field_validator("root_path")
    @classmethod
    def _check_root_path(cls, path: str) -> str:
        path = path.rstrip("/")
        if path and not ROOT_PATH.fullmatch(path):
            raise ValueError("it must begin with a slash, as in /counterpoise")
        return path

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
            split_entry(token.get_secret_value())[1].startswith("demo-")
            for token in self.tokens
        )

    @property
    def on_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


def split_entry(entry: str) -> tuple[str | None, str]:
    """The study to which a token is limited, if it is, and the token."""
    study, colon, token = entry.rpartition(":")
    return (study, token) if colon else (None, entry)


def _read_tokens(file: object) -> str:
    try:
        return Path(str(file)).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ValueError(
            f"the file {file} of tokens cannot be read: {reason}"
        ) from None


def _is_sqlite_file(url: str) -> bool:
    file = url.removeprefix("sqlite:///")
    return file not in ("", url) and ":memory:" not in file and "?" not in file


def _postgresql_url(rest: str) -> str:
    authority, _, query = rest.partition("?")
    if "password=" in query:
        raise ValueError(
            "the password goes before the host, as in postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    server, _, database = authority.partition("/")
    if server.count("@") > 1 or "@" in database:
        raise ValueError(
            "special characters in a password must be written as %40 (@), %2F (/) and %3A (:)"
        )
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
