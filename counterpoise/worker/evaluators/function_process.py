"""Runs inside an evaluation process: loads the functions, then evaluates job after job.

Imports nothing large.

Messages are lines of JSON, one pipe for each direction. The first message is what to
load; the reply is `ready` or `load_error`. The others are jobs; the reply is `returned`
or `raised`. Standard output and standard error belong to the simulation.
"""

import difflib
import faulthandler
import inspect
import json
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from counterpoise.wire.codes import FailureKind
from counterpoise.worker.simulation_api import Infeasible, Infrastructure, to_floats

Function = Callable[..., Any]
Message = dict[str, Any]
MESSAGE_TAIL = 4000
MAIN = "__counterpoise_main__"
_process_id = 0  # of this process, if it is an evaluation process


def is_evaluation_process() -> bool:
    return _process_id != 0


def main() -> None:
    global _process_id
    _process_id = os.getpid()
    incoming, outgoing = int(sys.argv[1]), int(sys.argv[2])
    sys.argv[1:] = []
    for descriptor in (incoming, outgoing):
        os.set_inheritable(descriptor, False)
    faulthandler.enable()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # output before a crash is not lost
    functions: dict[str, Function] = {}
    with (
        os.fdopen(incoming, encoding="utf-8") as messages,
        os.fdopen(outgoing, "w", encoding="utf-8") as replies,
    ):
        for line in messages:
            message = json.loads(line)
            reply = (
                evaluate(functions[message["objective"]], message)
                if functions
                else load(message, functions)
            )
            _flush_output()
            if is_copy():
                os._exit(0)
            replies.write(json.dumps(reply) + "\n")
            replies.flush()


def load(message: Message, functions: dict[str, Function]) -> Message:
    sys.path[:] = message["path"]
    loaded = {}
    for objective, reference in message["functions"].items():
        try:
            loaded[objective] = find_function(**reference)
        except FunctionNotFound as error:
            return {"load_error": f"objective {objective!r}: {error}"}
        except BaseException as error:  # noqa: BLE001  anything that an import raises, including SystemExit
            return {"load_error": f"objective {objective!r}: {describe(error)}"}
    functions.update(loaded)
    return {"ready": True}


class FunctionNotFound(Exception):
    """There is no such module, or no such function in it: one line without a
    traceback.
    """


def find_function(
    module: str, name: str, file: str | None, pickled: str | None = None
) -> Function:
    found: Any
    if pickled is not None:
        found = pickle.loads(Path(pickled).read_bytes())  # noqa: S301  our own file
    else:
        found = import_named(module) if file is None else load_script(file)
        found = find_in_module(found, module, name)
    if not callable(found):
        raise TypeError(f"{module}:{name} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def import_named(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module != missing and not module.startswith(f"{missing}."):
            raise  # another module, which the one that was asked for imports
        raise FunctionNotFound(
            f"there is no module {missing!r} in {sys.path[0]} or among the installed"
            " packages"
        ) from None


def find_in_module(found: Any, module: str, name: str) -> Any:
    for part in name.split("."):
        if not hasattr(found, part):
            similar = difflib.get_close_matches(part, dir(found), n=1)
            hint = f"; did you mean {similar[0]!r}?" if similar else ""
            raise FunctionNotFound(f"module {module!r} has no function {name!r}{hint}")
        found = getattr(found, part)
    return found


def load_script(file: str) -> ModuleType:
    """Under another name, so that the block below `if __name__ == "__main__":` does not
    run.
    """
    if MAIN not in sys.modules:
        loader = SourceFileLoader(MAIN, file)
        spec = spec_from_loader(MAIN, loader)
        assert spec is not None  # noqa: S101
        sys.modules[MAIN] = sys.modules["__main__"] = module = module_from_spec(spec)
        loader.exec_module(module)
    return sys.modules[MAIN]


def evaluate(function: Function, job: Message) -> Message:
    arguments = (
        {"job": _job(job)} if "job" in inspect.signature(function).parameters else {}
    )
    began = time.monotonic()
    try:
        reply: Message = {"returned": to_floats(function(job["x"], **arguments))}
    except Infeasible as error:
        reply = {"raised": FailureKind.INFEASIBLE, "message": describe(error)}
    except Infrastructure as error:
        reply = {"raised": FailureKind.INFRASTRUCTURE, "message": describe(error)}
    except BaseException as error:  # SystemExit is a failure of the simulation, not the end of this process
        if is_copy():
            raise
        reply = {"raised": FailureKind.ERROR, "message": describe(error)}
    return {**reply, "duration_s": time.monotonic() - began}


def is_copy() -> bool:
    """Whether the function has made this process with os.fork, and returned in it: only
    the original replies.
    """
    return _process_id not in (0, os.getpid())


def _job(message: Message) -> Any:
    from counterpoise.wire.work import Job  # here: most functions do not need it

    return Job(**message)


def describe(error: BaseException) -> str:
    """The end of the traceback, which contains the error."""
    return "".join(traceback.format_exception(error)).rstrip()[-MESSAGE_TAIL:]


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed by the simulation
