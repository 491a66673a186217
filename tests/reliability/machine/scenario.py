"""The rules of the machine in a fixed order, so that every kind of event occurs."""

from collections.abc import Iterable
from itertools import product
from typing import Any

from tests.reliability.machine.import_rules import RowDraft
from tests.reliability.machine.machine import Machine
from tests.reliability.machine.work_rules import ANY_OBJECTIVE, TellDraft

RESULTS = ("value", "infeasible", "error", "infrastructure")
JOB_STATES = ("ready", "leased", "done", "infeasible", "failed", "superseded")
SEEN_BY_WORKER = ("held", "ready", "leased", "done", "infeasible")


def event_kinds(prefix: str, *parts: Iterable[str]) -> set[str]:
    """All combinations of these parts, behind the prefix."""
    return {prefix + "".join(combination) for combination in product(*parts)}


EXPECTED_EVENTS = {
    *event_kinds("", RESULTS, (": ",), (*SEEN_BY_WORKER, "superseded")),
    *event_kinds(
        "repeated: ", ("same", "same, also", "other", "other, also", "other also, also")
    ),
    *event_kinds("heartbeat: ", ("revived", "None, leased", "None, leased, cancel")),
    *event_kinds(
        "heartbeat: expired, ",
        ("ready", "leased", "failed", "leased, cancel", "superseded, cancel"),
    ),
    *event_kinds("import: value onto ", JOB_STATES),
    *event_kinds(
        "import: infeasible onto ", ("ready", "leased", "failed", "superseded")
    ),
    *event_kinds(
        "import: ",
        ("value", "infeasible"),
        (" onto ",),
        ("ready, cheap-only", "leased, cheap-only"),
    ),
    *event_kinds("import: ", ("new", "refused")),
    *event_kinds("step: ", ("initial", "stream", "search", "closing")),
    *event_kinds(
        "superseded: ",
        ("by search step", "after release", "after expire", "after error"),
    ),
    "promoted: yes",
    "unknown",
}


