"""The whole machine: a study to which anything can happen in any order."""

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.reliability.machine.import_rules import ImportRules
from tests.reliability.machine.late_result_rules import LateResultRules
from tests.reliability.machine.work_rules import ANY_OBJECTIVE
from tests.reliability.model.records import TellItem


class Machine(LateResultRules, ImportRules):
    @initialize(
        run_of_two=st.sampled_from(["mass", "crash"]),
        initial_samples=st.integers(2, 4),
        more=st.integers(0, 3),
        planned=st.sampled_from([True, True, False]),
        overlap=st.integers(0, 3),
        cheap_first=st.sampled_from([None, True, False]),
    )
    def create(
        self,
        run_of_two: str,
        initial_samples: int,
        more: int,
        planned: bool,
        overlap: int = 0,
        cheap_first: bool | None = False,
    ) -> None:
        budget = initial_samples + more
        self.create_study(run_of_two, initial_samples, budget, overlap, cheap_first)
        if planned:
            self.run_step()
            self.lease_jobs(ANY_OBJECTIVE, initial_samples, "a")

    @rule(planned=st.booleans())
    def settle_batch(self, planned: bool) -> None:
        self.settle_full_samples()
        if planned:
            self.run_step()

    def settle_full_samples(self) -> None:
        """Cheap-only jobs stay as they are."""
        self.settle_leased_and_ready()
        self.settle_leased_and_ready()  # slow runs that waited for the cheap ones

    def settle_leased_and_ready(self) -> None:
        self.end_backoffs()
        for run in self.model.rules.runs:
            full = [job for job in self.model.jobs_for(run) if not job.cheap_only]
            ready = sum(job.state == "ready" for job in full)
            if ready:
                self.lease_jobs([run], ready, "c")
        items = []
        for number, job in self.model.jobs.items():
            if job.lease and not job.cheap_only:
                also = dict.fromkeys(self.co_objectives_of(number), 0.5)
                items.append(TellItem(number, job.lease, float(number), also=also))
        if items:
            self.tell(items)

    @rule(end=st.sampled_from(["release", "expire", "error", "infrastructure"]))
    def end_lease_after_next_step(self, end: str) -> None:
        """A cheap-only job is leased while the next search step is committed, and its
        lease ends without a value.
        """
        self.settle_full_samples()
        self.lease_jobs(["mass"], 2, "b")
        self.run_step()
        for number, job in self.model.jobs.items():
            if job.lease and job.cheap_only and job.step < self.model.step:
                self.end_lease(number, job.lease, end)
                self.seen.add(f"{job.state}: after {end}")
                break

    def end_lease(
        self,
        number: int,
        lease: str,
        end: str,
    ) -> None:
        if end == "release":
            self.release([lease])
        elif end == "expire":
            self.expire({number})
        else:
            self.tell([TellItem(number, lease, failure=end)])

    @rule()
    def extend_before_closing_step(self) -> None:
        """Every full sample is settled and the closing step is due, but not done."""
        self.set_active(True)
        self.end_claims()
        for _ in range(10):
            self.settle_full_samples()
            is_closing = any(step.kind == "closing" for step in self.model.due_steps)
            if is_closing or not self.run_step():
                break
        self.extend(1)

    @rule(chance=st.sampled_from([False, False, False, True]))
    def run_to_the_end_sometimes(self, chance: bool) -> None:
        if chance:
            self.run_to_the_end()

    def run_to_the_end(self) -> None:
        """With working workers and a working planner the study finishes, whatever
        happened before.
        """
        self.set_active(True)
        self.end_claims()
        self.prepared = None
        leased = set(self.model.leased_jobs)
        if leased:
            self.expire(leased)
        for _ in range(200):
            self.end_backoffs()
            if not self.run_step() and not self.complete_jobs(20):
                break
        assert self.model.phase == "finished"
        assert not any(job.is_open for job in self.model.jobs.values())
