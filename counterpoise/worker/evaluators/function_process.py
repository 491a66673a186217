"""Runs inside an evaluation process: loads the functions, then evaluates job after job.

Imports nothing large.

Messages are lines of JSON, one pipe for each direction. The first message is what to
load; the reply is `ready` or `load_error`. The others are jobs; the reply is `returned`
or `raised`. Standard output and standard error belong to the simulation.
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
        except BaseException as error:  # noqa: BLE001  anything that an import raises, including SystemExit
            return {"load_error": f"objective {objective!r}: {describe(error)}"}
    functions.update(loaded)
    return {"ready": True}


def find_function(module: str, name: str, file: str | None) -> Function:
    found: Any = import_module(module) if file is None else load_script(file)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{module}:{name} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


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
        reply = {"raised": "infeasible", "message": describe(error)}
    except Infrastructure as error:
        reply = {"raised": "infrastructure", "message": describe(error)}
    except BaseException as error:  # SystemExit is a failure of the simulation, not the end of this process
        if is_copy():
            raise
        reply = {"raised": "error", "message": describe(error)}
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
