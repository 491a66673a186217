"""Inside an evaluation process: load the functions, then evaluate job after job. Imports nothing heavy.

Lines of JSON, in by one pipe and out by another. First what to load, answered with `ready` or `broken`; then jobs,
answered with `returned` or `raised`. Standard output and standard error are the simulation's own.
"""

import faulthandler
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any

from counterpoise.worker.simulation_api import Infeasible, Infrastructure, numbers_of

TAIL = 4000
MAIN = "__counterpoise_main__"
inside = 0  # the number of this process, if it is one that evaluates


def main() -> None:
    global inside
    inside = os.getpid()
    incoming, outgoing = (int(number) for number in sys.argv[1:3])
    sys.argv[1:] = []
    for number in (incoming, outgoing):
        os.set_inheritable(number, False)
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what was printed before a crash is kept
    with os.fdopen(incoming, encoding="utf-8") as lines, os.fdopen(outgoing, "w", encoding="utf-8") as answers:
        functions: dict[str, Callable[..., Any]] = {}
        for line in lines:
            said = json.loads(line)
            answer = evaluate(functions[said["objective"]], said) if functions else load(said, functions)
            _flush()
            if is_copy():
                os._exit(0)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def load(said: dict[str, Any], functions: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    sys.path[:] = said["path"]
    loaded = {}
    for objective, reference in said["functions"].items():
        try:
            loaded[objective] = find(**reference)
        except BaseException as error:  # noqa: BLE001  whatever importing it raises, SystemExit included
            return {"broken": f"objective {objective!r}: {describe(error)}"}
    functions.update(loaded)
    return {"ready": True}


def find(module: str, name: str, file: str | None) -> Callable[..., Any]:
    found: Any = import_module(module) if file is None else main_module(file)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{module}:{name} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def main_module(file: str) -> ModuleType:
    """The user's script under another name, so that what stands below `if __name__ == "__main__":` does not run."""
    if MAIN not in sys.modules:
        loader = SourceFileLoader(MAIN, file)
        spec = spec_from_loader(MAIN, loader)
        assert spec is not None  # noqa: S101
        sys.modules[MAIN] = sys.modules["__main__"] = module = module_from_spec(spec)
        loader.exec_module(module)
    return sys.modules[MAIN]


def evaluate(function: Callable[..., Any], said: dict[str, Any]) -> dict[str, Any]:
    given = {"job": _job(said)} if "job" in inspect.signature(function).parameters else {}
    began = time.monotonic()
    try:
        answer: dict[str, Any] = {"returned": numbers_of(function(said["x"], **given))}
    except Infeasible as error:
        answer = {"raised": "infeasible", "words": describe(error)}
    except Infrastructure as error:
        answer = {"raised": "infrastructure", "words": describe(error)}
    except BaseException as error:  # a simulation's SystemExit is its failure, not this process's end
        if is_copy():
            raise
        answer = {"raised": "error", "words": describe(error)}
    return answer | {"duration_s": time.monotonic() - began}


def is_copy() -> bool:
    """Made by the function with os.fork, and came back from it: to answer is for the original alone."""
    return inside not in (0, os.getpid())


def _job(said: dict[str, Any]) -> Any:
    from counterpoise.wire.work import Job  # here: most functions do without

    return Job(**said)


def describe(error: BaseException) -> str:
    """The end of the traceback, which names the error."""
    return "".join(traceback.format_exception(error)).rstrip()[-TAIL:]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed by the simulation: nothing to keep
