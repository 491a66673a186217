"""What pydantic finds wrong with a request, as we say it: where, what, and what there is instead."""

from collections.abc import Sequence
from typing import Any, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from counterpoise.wire.problems import Fault, did_you_mean, must_be_one_of

Model = type[BaseModel]


class BodyInvalid(RequestValidationError):
    """A body that a route read by hand, as this model."""

    def __init__(self, error: ValidationError, model: Model) -> None:
        super().__init__(in_body(error))
        self.model = model


def in_body(error: ValidationError, *place: int) -> list[dict[str, Any]]:
    return [{**fault, "loc": ("body", *place, *fault["loc"])} for fault in error.errors()]


def fault_of(error: Any, model: Model | None) -> Fault:
    """`model`: what the body should have been, if that is known."""
    return Fault(pointer=printable(_pointer(error)), detail=printable(_words(error, model)))


def model_of(route: Any) -> Model | None:
    """What a route takes as its body."""
    body = getattr(route, "body_field", None)
    return _model_in(body.field_info.annotation) if body is not None else None


def printable(text: str) -> str:
    """Half a surrogate pair is possible in JSON, but not in an answer."""
    return text.encode(errors="replace").decode()


def _pointer(fault: Any) -> str:
    source, *path = fault["loc"]
    if fault["type"] == "json_invalid":
        return "#"
    if source == "body":
        return "#" + "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
    return f"{source} parameter {'.'.join(map(str, path))}"


def _words(fault: Any, model: Model | None) -> str:
    source, *path = fault["loc"]
    match fault["type"]:
        case "json_invalid":
            return f"not JSON: {fault['ctx']['error']} at character {fault['loc'][-1]}"
        case "missing":
            return f"`{path[-1]}` is required" if path else f"a {source} is required"
        case "extra_forbidden":
            return _no_such_field(str(path[-1])[:100], _fields(path, model))
        case "literal_error" | "enum":
            return must_be_one_of(fault["ctx"]["expected"], fault["input"])
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be an object"
    return str(fault["msg"]).removeprefix("Value error, ")


def _no_such_field(key: str, fields: Sequence[str]) -> str:
    near = did_you_mean(key, fields)
    there = f"{'is' if len(fields) == 1 else 'are'} {', '.join(fields)}"
    return "there is no such field" + (f"{near} There {there}" if near else f"; there {there}" if fields else "")


def _fields(path: Sequence[int | str], model: Model | None) -> list[str]:
    """The fields of that part of the model in which the last of the path was looked for."""
    for part in path[:-1]:
        if isinstance(part, str) and model is not None:
            model = _model_in(model.model_fields[part].annotation) if part in model.model_fields else None
    return list(model.model_fields) if model is not None else []


def _model_in(annotation: Any) -> Model | None:
    """`Stop` of `Stop | None`."""
    choices = get_args(annotation) or (annotation,)
    return next((each for each in choices if isinstance(each, type) and issubclass(each, BaseModel)), None)
