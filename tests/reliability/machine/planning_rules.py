"""Rules of planners: claim, compute and commit steps; in time, too late, or never."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from sqlalchemy import select, update

import app.service.planning.compute_step as compute_step_module
from app.domain.steps import CLAIM_S
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.snapshot import Snapshot
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.store.studies.steps import claim_step
from app.store.tables import steps
from tests.reliability.machine.lifecycle_rules import LifecycleRules
from tests.reliability.machine.snapshot import step_id
from tests.reliability.machine.study_machine import NAME
from tests.reliability.model import steps as model_steps
from tests.reliability.model.records import Job, Sample, StepId


def promoting(
    problem: Problem, snapshot: Snapshot, *rest: Any, **options: Any
) -> Proposal:
    """Every second step with a pool takes the oldest sample of it instead of one of its
    own full samples; a function of what the step reads, so that replay stays exact.
    """
    proposal = propose(problem, snapshot, *rest, **options)
    if len(snapshot.pool) == 0 or len(proposal.full) == 0 or snapshot.step % 2 == 1:
        return proposal
    oldest = np.zeros(1, dtype=np.int64)
    return replace(proposal, full=proposal.full[1:], promoted=oldest)


class PlanningRules(LifecycleRules):
    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(compute_step_module, "propose", promoting)
        # A claimed step and its plan, not committed yet
        self.prepared: tuple[Any, Any] | None = None

    def teardown(self) -> None:
        self.patch.undo()
        super().teardown()

    @rule()
    def run_due_step(self) -> None:
        self.run_step()

    def run_step(self) -> bool:
        """Run one step; return False if none is due."""
        step = self.claim()
        if step is None:
            return False
        assert self.commit(step, compute_step(self.database, step))
        return True

    @rule(meanwhile=st.sampled_from(["pause", "stop", "other planner"]))
    def commit_too_late(self, meanwhile: str) -> None:
        """While a step is computed its study is paused or stopped, or another planner
        commits the step.
        """
        step = self.claim()
        if step is None:
            return
        plan = compute_step(self.database, step)
        if meanwhile == "pause":
            self.set_active(False)
        elif meanwhile == "stop":
            self.stop(cancel_running=False)
        else:
            self.end_claims()
            self.run_step()
        self.commit(step, plan)
        self.set_active(True)

    @precondition(lambda self: self.prepared is None)
    @rule()
    def claim_and_prepare(self) -> None:
        step = self.claim()
        if step is not None:
            self.prepared = (step, compute_step(self.database, step))

    @precondition(lambda self: self.prepared is not None)
    @rule()
    def commit_prepared(self) -> None:
        assert self.prepared is not None
        self.commit(*self.prepared)
        self.prepared = None

    @precondition(lambda self: self.prepared is not None)
    @rule(planner_dies=st.booleans())
    def lose_claim(self, planner_dies: bool) -> None:
        """Another planner may take the step; the first one commits later, or never."""
        self.end_claims()
        if planner_dies:
            self.prepared = None

    @precondition(
        lambda self: any(step.kind == "search" for step in self.model.done_steps)
    )
    @rule()
    def replay_all_steps(self) -> None:
        different = [
            step for step in replay(self.database, NAME, None) if not step.equal
        ]
        assert different == []

    def end_claims(self) -> None:
        self.database.write(
            lambda connection: connection.execute(
                update(steps).values(claim_expires_at=0.0)
            )
        )

    def claim(self) -> Any:
        claimable = self.claimable_steps()
        step = self.database.write(claim_step, CLAIM_S)
        if step is None:
            assert claimable == set()
        else:
            assert step_id(step) in claimable
        return step

    def claimable_steps(self) -> set[StepId]:
        if not self.model.active:
            return set()
        due = set(self.model.due_steps)
        if self.prepared is None:
            return due
        step, _ = self.prepared
        held = self.claimed_rows(step)
        return due - {step_id(row) for row in held if row.claim_expires_at > 1.0}

    def claimed_rows(self, step: Any) -> list[Any]:
        """The row of the step, if it is due and still claimed by the planner that
        claimed it.
        """
        is_claimed = (steps.c.id == step.id, steps.c.claim == step.claim)
        rows = self.read(select(steps).where(*is_claimed))
        return [row for row in rows if row.state == "due"]

    def commit(self, step: Any, plan: Any) -> bool:
        is_ours = bool(self.claimed_rows(step))
        committed = commit_step(self.database, step, plan)
        assert committed == (is_ours and self.model.active)
        if committed:
            self.seen.add(f"step: {step.kind}")
            ready = self.model.jobs_in("ready")
            promoted = list(plan.promoted)
            size = model_steps.commit(self.model, step_id(step), promoted)
            if any(job.state == "superseded" for job in ready):
                self.seen.add(f"superseded: by {step.kind} step")
            samples = self.new_samples()
            jobs = self.new_jobs()
            for number in promoted:
                is_ruled_out = self.model.samples[number].infeasible
                self.seen.add(f"promoted: {'not' if is_ruled_out else 'yes'}")
            self.check_proposal(step, size - len(promoted), samples, jobs)
            model_steps.add_proposal(self.model, step_id(step), samples, jobs, promoted)
        return committed

    def check_proposal(
        self,
        step: Any,
        size: int,
        samples: dict[int, Sample],
        jobs: dict[int, Job],
    ) -> None:
        """As many full samples as were due, at most as many cheap-only ones as the
        ratio allows.
        """
        runs = list(self.model.rules.runs)
        for number, sample in samples.items():
            objectives = [
                job.objective for job in jobs.values() if job.sample == number
            ]
            assert objectives == (runs if sample.full else ["mass"])
        full = sum(sample.full for sample in samples.values())
        assert full == (0 if step.kind == "stream" else size)
        most_cheap_only = {
            "initial": 0,
            "closing": 0,
            "stream": size,
            "search": 3 * self.model.rules.batch_size,
        }
        assert len(samples) - full <= most_cheap_only[step.kind]
        number = step.number if step.kind == "search" else 0
        assert {job.step for job in jobs.values()} <= {number}
