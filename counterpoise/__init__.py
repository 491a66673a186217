"""What an engineer installs on any node: client, worker and command line.

Needs no numerical libraries.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoise.client import Client as Client
    from counterpoise.errors import RequestFailed as RequestFailed
    from counterpoise.local.optimize import optimize as optimize
    from counterpoise.local.result import Result as Result
    from counterpoise.worker.script_worker import Worker as Worker
    from counterpoise.worker.simulation_api import Infeasible as Infeasible
    from counterpoise.worker.simulation_api import Infrastructure as Infrastructure

__version__ = version("counterpoise")
# Imported on first use: a command that needs none of them starts faster.
_MODULES = {
    "Client": "counterpoise.client",
    "RequestFailed": "counterpoise.errors",
    "Result": "counterpoise.local.result",
    "optimize": "counterpoise.local.optimize",
    "Infeasible": "counterpoise.worker.simulation_api",
    "Infrastructure": "counterpoise.worker.simulation_api",
    "Worker": "counterpoise.worker.script_worker",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'counterpoise' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
