"""The modules that fault processes need, imported once in the fork server."""

from app.planner import planner
from app.service.files import import_evaluations
from app.service.planning import replay
from app.service.studies import lifecycle
from app.service.work import ask, heartbeat
from app.store import upgrade
from tests.reliability.faults import fault_processes

__all__ = [
    "ask",
    "fault_processes",
    "heartbeat",
    "import_evaluations",
    "lifecycle",
    "planner",
    "replay",
    "upgrade",
]
