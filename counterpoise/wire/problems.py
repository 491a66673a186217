"""Errors and health, as they go over the wire."""

from pydantic import BaseModel, Field


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    pointer: str = Field(
        description="where: a JSON pointer into the body, or the parameter", examples=["#/variables/0/low"]
    )
    detail: str = Field(description="what is wrong there", examples=["Input should be a valid number"])


class Problem(BaseModel):
    """An error, as RFC 9457 `application/problem+json`."""

    type: str = Field(
        description="stable name of the kind of problem", examples=["urn:counterpoise:problem:invalid-request"]
    )
    title: str = Field(description="the kind of problem in words", examples=["The request is not valid"])
    status: int = Field(examples=[422])
    detail: str = Field(description="what happened here, and how to put it right")
    instance: str = Field(description="the path that was asked for", examples=["/studies"])
    request_id: str = Field(description="the same id as in the server's log and the X-Request-ID header")
    errors: list[Fault] = Field(default=[], description="every fault of an invalid request")


class Status(BaseModel):
    """What a health check answers."""

    status: str = Field(examples=["ok"])
