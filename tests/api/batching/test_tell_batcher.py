"""The batcher of tells: one transaction for tells that arrive together, one error for
the request that causes it.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from app.api.batching.tell_batcher import TellBatcher
from app.errors import DatabaseUnusable
from app.service.work.tell import tell
from app.store.database import Database
from counterpoise.wire.work import Tell, Told
from tests.api.wing import Wing, evaluate

MODULE = "app.api.batching.tell_batcher"


def tells_of(wing: Wing, count: int) -> list[Tell]:
    jobs = wing.ask("mass", max_jobs=count)["jobs"]
    return [Tell(**evaluate(job)) for job in jobs]


async def tell_in_requests(database: Database, tells: Sequence[Tell]) -> list[Any]:
    """The results of one request for each tell, all sent at the same time."""
    batcher = TellBatcher(database)
    requests = [batcher.tell([item]) for item in tells]
    results = await asyncio.gather(*requests, return_exceptions=True)
    await batcher.stop()
    return results


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of tells in each transaction."""
    sizes: list[int] = []

    def counted(database: Database, items: Sequence[Tell]) -> list[Told]:
        sizes.append(len(items))
        return tell(database, items)

    monkeypatch.setattr(f"{MODULE}.tell", counted)
    return sizes


def test_tells_that_arrive_together_share_a_transaction(
    wing: Wing, batch_sizes: list[int]
) -> None:
    tells = tells_of(wing, 4)
    results = asyncio.run(tell_in_requests(wing.database, tells))
    assert [result.job for (result,) in results] == [item.job for item in tells]
    assert batch_sizes == [4]


def test_a_transaction_has_a_limit(
    wing: Wing, batch_sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{MODULE}.MOST_AT_ONCE", 2)
    asyncio.run(tell_in_requests(wing.database, tells_of(wing, 4)))
    assert batch_sizes == [2, 2]


def test_an_error_fails_only_the_request_that_causes_it(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    tells = tells_of(wing, 3)

    def broken(database: Database, items: Sequence[Tell]) -> list[Told]:
        if tells[1] in items:
            raise RuntimeError("this one is broken")
        return tell(database, items)

    monkeypatch.setattr(f"{MODULE}.tell", broken)
    first, second, third = asyncio.run(tell_in_requests(wing.database, tells))
    assert (first[0].status, third[0].status) == (200, 200)
    assert isinstance(second, RuntimeError)


def test_an_unusable_database_is_tried_once_for_all_that_wait(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    tells = tells_of(wing, 3)
    calls: list[int] = []

    def locked(database: Database, items: Sequence[Tell]) -> list[Told]:
        calls.append(len(items))
        raise DatabaseUnusable("it is locked")

    monkeypatch.setattr(f"{MODULE}.tell", locked)
    results = asyncio.run(tell_in_requests(wing.database, tells))
    assert calls == [3]
    assert all(isinstance(result, DatabaseUnusable) for result in results)
