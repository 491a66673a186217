"""Two upgrades at once, and an upgrade that is killed; of an empty database and of the
first version's data.
"""

from collections.abc import Iterator

import pytest

from app.store.database import Database
from app.store.upgrade import drift, head, revision, upgrade
from tests.reliability.faults.fault_processes import FaultPoints
from tests.reliability.faults.first_version_data import (
    FIRST_REVISION,
    check_first_version_kept,
    write_first_version,
)


@pytest.fixture(params=[None, FIRST_REVISION])
def before(request: pytest.FixtureRequest) -> str | None:
    """The revision before the upgrade; None: an empty database."""
    revision: str | None = request.param
    return revision


@pytest.fixture
def old_database(empty_url: str, before: str | None) -> Iterator[Database]:
    database = Database(empty_url)
    if before:
        write_first_version(database)
    yield database
    database.close()


def check_upgraded(database: Database, before: str | None) -> None:
    assert revision(database) == head()
    assert drift(database) == []
    if before:
        check_first_version_kept(database)


def test_one_of_two_upgrades_finds_the_work_done(
    old_database: Database, faults: FaultPoints, before: str | None
) -> None:
    with faults.held("upgrade.written", upgrade, old_database) as other:
        results = other.run_beside(lambda: upgrade(old_database))
    assert results.waited
    assert results.held == (before, head())
    assert results.other == (head(), head())
    check_upgraded(old_database, before)


def test_killed_upgrade_changes_nothing(
    old_database: Database, faults: FaultPoints, before: str | None
) -> None:
    faults.run_until_killed("upgrade.written", upgrade, old_database)
    assert revision(old_database) == before
    assert upgrade(old_database) == (before, head())
    check_upgraded(old_database, before)
