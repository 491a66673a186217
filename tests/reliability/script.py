"""The machine in an order that a person chose: what a search by chance may leave out."""

from itertools import product
from typing import Any

from tests.reliability.machine import Machine
from tests.reliability.model import SAID

KINDS = ("value", "infeasible", "error", "infrastructure")
OF_JOBS = ("ready", "leased", "done", "failed", "superseded")
STATES = ("held", "ready", "leased", "done", "failed")
EVENTS = {  # that the script must not miss
    *(f"{what}: {state}" for what in KINDS for state in (*STATES, "superseded")),
    *(f"again: {how}" for how in ("same", "same, also", "other", "other, also", "other also, also")),
    *(f"heartbeat: {how}" for how in ("revived", "None, leased", "None, leased, cancel")),
    *(
        f"heartbeat: expired, {state}"
        for state in ("ready", "leased", "failed", "leased, cancel", "superseded, cancel")
    ),
    *(f"import: value onto {state}" for state in OF_JOBS),
    *(f"import: {how} onto {state}" for how in ("value", "infeasible") for state in OF_JOBS if state != "done"),
    *(f"import: {how} onto {state}, cheap-only" for how in ("value", "infeasible") for state in ("ready", "leased")),
    *(f"step: {kind}" for kind in ("initial", "stream", "search", "closing")),
    *("unknown", "import: new", "import: refused"),
}


class Script:
    """Every rule, with every option, each followed by the invariants."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def do(self, rule: str, /, **options: Any) -> None:
        getattr(self.machine, rule)(**options)
        self.machine.the_database_is_as_the_model_says()
        self.machine.the_promises_hold()

    def play(self, guest: str) -> None:
        self.do("create", guest=guest, initial=10, more=0, planned=True)
        for part in (self.speak, self.repeat, self.revive, self.bring, self.stop, self.plan, self.end):
            part()

    def speak(self) -> None:
        for number, (state, what) in enumerate(product(STATES, KINDS)):
            self.do("speak", pick=number, what=what, state=state, also="all")
        for also in ("none", "wrong", "all"):
            self.do("speak", pick=0, what="value", state="held", also=also)
        for whose in ("live", "ended", "spoken", "unknown", "foreign"):
            self.do("tell", words=[(whose, 0, "value", 1.5, "all"), (whose, 1, "infeasible", 0.0, "none")])
        self.do(
            "overtake_and_tell", words=[("ended", 0, "value", 0.0, "all"), ("live", 0, "value", 1.0, "none")], pick=0
        )
        for how in ("expired", "error", "infrastructure"):
            self.do("wear_out", pick=0, how=how)

    def repeat(self) -> None:
        spoken = [one for one in self.machine.model.attempts.values() if one.outcome in SAID]
        last = {(one.outcome, one.failure, bool(one.also)): -1 - at for at, one in enumerate(spoken, -len(spoken))}
        for pick, other in product(last.values(), (None, "value", "also", "kind")):
            self.do("tell_again", pick=pick, other=other)

    def revive(self) -> None:
        self.do("retry", objectives=None)
        for between in ("nothing", "another", "another's end", "failure"):
            self.do("revive", pick=0, between=between)
        self.do("heartbeat", picks=[0, 1, 2, 3, 4, 5])
        self.do("release", picks=[0, 1, 2])
        self.do("expire", picks=[0, 1])
        self.do("overtake", pick=0)

    def bring(self) -> None:
        self.do("plan")  # a stream, for there must be cheap-only samples
        self.do("ask", objectives=["mass"], most=6, worker="a")
        self.do("release", picks=[0, 1, 2, 3])
        for how, state, full in product(("value", "infeasible", "bare", "odd"), OF_JOBS[:-1], (True, False)):
            self.do("import_onto", pick=0, state=state, how=how, full=full)
        runs = ("guests", "mass", "crash", "both", "nothing")
        for number, (evaluate, place, which) in enumerate(product((False, True), ("new", "full", "cheap-only"), runs)):
            self.do("import_known", rows=[(place, number, which, "value", 1.5)], evaluate=evaluate)

    def stop(self) -> None:
        self.do("ask", objectives=["*"], most=6, worker="a")
        for pick in (0, 2, 4):  # some have been lost so often that they fail
            self.do("overtake", pick=pick)
        self.do("expire", picks=[-1, -2])
        self.do("stop", cancel=True)
        self.do("give_signs_of_life", leases=list(self.machine.model.attempts))
        self.do("release", picks=[0])
        for how, full in product(("value", "infeasible"), (True, False)):
            self.do("import_onto", pick=0, state="superseded", how=how, full=full)
        self.do("extend", more=2)
        for what in KINDS:
            self.do("plan")
            self.do("speak", pick=0, what=what, state="superseded", also="all")
            self.do("extend", more=1)
        for active in (False, True):
            self.do("switch", active=active)
            self.do("ask", objectives=["crash"], most=2, worker="b")
        self.do("restart")

    def plan(self) -> None:
        for then in ("pause", "another", "stop"):
            self.do("batch_returns", planned=False)
            self.do("plan_slowly", then=then)
            self.do("extend", more=1)
        for dies in (False, True):
            self.do("batch_returns", planned=False)
            self.do("claim_and_compute")
            if self.machine.claimed is not None:
                self.do("lose_the_claim", dies=dies)
            self.do("batch_returns", planned=True)
            if self.machine.claimed is not None:
                self.do("commit_what_was_computed")
        self.do("extend_at_the_last_moment")

    def end(self) -> None:
        self.do("go_on_to_the_end", really=True)
        self.do("work", most=20)
        self.do("retry", objectives=["crash"])
        self.do("retry", objectives=["mass"])
        self.do("stop", cancel=True)  # of a study that had finished
        self.do("ask", objectives=["*"], most=6, worker="a")
        self.do("compute_all_steps_again")
