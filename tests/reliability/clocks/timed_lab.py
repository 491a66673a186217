"""A lab with a server, housekeeping and live workers, in which time passes only as the
test says.
"""

from typing import Any

from app.service.work.expire import clean_up, expire_leases
from app.service.work.heartbeat import heartbeat
from app.store.database import Database
from app.store.tables import attempts
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Job
from tests.reliability.clocks.database_clock import DatabaseClock
from tests.service.lab import Lab

TICK_S = 3.0  # shorter than a gap that counts as an outage
LEASE_S = 12.0


class TimedLab(Lab):
    def __init__(
        self, database: Database, clock: DatabaseClock, **changes: Any
    ) -> None:
        self.clock = clock
        super().__init__(database, **changes)

    def pass_time(self, seconds: float, *alive: Job, served: bool = True) -> None:
        """Advance the clock in ticks; workers of `alive` jobs send heartbeats while a
        server runs (`served`).
        """
        for _ in range(round(seconds / TICK_S)):
            self.clock.advance(TICK_S)
            self.run_housekeeping(*alive, served=served)

    def run_housekeeping(self, *alive: Job, served: bool = True) -> None:
        clean_up(self.database)
        expire_leases(self.database)
        if served:
            self.database.write(record_uptime)
            if alive:
                self.heartbeat(*alive)

    def heartbeat(self, *alive: Job) -> None:
        responses = heartbeat(self.database, [job.lease for job in alive])
        for response in responses:
            assert (response.cancel, response.reason) == (False, None)

    def interrupt(self, rounds: int, *alive: Job) -> int:
        """A server that never runs for a whole lease time; return the round in which a
        lease expired first.
        """
        for number in range(rounds):
            self.pass_time(LEASE_S - 2 * TICK_S, *alive)
            self.pass_time(2 * TICK_S, served=False)
            if "expired" in self.outcomes():
                return number
        return rounds

    def outcomes(self) -> list[str | None]:
        return [row["outcome"] for row in self.rows(attempts)]

    def lease_all(self, objective: str) -> list[int]:
        """The numbers of all jobs that can be leased."""
        return [job.job for job in self.ask(objective, most=10)]


def running_lab(database: Database, clock: DatabaseClock, **changes: Any) -> TimedLab:
    """A planned study whose server has run for long."""
    lab = TimedLab(database, clock, lease_s=LEASE_S, **changes)
    lab.plan()
    lab.pass_time(2 * LEASE_S)
    return lab