class Scenario:
    """Runs rules of a machine, and checks its invariant after each."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def do(self, rule: str, /, **options: Any) -> None:
        getattr(self.machine, rule)(**options)
        self.machine.database_equals_model()

    def run(self, run_of_two: str) -> None:
        self.do(
            "create", run_of_two=run_of_two, initial_samples=24, more=0, planned=True
        )
        self.tell_in_every_state()
        self.repeat_tells()
        self.revive_leases()
        self.import_evaluations()
        self.stop_and_extend()
        self.compete_for_steps()
        self.overtake_cheap_only_jobs()
        self.finish()

    def tell_in_every_state(self) -> None:
        for index, (state, result) in enumerate(product(SEEN_BY_WORKER, RESULTS)):
            # Infeasible results withdraw the other jobs of their samples.
            self.do("retry_infeasible_jobs", objectives=None)
            self.do(
                "tell_when_job_is", index=index, result=result, state=state, also="all"
            )
        for also in ("none", "wrong", "all"):
            self.do(
                "tell_when_job_is", index=0, result="value", state="held", also=also
            )
        for lease_kind in ("live", "ended", "reported", "unknown", "wrong job"):
            value = TellDraft(lease_kind, 0, "value", 1.5, "all")
            failure = TellDraft(lease_kind, 1, "infeasible", 0.0, "none")
            self.do("tell_list", drafts=[value, failure])
        late = [
            TellDraft("ended", 0, "value", 0.0, "all"),
            TellDraft("ended", 0, "value", 1.0, "none"),
        ]
        self.do("tell_after_reassignment", drafts=late, index=0)
        for cause in ("expired", "error", "infrastructure"):
            self.do("fail_repeatedly", index=0, cause=cause)

    def repeat_tells(self) -> None:
        """For one attempt of each kind: the same again, and every change of it."""
        model = self.machine.model
        last_of_kind: dict[tuple[object, ...], int] = {}
        for age, lease in enumerate(reversed(model.reported_leases)):
            attempt = model.attempts[lease]
            kind = (attempt.outcome, attempt.failure, bool(attempt.also))
            last_of_kind.setdefault(kind, age)
        for index, change in product(
            last_of_kind.values(), (None, "value", "also", "kind")
        ):
            self.do("repeat_tell", index=index, change=change)

    def revive_leases(self) -> None:
        self.do("retry_failed_jobs", objectives=None)
        for meanwhile in (
            "nothing",
            "other lease",
            "other lease expired",
            "job failed",
        ):
            self.do("revive_lease", index=0, meanwhile=meanwhile)
        self.do("send_heartbeats", indices=[0, 1, 2, 3, 4, 5])
        self.do("release_leases", indices=[0, 1, 2])
        self.do("expire_some_leases", indices=[0, 1])
        self.do("reassign_expired_job", index=0)

    def import_evaluations(self) -> None:
        self.do("retry_infeasible_jobs", objectives=None)
        self.do("say_goodbye", worker="b")
        # Enough of the design for a stream, which has cheap-only samples.
        self.do("complete_some_jobs", max_jobs=8)
        self.do("run_due_step")
        self.do("ask_for_jobs", objectives=["mass"], max_jobs=6, worker="a")
        self.do("release_leases", indices=[0, 1, 2, 3])
        for index in range(3):
            self.do("fail_repeatedly", index=index, cause="error")
        for worker in "ab":
            self.do("say_goodbye", worker=worker)
        self.do("ask_for_jobs", objectives=["mass"], max_jobs=6, worker="a")
        contents = ("value", "infeasible", "without also", "contradiction")
        for content, state, full in product(contents, JOB_STATES[:-1], (True, False)):
            self.do("import_onto_job", index=0, state=state, content=content, full=full)
        places = ("new", "full", "cheap-only")
        scopes = ("co-objectives", "mass", "crash", "both", "nothing")
        for index, (evaluate, place, scope) in enumerate(
            product((False, True), places, scopes)
        ):
            self.do(
                "import_drafts",
                drafts=[RowDraft(place, index, scope, "value", 1.5)],
                evaluate=evaluate,
            )

    def stop_and_extend(self) -> None:
        self.do("retry_infeasible_jobs", objectives=None)
        self.do("ask_for_jobs", objectives=ANY_OBJECTIVE, max_jobs=6, worker="a")
        for index in (0, 2, 4):  # some have been lost so often that they fail
            self.do("reassign_expired_job", index=index)
        self.do("expire_some_leases", indices=[-1, -2])
        self.do("stop", cancel_running=True)
        self.do("heartbeat", leases=list(self.machine.model.attempts))
        self.do("release_leases", indices=[0])
        for content, full in product(("value", "infeasible"), (True, False)):
            self.do(
                "import_onto_job",
                index=0,
                state="superseded",
                content=content,
                full=full,
            )
        self.do("extend_budget", more=2)
        for result in RESULTS:
            self.do("run_due_step")
            self.do(
                "tell_when_job_is",
                index=0,
                result=result,
                state="superseded",
                also="all",
            )
            self.do("extend_budget", more=1)
        for active in (False, True):
            self.do("pause_or_resume", active=active)
            self.do("ask_for_jobs", objectives=["crash"], max_jobs=2, worker="b")
        self.do("restart_server")

    def compete_for_steps(self) -> None:
        for meanwhile in ("pause", "other planner", "stop"):
            self.do("settle_batch", planned=False)
            self.do("commit_too_late", meanwhile=meanwhile)
            self.do("extend_budget", more=1)
        for planner_dies in (False, True):
            self.do("settle_batch", planned=False)
            self.do("claim_and_prepare")
            if self.machine.prepared is not None:
                self.do("lose_claim", planner_dies=planner_dies)
            self.do("settle_batch", planned=True)
            if self.machine.prepared is not None:
                self.do("commit_prepared")
        self.do("extend_before_closing_step")

    def overtake_cheap_only_jobs(self) -> None:
        self.machine.max_budget += 12
        self.do("extend_budget", more=2)
        self.do("settle_batch", planned=True)
        for end in ("release", "expire", "error", "infrastructure"):
            self.do("extend_budget", more=2)
            self.do("end_lease_after_next_step", end=end)

    def finish(self) -> None:
        self.do("run_to_the_end")
        self.do("complete_some_jobs", max_jobs=20)
        for run in ("crash", "mass"):
            self.do("retry_failed_jobs", objectives=[run])
        self.do("stop", cancel_running=True)  # of a finished study
        self.do("ask_for_jobs", objectives=ANY_OBJECTIVE, max_jobs=6, worker="a")
        self.do("replay_all_steps")
