"""What deeds need, loaded once for all of them."""

from app.planner import planner
from app.service.files import import_evaluations as importing
from app.service.planning import replay
from app.service.studies import lifecycle as studies
from app.service.work import ask, heartbeat
from app.store import upgrade
from tests.reliability import elsewhere

__all__ = ["ask", "elsewhere", "heartbeat", "importing", "planner", "replay", "studies", "upgrade"]
