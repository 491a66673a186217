from collections.abc import Iterator

import pytest

from app.store.database import Database
from tests.reliability.clocks.database_clock import DatabaseClock, settable_clock
from tests.reliability.clocks.timed_lab import TimedLab, running_lab


@pytest.fixture
def clock(database_url: str) -> Iterator[DatabaseClock]:
    with settable_clock(database_url) as clock:
        yield clock


@pytest.fixture
def database(
    database_url: str, clock: DatabaseClock
) -> Iterator[Database]:  # the clock is made first
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def lab(database: Database, clock: DatabaseClock) -> TimedLab:
    return running_lab(database, clock)
