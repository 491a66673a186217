"""Rules of workers that lose their lease and come back, repeat a tell, or fail again
and again.
"""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.reliability.machine.work_rules import (
    ANY_OBJECTIVE,
    CO_VALUES,
    DRAFTS,
    INDEX,
    RESULTS,
    TellDraft,
    WorkRules,
)
from tests.reliability.model.records import TellItem

# Given meanwhile
OTHER_LEASES = {
    "nothing": 0,
    "other lease": 1,
    "other lease expired": 1,
    "job failed": 3,
}


class LateResultRules(WorkRules):
    @rule(index=INDEX)
    def reassign_expired_job(self, index: int) -> None:
        self.reassign(index)

    @rule(drafts=st.lists(DRAFTS, min_size=1, max_size=3), index=INDEX)
    def tell_after_reassignment(self, drafts: list[TellDraft], index: int) -> None:
        self.reassign(index)
        if self.model.attempts:
            late = [draft._replace(lease_kind="ended") for draft in drafts]
            self.tell([self.tell_item(draft) for draft in late])

    def reassign(self, index: int) -> None:
        """A lease expires and another worker gets the job."""
        number = self.pick_leased_job(index)
        if number is not None:
            self.expire({number})
        self.end_backoffs()
        self.lease_jobs(ANY_OBJECTIVE, 6, "b")

    @rule(index=INDEX, meanwhile=st.sampled_from(["nothing", *OTHER_LEASES]))
    def revive_lease(self, index: int, meanwhile: str) -> None:
        """A lease expires, and its worker sends a heartbeat at once or after other
        leases of the job.
        """
        number = self.pick_leased_job(index)
        if number is None:
            return
        lease = self.model.jobs[number].lease or ""
        self.expire({number})
        count = OTHER_LEASES[meanwhile]
        others = self.lease_repeatedly(
            number, count, expires=meanwhile != "other lease"
        )
        if count and not others:
            return  # the job cannot be leased any more
        self.heartbeat([lease])
        if meanwhile != "other lease expired":
            for other in others:
                self.heartbeat([other])

    def lease_repeatedly(
        self,
        number: int,
        count: int,
        *,
        expires: bool,
    ) -> list[str]:
        """Lease one job up to so many times; return the leases."""
        job = self.model.jobs[number]
        leases: list[str] = []
        for _ in range(count):
            self.end_backoffs()
            self.lease_jobs([job.objective], 20, "b")
            if job.lease is None:
                break
            leases.append(job.lease)
            if expires:
                self.expire({number})
        return leases

    @rule(
        index=INDEX,
        result=RESULTS,
        state=st.sampled_from(["held", "ready", "leased", "done", "infeasible"]),
        also=CO_VALUES,
    )
    def tell_when_job_is(
        self,
        index: int,
        result: str,
        state: str,
        also: str,
    ) -> None:
        """A worker tells a result when its job is in this state; `held`: by the worker
        itself.
        """
        number = self.pick_leased_job(index)
        if number is None:
            return
        job = self.model.jobs[number]
        lease = job.lease or ""
        if state != "held":
            self.expire({number})
        if state in ("leased", "done", "infeasible"):
            self.end_backoffs()
            self.lease_jobs([job.objective], 20, "b")
        if state in ("done", "infeasible") and job.lease:
            other_result = "value" if state == "done" else "infeasible"
            self.tell([self.result_item(number, job.lease, other_result, 3.0, "all")])
        if state == "superseded":
            self.stop(cancel_running=False)
        self.tell([self.result_item(number, lease, result, 2.0, also)])

    @rule(index=INDEX, change=st.sampled_from([None, None, "value", "also", "kind"]))
    def repeat_tell(self, index: int, change: str | None) -> None:
        """Tell the same on a lease again, or the same with one change."""
        leases = self.model.reported_leases
        if leases:
            lease = leases[-1 - index % len(leases)]
            self.tell([self.repeated_item(lease, change)])

    def repeated_item(self, lease: str, change: str | None) -> TellItem:
        attempt = self.model.attempts[lease]
        if change == "kind" or (change and attempt.failure):
            other_kind = "infeasible" if attempt.failure == "error" else "error"
            return TellItem(attempt.job, lease, failure=other_kind)
        item = TellItem(
            job=attempt.job,
            lease=lease,
            value=attempt.value,
            failure=attempt.failure,
            also=dict(attempt.also),
        )
        if change == "value":
            item.value = (attempt.value or 0.0) + 1.0
        elif change == "also":
            co_objectives = self.co_objectives_of(attempt.job)
            item.also = {
                name: attempt.also.get(name, 0.0) + 1.0 for name in co_objectives
            }
        return item

    @rule(index=INDEX, cause=st.sampled_from(["expired", "error", "infrastructure"]))
    def fail_repeatedly(self, index: int, cause: str) -> None:
        """Every attempt at a job fails, until the job has failed for good."""
        number = self.pick_leased_job(index)
        if number is None:
            return
        job = self.model.jobs[number]
        for _ in range(self.model.rules.max_losses):
            self.end_backoffs()
            self.lease_jobs([job.objective], 20, "b")
            if job.lease and cause == "expired":
                self.expire({number})
            elif job.lease:
                self.tell([TellItem(number, job.lease, failure=cause)])
