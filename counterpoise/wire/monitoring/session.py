"""/me, /login and /logout: who a browser or a program is to the server."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from counterpoise.wire.work import Request

Role = Literal["worker", "read", "admin"]


class Login(Request):
    """Exchanges a read or admin token for a cookie."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Me(BaseModel):
    """Never refused: a page learns from it whether to show a login.

    Without tokens every request of this machine has the role `admin`.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "role": "read",
                "login_required": True,
                "by": "cookie",
                "expires_at": "2026-11-18T08:00:00.000Z",
                "version": "0.1.0",
            }
        }
    )

    role: Role | None = Field(description="null: log in first")
    login_required: bool = Field(description="whether the server has tokens")
    by: Literal["token", "cookie"] | None = Field(
        description="what gives the role; null without tokens, and without a role"
    )
    expires_at: str | None = Field(None, description="when the cookie expires")
    version: str = Field(description="of the server")
