"""Rules of workers: ask, tell, heartbeat, release; and leases that expire."""

from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from sqlalchemy import Connection, update

from app.errors import JobNotCancellable
from app.service.work.ask import serve_asks
from app.service.work.cancel import cancel_job
from app.service.work.expire import expire_leases
from app.service.work.goodbye import goodbye
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.service.work.tell import tell
from app.store.tables import jobs, server_uptime
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Ask, Failure, Tell
from tests.reliability.machine.planning_rules import PlanningRules
from tests.reliability.machine.study_machine import NAME
from tests.reliability.model import work as model_work
from tests.reliability.model.records import Attempt, TellItem

ANY_OBJECTIVE = ["*"]
UNKNOWN_LEASE = "0" * 32
OUTCOMES: dict[
    str, tuple[str | None, ...]
] = {  # of attempts, by the kind of their lease
    "live": (None,),
    "ended": ("expired", "released", "overtaken", "cancelled"),
    "reported": ("done", "failed", "late"),
}
INDEX = st.integers(0, 999)  # of the thing to pick, modulo how many there are
VALUES = st.sampled_from([0.0, 1.5, -2.0, 1e6])
RESULTS = st.sampled_from(
    ["value", "value", "value", "infeasible", "error", "infrastructure"]
)
CO_VALUES = st.sampled_from(["all", "all", "none", "wrong"])
LEASE_KINDS = st.sampled_from(
    ["live", "live", "ended", "ended", "reported", "unknown", "wrong job"]
)


class TellDraft(NamedTuple):
    """An item of a tell before its lease and its job are picked."""

    lease_kind: str
    pick: int
    result: str
    value: float
    also: str


DRAFTS = st.builds(TellDraft, LEASE_KINDS, INDEX, RESULTS, VALUES, CO_VALUES)


