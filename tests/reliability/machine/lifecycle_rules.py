"""Rules of engineers: pause, resume, stop, extend, retry."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from app.errors import RequestRefused
from app.service.studies.lifecycle import extend, pause, resume, retry, stop
from tests.reliability.machine.study_machine import NAME, StudyMachine
from tests.reliability.model import lifecycle as model_lifecycle


class LifecycleRules(StudyMachine):
    max_budget = 14  # keeps random runs short

    @rule(active=st.sampled_from([True, True, False]))
    def pause_or_resume(self, active: bool) -> None:
        self.set_active(active)

    def set_active(self, active: bool) -> None:
        if active:
            resume(self.database, NAME)
        else:
            pause(self.database, NAME)
        model_lifecycle.set_active(self.model, active)

    @rule(cancel_running=st.sampled_from([None, None, True, False]))
    def stop_sometimes(self, cancel_running: bool | None) -> None:
        """None: not this time, as a stopped study has fewer events."""
        if cancel_running is not None:
            self.stop(cancel_running)

    def stop(self, cancel_running: bool) -> None:
        stop(self.database, NAME, cancel_running=cancel_running)
        model_lifecycle.stop(self.model, cancel_running)

    @rule(more=st.sampled_from([0, 1, 1, 2, 2]))
    def extend_budget(self, more: int) -> None:
        self.extend(more)

    def extend(self, more: int) -> None:
        budget = min(self.model.budget + more, self.max_budget)
        if model_lifecycle.extend(self.model, budget):
            extend(self.database, NAME, budget)
        else:
            with pytest.raises(RequestRefused):
                extend(self.database, NAME, budget)

    @rule(objectives=st.sampled_from([["mass"], ["crash"], None]))
    def retry_failed_jobs(self, objectives: list[str] | None) -> None:
        self.retry(objectives, infeasible=False)

    @rule(objectives=st.sampled_from([["mass"], ["crash"], None]))
    def retry_infeasible_jobs(self, objectives: list[str] | None) -> None:
        self.retry(objectives, infeasible=True)

    def retry(self, objectives: list[str] | None, *, infeasible: bool) -> None:
        runs = objectives or list(self.model.rules.runs)
        retried = retry(self.database, NAME, objectives, infeasible=infeasible)
        assert retried == model_lifecycle.retry(self.model, runs, infeasible=infeasible)
