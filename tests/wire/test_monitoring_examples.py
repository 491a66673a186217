"""Every example of the dashboard's responses is one."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from counterpoise.wire import monitoring


def models_with_examples() -> Iterator[type[BaseModel]]:
    for module_info in pkgutil.iter_modules(monitoring.__path__):
        module = importlib.import_module(f"{monitoring.__name__}.{module_info.name}")
        for value in vars(module).values():
            is_model = isinstance(value, type) and issubclass(value, BaseModel)
            if is_model and "json_schema_extra" in value.model_config:
                yield value


@pytest.mark.parametrize(
    "model", list(models_with_examples()), ids=lambda model: model.__name__
)
def test_example_is_valid_and_complete(model: type[BaseModel]) -> None:
    extra = model.model_config["json_schema_extra"]
    assert isinstance(extra, dict)
    example = extra["example"]
    assert isinstance(example, dict)
    assert model.model_validate(example).model_dump(mode="json") == example
