"""The OpenAPI document: what FastAPI derives, and the schemas of bodies that routes
parse themselves.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.openapi.links import add_links
from counterpoise.wire.monitoring.session import Login
from counterpoise.wire.specification import Specification
from counterpoise.wire.work import Tell

Document = dict[str, Any]
# Routes parse these themselves, in order to list every fault.
PARSED_BY_ROUTES: tuple[type[BaseModel], ...] = (Specification, Tell, Login)


def operation_id(route: APIRoute) -> str:
    """The name of the route's function: what a generated client calls its method."""
    return route.name


def install_openapi(app: FastAPI, *, with_tokens: bool) -> None:
    def openapi() -> Document:
        if app.openapi_schema is None:
            app.openapi_schema = build_document(app, with_tokens=with_tokens)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def build_document(app: FastAPI, *, with_tokens: bool) -> Document:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    models = [(model, "validation") for model in PARSED_BY_ROUTES]
    _, definitions = models_json_schema(
        models,  # type: ignore[arg-type]
        ref_template="#/components/schemas/{model}",
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(definitions["$defs"])
    add_links(document["paths"])
    if not with_tokens:
        remove_security(document)
    return document


def remove_security(document: Document) -> None:
    document["components"].pop("securitySchemes", None)
    for operations in document["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)


def schema_reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def json_body(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    """`openapi_extra` of a route that parses its body itself."""
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}