class WorkRules(PlanningRules):
    def __init__(self) -> None:
        super().__init__()
        self.worker_of: dict[str, str] = {}  # by lease

    @rule(
        objectives=st.sampled_from([["mass"], ["crash"], ANY_OBJECTIVE]),
        max_jobs=st.integers(1, 6),
        worker=st.sampled_from("ab"),
    )
    def ask_for_jobs(
        self,
        objectives: list[str],
        max_jobs: int,
        worker: str,
    ) -> None:
        self.lease_jobs(objectives, max_jobs, worker)

    def lease_jobs(
        self,
        objectives: list[str],
        max_jobs: int,
        worker: str,
    ) -> list[Any]:
        ask = Ask(
            worker=worker,
            instance=f"process-of-{worker}",
            studies=[NAME],
            objectives=objectives,
            max_jobs=max_jobs,
        )
        (leased,) = serve_asks(self.database, [ask], 20.0)
        runs = (
            list(self.model.rules.runs) if objectives == ANY_OBJECTIVE else objectives
        )
        expected = model_work.ask(self.model, runs, max_jobs)
        assert sorted(job.job for job in leased) == sorted(expected)
        for job in leased:
            model_work.lease(self.model, job.job, job.lease)
            self.worker_of[job.lease] = worker
            assert job.also == self.model.rules.runs[job.objective]
        return leased

    def ensure_leases(self) -> bool:
        """Lease jobs if none is leased and any can be; return whether there is any
        attempt.
        """
        if not self.model.leased_jobs and not self.lease_jobs(ANY_OBJECTIVE, 3, "a"):
            self.run_step()
            self.lease_jobs(ANY_OBJECTIVE, 3, "a")
        return bool(self.model.attempts)

    def pick_leased_job(self, index: int) -> int | None:
        self.ensure_leases()
        leased = self.model.leased_jobs
        return leased[index % len(leased)] if leased else None

    @rule(drafts=st.lists(DRAFTS, min_size=1, max_size=4))
    def tell_list(self, drafts: list[TellDraft]) -> None:
        if self.ensure_leases():
            self.tell([self.tell_item(draft) for draft in drafts])

    def tell_item(self, draft: TellDraft) -> TellItem:
        """One of the newest leases of its kind, so that several items of a list concern
        one job.
        """
        leases = self.leases_of_kind(draft.lease_kind) or list(self.model.attempts)
        lease = newest(leases, 4, draft.pick)
        job = self.model.attempts[lease].job
        item = self.result_item(job, lease, draft.result, draft.value, draft.also)
        if draft.lease_kind == "wrong job":
            item.job += 1
        if draft.lease_kind == "unknown":
            item.lease = UNKNOWN_LEASE
        return item

    def leases_of_kind(self, kind: str) -> list[str]:
        outcomes = OUTCOMES.get(kind, ())
        attempts = self.model.attempts
        return [lease for lease in attempts if attempts[lease].outcome in outcomes]

    def result_item(
        self,
        job: int,
        lease: str,
        result: str,
        value: float,
        also: str,
    ) -> TellItem:
        if result != "value":
            return TellItem(job, lease, failure=result)
        co_values: dict[str, float] = {}
        if also == "all":
            co_values = dict.fromkeys(self.co_objectives_of(job), value + 1.0)
        elif also == "wrong":
            co_values = {"cost": value}
        return TellItem(job, lease, value, also=co_values)

    def co_objectives_of(self, job: int) -> list[str]:
        return self.model.rules.runs[self.model.jobs[job].objective]

    def tell(self, items: list[TellItem]) -> None:
        for item in items:
            self.seen.add(self.kind_of_tell(item))
        told = tell(self.database, [wire_item(item) for item in items])
        responses = [(response.status, response.state) for response in told]
        assert responses == model_work.tell(self.model, items)

    def kind_of_tell(self, item: TellItem) -> str:
        attempt = self.model.attempts.get(item.lease)
        if attempt is None or attempt.job != item.job:
            return "unknown"
        if attempt.is_reported:
            return f"repeated: {kind_of_repetition(item, attempt)}"
        job = self.model.jobs[item.job]
        state = "held" if job.lease == item.lease else job.state
        return f"{item.failure or 'value'}: {state}"

    @rule(max_jobs=st.sampled_from([1, 2, 3, 20]))
    def complete_some_jobs(self, max_jobs: int) -> None:
        self.complete_jobs(max_jobs)

    def complete_jobs(self, max_jobs: int) -> bool:
        """Ask, evaluate and tell, as a worker does without faults; return False if
        there was no job.
        """
        items = []
        for job in self.lease_jobs(ANY_OBJECTIVE, max_jobs, "c"):
            value = sum(job.x.values())
            also = dict.fromkeys(job.also, 1.0)
            items.append(TellItem(job.job, job.lease, value, also=also))
        if items:
            self.tell(items)
        return bool(items)

    @rule(indices=st.lists(INDEX, min_size=1, max_size=3, unique=True))
    def send_heartbeats(self, indices: list[int]) -> None:
        if self.ensure_leases():
            self.heartbeat(self.newest_leases(indices))

    def heartbeat(self, leases: list[str]) -> None:
        for lease in leases:
            self.seen.add(self.kind_of_heartbeat(lease))
        alive = heartbeat(self.database, leases)
        responses = [
            (response.expires_at is not None, response.cancel) for response in alive
        ]
        # The server extends all current leases before it revives any; the order makes
        # no difference to the result.
        assert responses == [
            model_work.heartbeat(self.model, lease) for lease in leases
        ]

    def kind_of_heartbeat(self, lease: str) -> str:
        cancel = ", cancel" if self.model.cancel_running else ""
        if model_work.may_revive(self.model, lease):
            return f"heartbeat: revived{cancel}"
        attempt = self.model.attempts[lease]
        job = self.model.jobs[attempt.job]
        return f"heartbeat: {attempt.outcome}, {job.state}{cancel}"

    @rule(indices=st.lists(INDEX, min_size=1, max_size=3, unique=True))
    def release_leases(self, indices: list[int]) -> None:
        if self.ensure_leases():
            self.release(self.newest_leases(indices))

    def release(self, leases: list[str]) -> None:
        expected = [lease for lease in leases if model_work.release(self.model, lease)]
        assert sorted(release(self.database, leases)) == sorted(expected)

    @rule(worker=st.sampled_from("abc"))
    def say_goodbye(self, worker: str) -> None:
        """A process ends, or is known to have ended: all its leases are released."""
        leases = [lease for lease in self.worker_of if self.worker_of[lease] == worker]
        expected = [lease for lease in leases if model_work.release(self.model, lease)]
        released = goodbye(self.database, worker, f"process-of-{worker}")
        assert sorted(released) == sorted(expected)

    @rule(index=INDEX, fail=st.booleans())
    def cancel_job_by_hand(self, index: int, fail: bool) -> None:
        self.ensure_leases()
        numbers = sorted(self.model.jobs)
        if not numbers:
            return
        leased = self.model.leased_jobs
        number = (
            leased[index % len(leased)]
            if leased and index % 4
            else numbers[index % len(numbers)]
        )
        self.cancel(number, fail)

    def cancel(self, number: int, fail: bool) -> None:
        is_possible = model_work.cancel(self.model, number, fail=fail)
        if is_possible:
            state = cancel_job(self.database, number, fail=fail)
            assert state == self.model.jobs[number].state
        else:
            with pytest.raises(JobNotCancellable):
                cancel_job(self.database, number, fail=fail)

    def newest_leases(self, indices: list[int]) -> list[str]:
        leases = list(self.model.attempts)
        picked = [newest(leases, 6, index) for index in indices]
        return list(dict.fromkeys(picked))

    @rule(indices=st.lists(INDEX, min_size=1, max_size=3))
    def expire_some_leases(self, indices: list[int]) -> None:
        self.ensure_leases()
        leased = self.model.leased_jobs
        if leased:
            self.expire({leased[index % len(leased)] for index in indices})

    def expire(self, numbers: set[int]) -> None:
        """All these leases are overdue at once; jobs expire in the order of their
        numbers.
        """

        expiring = update(jobs).where(jobs.c.id.in_(numbers))

        def make_overdue(connection: Connection) -> None:
            record_uptime(connection)
            connection.execute(update(server_uptime).values(resumed_at=0.0))
            connection.execute(expiring.values(expires_at=1.0))

        self.database.write(make_overdue)
        assert expire_leases(self.database) == len(numbers)
        model_work.expire(self.model, numbers)

    def end_backoffs(self) -> None:
        self.database.write(
            lambda connection: connection.execute(update(jobs).values(ready_at=None))
        )
        model_work.end_backoffs(self.model)


def newest(leases: list[str], count: int, index: int) -> str:
    """One of the newest leases."""
    return leases[-1 - index % min(len(leases), count)]


def kind_of_repetition(item: TellItem, attempt: Attempt) -> str:
    with_also = ", also" if item.also else ""
    if item.repeats(attempt):
        return f"same{with_also}"
    same_result = item.value == attempt.value and item.failure == attempt.failure
    return f"other also{with_also}" if same_result else f"other{with_also}"


def wire_item(item: TellItem) -> Tell:
    failure = Failure.model_validate({"kind": item.failure}) if item.failure else None
    return Tell(
        job=item.job,
        lease=item.lease,
        value=item.value,
        failure=failure,
        also=item.also,
    )
