"""Where an evaluation process finds a function."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class FunctionUnusable(Exception):
    """A function cannot be loaded; the message contains which and why."""


@dataclass(frozen=True, slots=True)
class FunctionReference:
    module: str
    name: str
    file: str | None = None  # the script, for functions of `__main__`
    pickled: str | None = None  # a file with the function itself

    @classmethod
    def parse(cls, text: str) -> "FunctionReference":
        module, colon, name = text.partition(":")
        if not (colon and module and name):
            raise FunctionUnusable(
                f"{text!r} is not a function; write package.module:function"
            )
        return cls(module, name)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "FunctionReference":
        module, name = function.__module__, function.__qualname__
        if "<" in name:
            hint = "define it with `def` at the top of a module"
            raise FunctionUnusable(
                f"an evaluation process cannot find {name} of {module}; {hint}"
            )
        if module != "__main__":
            return cls(module, name)
        main = sys.modules["__main__"]
        if main.__spec__ is not None:  # python -m
            return cls(main.__spec__.name, name)
        file = getattr(main, "__file__", None)
        if file is None:
            hint = "put it into a file"
            raise FunctionUnusable(
                f"an evaluation process cannot find {name}, defined interactively; {hint}"
            )
        return cls(module, name, str(Path(file).absolute()))
