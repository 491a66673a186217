"""Functions of this program as files that evaluation processes load: for lambdas,
closures, and functions of a notebook, of standard input or of the script itself.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterpoise.worker.evaluators.function_reference import (
    FunctionReference,
    FunctionUnusable,
)


def reference_to(
    objective: str, function: Callable[..., Any], folder: Path
) -> FunctionReference:
    """Where an evaluation process finds the function; it is written into the folder if
    no module has it.
    """
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None) or "__main__"
    if _is_importable(module, name, function):
        return FunctionReference(module, name)
    if importlib.util.find_spec("cloudpickle") is None:
        raise FunctionUnusable(
            f"objective {objective!r}: {name} is not a function of an importable"
            " module; put it into a file and import it, or: pip install cloudpickle"
        )
    import cloudpickle

    try:
        content = cloudpickle.dumps(function)
    except Exception as error:
        raise FunctionUnusable(
            f"objective {objective!r}: {name} cannot be sent to an evaluation process"
            f" ({_first_line(error)}); create what cannot be copied (files, locks,"
            " connections) inside the function"
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{objective}.pickle"
    file.write_bytes(content)
    return FunctionReference(module, name, pickled=str(file))


def _is_importable(module: str, name: str, function: Callable[..., Any]) -> bool:
    if module == "__main__":
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is function


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
