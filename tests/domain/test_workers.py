"""Which live workers take which jobs, and whether one of their slots is free."""

from typing import Any

import pytest

from app.domain.workers import HeldLease, Worker, pool_of


def worker(number: int, **changes: Any) -> Worker:
    fields: dict[str, Any] = {
        "id": number,
        "name": f"node{number}",
        "first_seen_at": 0.0,
        "last_seen_at": 50.0,
        "studies": ["*"],
        "objectives": ["*"],
        "slots": 1,
        "drained": False,
        "done": 0,
        "failures": {},
        "busy_s": 0.0,
    }
    return Worker(**(fields | changes))


def test_a_pool_has_the_workers_that_ask_for_the_objective() -> None:
    workers = [
        worker(1, studies=["wing"], objectives=["crash"], slots=2),
        worker(2, drained=True),
        worker(3, studies=["door"]),
        worker(4, objectives=["mass"]),
        worker(5, slots=3),
    ]
    pool = pool_of(workers, {1: [HeldLease(7, 1.0)]}, "wing", "crash")
    assert [one.id for one in pool.able] == [1, 5]
    assert [one.id for one in pool.drained] == [2]
    assert (pool.slots, pool.busy, pool.has_free_slots) == (5, 1, True)


@pytest.mark.parametrize(("leases", "is_free"), [(0, True), (1, False), (4, False)])
def test_leases_beyond_a_workers_slots_do_not_fill_those_of_others(
    leases: int, is_free: bool
) -> None:
    held = {1: [HeldLease(job, 1.0) for job in range(leases)], 2: [HeldLease(9, 1.0)]}
    pool = pool_of([worker(1), worker(2)], held, "wing", "crash")
    assert pool.busy == min(leases, 1) + 1
    assert pool.has_free_slots is is_free
    assert not pool_of([], held, "wing", "crash").has_free_slots
