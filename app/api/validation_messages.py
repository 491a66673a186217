"""Messages for what pydantic finds wrong with a request: where, what, and which values
or fields are possible.
"""

from collections.abc import Sequence
from typing import Any, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from counterpoise.wire.problems import Fault, did_you_mean, fault_at, must_be_one_of
from counterpoise.wire.text import printable

Model = type[BaseModel]


class BodyInvalid(RequestValidationError):
    """The body of a route that parses it itself does not fit this model."""

    def __init__(self, error: ValidationError, model: Model) -> None:
        super().__init__(errors_in_body(error))
        self.model = model


def errors_in_body(error: ValidationError, *parents: int) -> list[dict[str, Any]]:
    """Pydantic's errors, located from the root of the body; `parents` are the indexes
    above the validated part.
    """
    return [
        {**fault, "loc": ("body", *parents, *fault["loc"])} for fault in error.errors()
    ]


def to_fault(error: Any, model: Model | None) -> Fault:
    """`model` is the model of the body, if there is one."""
    source, *path = error["loc"]
    detail = _message(error, model)
    if error["type"] == "json_invalid":
        return fault_at([], detail)
    if source == "body":
        return fault_at(path, detail)
    name = ".".join(map(str, path))
    return Fault(
        pointer=printable(f"{source} parameter {name}"), detail=printable(detail)
    )


def model_of(route: Any) -> Model | None:
    """The model of a route's body."""
    body = getattr(route, "body_field", None)
    return _model_in(body.field_info.annotation) if body is not None else None


def _message(error: Any, model: Model | None) -> str:
    source, *path = error["loc"]
    match error["type"]:
        case "json_invalid":
            return f"not JSON: {error['ctx']['error']} at character {path[-1]}"
        case "missing":
            return f"`{path[-1]}` is required" if path else f"a {source} is required"
        case "extra_forbidden":
            return _unknown_field(str(path[-1])[:100], _fields_beside(path, model))
        case "literal_error" | "enum":
            return must_be_one_of(error["ctx"]["expected"], error["input"])
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be an object"
    return str(error["msg"]).removeprefix("Value error, ")


def _unknown_field(name: str, fields: Sequence[str]) -> str:
    message = "there is no such field"
    if not fields:
        return message
    suggestion = did_you_mean(name, fields)
    verb = "is" if len(fields) == 1 else "are"
    known = f"{verb} {', '.join(fields)}"
    return (
        f"{message}{suggestion} There {known}"
        if suggestion
        else f"{message}; there {known}"
    )


def _fields_beside(path: Sequence[int | str], model: Model | None) -> list[str]:
    """The fields of the part of the model that holds the last item of the path."""
    for part in path[:-1]:
        if isinstance(part, str) and model is not None:
            field = model.model_fields.get(part)
            model = _model_in(field.annotation) if field is not None else None
    return list(model.model_fields) if model is not None else []


def _model_in(annotation: Any) -> Model | None:
    """The model in an annotation such as `Stop | None`."""
    for choice in get_args(annotation) or (annotation,):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return None
