"""The OpenAPI document: what FastAPI derives, and the shapes of bodies that are parsed by hand to list every fault."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.openapi_links import add_links
from counterpoise.wire.specification import Specification
from counterpoise.wire.work import Tell

BY_HAND: tuple[type[BaseModel], ...] = (Specification, Tell)


def reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def body(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    """`openapi_extra` of a route whose body is parsed by hand."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}}


def install_document(app: FastAPI, *, with_tokens: bool) -> None:
    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            _, shapes = models_json_schema(
                [(model, "validation") for model in BY_HAND], ref_template="#/components/schemas/{model}"
            )
            made.setdefault("components", {}).setdefault("schemas", {}).update(shapes["$defs"])
            add_links(made["paths"])
            app.openapi_schema = made if with_tokens else _without_security(made)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _without_security(document: dict[str, Any]) -> dict[str, Any]:
    """A server without tokens asks for none."""
    document["components"].pop("securitySchemes", None)
    for methods in document["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    return document
