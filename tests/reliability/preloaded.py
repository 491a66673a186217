"""What deeds need, loaded once for all of them."""

from app import planner
from app.service import ask, heartbeat, importing, replay, studies
from app.store import upgrade
from tests.reliability import elsewhere

__all__ = ["ask", "elsewhere", "heartbeat", "importing", "planner", "replay", "studies", "upgrade"]
