"""A study to which anything may happen, in any order: each rule does it to the database and to the model."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sqlalchemy import Connection, delete, select, text, update

from app.errors import ImportInvalid, RequestRefused
from app.planner.planner import CLAIM_S
from app.service.files.evaluation_reader import KnownEvaluation, Reading
from app.service.files.import_evaluations import import_evaluations
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.service.studies.lifecycle import create, extend, pause, resume, retry, stop
from app.service.studies.lifecycle import delete as delete_study
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.service.work.tell import tell
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.tables import jobs, objectives, samples, steps, workers
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Failure, Tell
from tests.reliability.model import SAID, Job, Model, Rules, Sample, Word
from tests.reliability.picture import check_promises, differing, expected, identity, picture
from tests.service.lab import Lab

NAME = "wing"
MOST_BUDGET = 14
PICK = st.integers(0, 999)
VALUES = st.sampled_from([0.0, 1.5, -2.0, 1e6])
POINTS = [(0.125, 0.25), (0.5, 0.75), (0.875, 0.0625)]
WHATS = st.sampled_from(["value", "value", "value", "infeasible", "error", "infrastructure"])
GUESTS = st.sampled_from(["all", "all", "none", "wrong"])
PLACES = st.sampled_from(["full", "full", "new", "cheap-only"])
RUNS = st.sampled_from(["mass", "crash", "both", "both", "guests", "nothing"])
HOW = st.sampled_from(["value", "value", "value", "infeasible", "bare", "odd"])
WORDS = st.tuples(
    st.sampled_from(["live", "live", "ended", "ended", "spoken", "unknown", "foreign"]),
    PICK,
    WHATS,
    VALUES,
    GUESTS,
)


class Machine(RuleBasedStateMachine):
    url: str

    def __init__(self) -> None:
        super().__init__()
        self.database = Database(self.url)
        self.model: Model
        self.claimed: tuple[Any, Any] | None = None  # a step that a planner has computed, and its plan
        self.log: list[Any] = []
        self.seen: set[str] = set()

    @initialize(
        guest=st.sampled_from(["mass", "crash"]),
        initial=st.integers(2, 4),
        more=st.integers(0, 3),
        planned=st.sampled_from([True, True, False]),
    )
    def create(self, guest: str, initial: int, more: int, planned: bool) -> None:
        runs = {"mass": ["drag"] if guest == "mass" else [], "crash": ["lift"] if guest == "crash" else []}
        names = [name for run, also in runs.items() for name in (run, *also)]
        times = {"mass": 1.0, "crash": 4.0}
        spec = {
            "name": NAME,
            "variables": [{"name": "a", "low": 0.0, "high": 1.0}, {"name": "b", "low": 0.0, "high": 1.0}],
            "objectives": [
                {"name": name, "evaluation_time_s": times[name]}
                if name in times
                else {"name": name, "same_run_as": guest}
                for name in names
            ],
            "budget": initial + more,
            "initial_samples": initial,
            "batch_size": 2,
            "generations": 1,
            "max_attempts": 2,
            "max_losses": 3,
            "lease_s": 3600.0,
            "seed": 1,
        }
        assert create(self.database, parse_specification(spec), 60.0)
        self.database.write(record_uptime)
        rules = Rules(runs, {"mass": 4, "crash": 1}, initial, 2, 2, 3)
        self.model = Model(rules, budget=initial + more)
        if planned:
            self.plan_next()
            self.take(["*"], initial, "a")

    def teardown(self) -> None:
        if hasattr(self, "model"):
            delete_study(self.database, NAME, force=True)
            self.database.write(lambda connection: connection.execute(delete(workers)))
        self.database.close()

    # Workers.

    @rule(
        objectives=st.sampled_from([["mass"], ["crash"], ["*"]]), most=st.integers(1, 6), worker=st.sampled_from("ab")
    )
    def ask(self, objectives: list[str], most: int, worker: str) -> None:
        self.take(objectives, most, worker)

    def take(self, objectives: list[str], most: int, worker: str) -> list[Any]:
        ask = Ask(worker=worker, studies=[NAME], objectives=objectives, max_jobs=most)
        (got,) = serve_asks(self.database, [ask], 20.0)
        wanted = list(self.model.rules.runs) if objectives == ["*"] else objectives
        assert sorted(job.job for job in got) == sorted(self.model.ask(wanted, most))
        for job in got:
            self.model.lease(job.job, job.lease)
            assert job.also == self.model.rules.runs[job.objective]
        return got

    def have_leases(self) -> bool:
        """Somebody holds a job, if that can be: else most of what workers may do would be about nothing."""
        if not any(job.lease for job in self.model.jobs.values()) and not self.take(["*"], 3, "a"):
            self.plan_next()
            self.take(["*"], 3, "a")
        return bool(self.model.attempts)

    @rule(words=st.lists(WORDS, min_size=1, max_size=4))
    def tell(self, words: list[tuple[str, int, str, float, str]]) -> None:
        if self.have_leases():
            self.hear([self.word(*each) for each in words])

    @rule(words=st.lists(WORDS, min_size=1, max_size=3), pick=PICK)
    def overtake_and_tell(self, words: list[tuple[str, int, str, float, str]], pick: int) -> None:
        self.let_others_have(pick)
        if self.model.attempts:
            self.hear([self.word("ended", *each[1:]) for each in words])

    def word(self, whose: str, pick: int, what: str, value: float, also: str) -> Word:
        kinds = {"live": (None,), "ended": ("expired", "released", "overtaken"), "spoken": ("done", "failed", "late")}
        every = list(self.model.attempts)
        mine = [lease for lease in every if self.model.attempts[lease].outcome in kinds.get(whose, ())] or every
        lease = mine[-1 - pick % min(len(mine), 4)]  # the newest ones, so that several words meet on one job
        said = self.saying(self.model.attempts[lease].job, lease, what, value, also)
        said.job += whose == "foreign"
        said.lease = "0" * 32 if whose == "unknown" else lease
        return said

    def saying(self, job: int, lease: str, what: str, value: float, also: str) -> Word:
        if what != "value":
            return Word(job, lease, failure=what)
        guests = self.model.rules.runs[self.model.jobs[job].objective]
        said = {"all": dict.fromkeys(guests, value + 1.0), "none": {}, "wrong": {"cost": value}}[also]
        return Word(job, lease, value, also=said)

    def hear(self, words: list[Word]) -> None:
        items = [
            Tell(
                job=word.job,
                lease=word.lease,
                value=word.value,
                failure=Failure.model_validate({"kind": word.failure}) if word.failure else None,
                also=word.also,
            )
            for word in words
        ]
        self.note_words(words)
        answers = tell(self.database, items)
        assert [(answer.status, answer.state) for answer in answers] == self.model.tell(words)

    def note_words(self, words: list[Word]) -> None:
        """Which kinds of words there were, for whoever wants to know that there were all of them."""
        for word in words:
            attempt = self.model.attempts.get(word.lease)
            if attempt is None or attempt.job != word.job:
                self.seen.add("unknown")
            elif attempt.outcome in SAID:
                same = (word.value, word.failure) == (attempt.value, attempt.failure)
                which = "same" if word.also == attempt.also else "other also"
                self.seen.add(f"again: {which if same else 'other'}{', also' if word.also else ''}")
            else:
                job = self.model.jobs[word.job]
                held = "held" if job.lease == word.lease else job.state
                self.seen.add(f"{word.failure or 'value'}: {held}")

    @rule(most=st.sampled_from([1, 2, 3, 20]))
    def work(self, most: int) -> None:
        """Ask, evaluate and tell, as a worker does when all goes well."""
        self.work_off(most)

    def work_off(self, most: int) -> bool:
        got = self.take(["*"], most, "c")
        if got:
            self.hear([Word(job.job, job.lease, sum(job.x.values()), also=dict.fromkeys(job.also, 1.0)) for job in got])
        return bool(got)

    @rule(picks=st.lists(PICK, min_size=1, max_size=3, unique=True))
    def heartbeat(self, picks: list[int]) -> None:
        if not self.have_leases():
            return
        self.give_signs_of_life(self.leases(picks))

    def give_signs_of_life(self, leases: list[str]) -> None:
        for lease in leases:
            attempt = self.model.attempts[lease]
            what = (
                "revived"
                if self.model.may_revive(lease)
                else f"{attempt.outcome}, {self.model.jobs[attempt.job].state}"
            )
            self.seen.add(f"heartbeat: {what}{', cancel' if self.model.cancel else ''}")
        answers = heartbeat(self.database, leases)
        # Those that are current are prolonged before any is revived; no lease does both to another.
        wanted = [self.model.heartbeat(lease) for lease in leases]
        assert [(answer.expires_at is not None, answer.cancel) for answer in answers] == wanted

    @rule(pick=PICK, between=st.sampled_from(["nothing", "nothing", "another", "another's end", "failure"]))
    def revive(self, pick: int, between: str) -> None:
        """A lease runs out, and its worker gives a sign of life: at once, or after others had the job."""
        self.have_leases()
        leased = [id_ for id_, job in self.model.jobs.items() if job.lease]
        if not leased:
            return
        id_ = leased[pick % len(leased)]
        job, leases = self.model.jobs[id_], [self.model.jobs[id_].lease or ""]
        self.let_expire({id_})
        for number in range({"nothing": 0, "failure": self.model.rules.max_losses}.get(between, 1)):
            self.end_backoffs()
            self.take([job.objective], 20, "b")
            if job.lease:
                leases.append(job.lease)
                if between != "another":
                    self.let_expire({id_})
            elif not number:
                return  # it is no longer to be had
        for lease in leases if between != "another's end" else leases[:1]:
            self.give_signs_of_life([lease])

    @rule(pick=PICK, what=WHATS, state=st.sampled_from(["held", "ready", "leased", "done", "failed"]), also=GUESTS)
    def speak(self, pick: int, what: str, state: str, also: str) -> None:
        """A worker speaks on its lease, current or not, when its job is as said."""
        self.have_leases()
        leased = [id_ for id_, job in self.model.jobs.items() if job.lease]
        if not leased:
            return
        id_ = leased[pick % len(leased)]
        job, lease = self.model.jobs[id_], self.model.jobs[id_].lease or ""
        if state != "held":
            self.let_expire({id_})
        if state in ("leased", "done", "failed"):
            self.end_backoffs()
            self.take([job.objective], 20, "b")
            if job.lease and state != "leased":
                self.hear([self.saying(id_, job.lease, "value" if state == "done" else "infeasible", 3.0, "all")])
        if state == "superseded":
            self.stop_now(cancel=False)
        self.hear([self.saying(id_, lease, what, 2.0, also)])

    @rule(pick=PICK, other=st.sampled_from([None, None, "value", "also", "kind"]))
    def tell_again(self, pick: int, other: str | None) -> None:
        """The same words on a lease once more, or nearly the same."""
        spoken = [lease for lease, one in self.model.attempts.items() if one.outcome in SAID]
        if not spoken:
            return
        lease = spoken[-1 - pick % len(spoken)]
        one = self.model.attempts[lease]
        word = Word(one.job, lease, one.value, one.failure, dict(one.also))
        if other == "kind" or (other and one.failure):
            word.value, word.also, word.failure = None, {}, "error" if one.failure != "error" else "infeasible"
        elif other == "value":
            word.value = (one.value or 0.0) + 1.0
        elif other == "also":
            guests = self.model.rules.runs[self.model.jobs[one.job].objective]
            word.also = {name: one.also.get(name, 0.0) + 1.0 for name in guests}
        self.hear([word])

    @rule(picks=st.lists(PICK, min_size=1, max_size=3, unique=True))
    def release(self, picks: list[int]) -> None:
        if not self.have_leases():
            return
        leases = self.leases(picks)
        released = [lease for lease in leases if self.model.release(lease)]
        assert sorted(release(self.database, leases)) == sorted(released)

    def leases(self, picks: list[int]) -> list[str]:
        every = list(self.model.attempts)
        return list(dict.fromkeys(every[-1 - pick % min(len(every), 6)] for pick in picks))

    @rule(picks=st.lists(PICK, min_size=1, max_size=3))
    def expire(self, picks: list[int]) -> None:
        self.expire_some(picks)

    def expire_some(self, picks: list[int]) -> None:
        self.have_leases()
        leased = [id_ for id_, job in self.model.jobs.items() if job.lease]
        if leased:
            self.let_expire({leased[pick % len(leased)] for pick in picks})

    def let_expire(self, ids: set[int]) -> None:
        def age(connection: Connection) -> None:
            record_uptime(connection)
            connection.execute(text("UPDATE pulse SET resumed_at = 0"))
            connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(expires_at=1.0))

        self.database.write(age)
        # In the order in which they run out, and they all do at once.
        assert expire_leases(self.database) == len(ids)
        self.model.expire(ids)

    @rule(pick=PICK)
    def overtake(self, pick: int) -> None:
        self.let_others_have(pick)

    def let_others_have(self, pick: int) -> None:
        """A worker falls silent, and others get its job."""
        self.expire_some([pick])
        self.end_backoffs()
        self.take(["*"], 6, "b")

    @rule(pick=PICK, how=st.sampled_from(["expired", "error", "infrastructure"]))
    def wear_out(self, pick: int, how: str) -> None:
        """A job that goes wrong whoever has it."""
        self.have_leases()
        leased = [id_ for id_, job in self.model.jobs.items() if job.lease]
        for _ in range(self.model.rules.max_losses if leased else 0):
            id_ = leased[pick % len(leased)]
            self.end_backoffs()
            self.take([self.model.jobs[id_].objective], 20, "b")
            lease = self.model.jobs[id_].lease
            if lease is not None and how == "expired":
                self.let_expire({id_})
            elif lease is not None:
                self.hear([Word(id_, lease, failure=how)])

    @rule(planned=st.booleans())
    def batch_returns(self, planned: bool) -> None:
        self.settle_the_batch()
        if planned:
            self.plan_next()

    @rule()
    def extend_at_the_last_moment(self) -> None:
        """All is settled and the closing step is due, but not done."""
        self.set_active(True)
        self.free_claims()
        for _ in range(10):
            self.settle_the_batch()
            if any(step[0] == "closing" for step in self.model.due) or not self.plan_next():
                break
        self.extend_by(1)

    def settle_the_batch(self) -> None:
        """All full samples are settled; cheap-only jobs stay where they are."""
        self.end_backoffs()
        for run in self.model.rules.runs:
            full = [j for j in self.model.jobs.values() if j.objective == run and not j.cheap_only]
            if count := sum(job.state == "ready" for job in full):
                self.take([run], count, "c")
        held = [(id_, job) for id_, job in self.model.jobs.items() if job.lease and not job.cheap_only]
        said = [(id_, job.lease or "", self.model.rules.runs[job.objective]) for id_, job in held]
        if said:
            self.hear([Word(id_, lease, float(id_), also=dict.fromkeys(also, 0.5)) for id_, lease, also in said])

    def end_backoffs(self) -> None:
        self.database.write(lambda connection: connection.execute(update(jobs).values(ready_at=None)))
        self.model.ripen()

    # Engineers.

    @rule(active=st.sampled_from([True, True, False]))
    def switch(self, active: bool) -> None:
        self.set_active(active)

    def set_active(self, active: bool) -> None:
        (resume if active else pause)(self.database, NAME)
        self.model.switch(active)

    @rule(cancel=st.sampled_from([None, None, True, False]))
    def stop(self, cancel: bool | None) -> None:
        if cancel is not None:
            self.stop_now(cancel)

    def stop_now(self, cancel: bool) -> None:
        stop(self.database, NAME, cancel_running=cancel)
        self.model.stop(cancel)

    @rule(more=st.sampled_from([0, 1, 1, 2, 2]))
    def extend(self, more: int) -> None:
        self.extend_by(more)

    def extend_by(self, more: int) -> None:
        budget = min(self.model.budget + more, MOST_BUDGET)
        if self.model.extend(budget):
            extend(self.database, NAME, budget)
        else:
            with pytest.raises(RequestRefused):
                extend(self.database, NAME, budget)

    @rule(objectives=st.sampled_from([["mass"], ["crash"], None]))
    def retry(self, objectives: list[str] | None) -> None:
        wanted = objectives or list(self.model.rules.runs)
        assert retry(self.database, NAME, objectives) == self.model.retry(wanted)

    @rule(rows=st.lists(st.tuples(PLACES, PICK, RUNS, HOW, VALUES), max_size=3), evaluate=st.booleans())
    def import_known(self, rows: list[tuple[str, int, str, str, float]], evaluate: bool) -> None:
        found: dict[tuple[float, ...], dict[str, float | None]] = {}
        for place, pick, which, how, value in rows:
            here = [one.x for one in self.model.samples.values() if place == ("full" if one.full else "cheap-only")]
            x = here[pick % len(here)] if here else POINTS[pick % len(POINTS)]
            found.setdefault(x, self.given(which, how, value))
        self.bring(found, evaluate)

    @rule(
        pick=PICK,
        state=st.sampled_from(["ready", "leased", "done", "failed", "superseded"]),
        how=HOW,
        full=st.booleans(),
    )
    def import_onto(self, pick: int, state: str, how: str, full: bool) -> None:
        """What somebody may be finding out at this moment."""
        mine = [job for job in self.model.jobs.values() if (job.state, job.cheap_only) == (state, not full)]
        if mine:
            job = mine[pick % len(mine)]
            given = self.given(job.objective, how, 0.25)
            if state == "done" and how == "value":  # the same again
                given = {o: known for o, known in self.model.known(job.sample).items() if isinstance(known, float)}
            self.bring({self.model.samples[job.sample].x: given}, evaluate=False)

    def given(self, which: str, how: str, value: float) -> dict[str, float | None]:
        """What an import says of some runs; `odd`: guests have values though their run has none."""
        runs = {run: also for run, also in self.model.rules.runs.items() if which in (run, "both", "guests")}
        said: dict[str, float | None] = {}
        for run, also in runs.items():
            if which != "guests":
                said[run] = None if how in ("infeasible", "odd") else value
            if how != "bare":
                said |= dict.fromkeys(also, None if how == "infeasible" else value + 1.0)
        return said

    def bring(self, found: dict[tuple[float, ...], dict[str, float | None]], evaluate: bool) -> None:
        reading = [KnownEvaluation(n, f"row {n}", x, dict(given)) for n, (x, given) in enumerate(found.items(), 1)]

        def work() -> None:
            import_evaluations(
                self.database, NAME, lambda spec: Reading(spec, reading), evaluate=evaluate, dry_run=False
            )

        if any(self.model.refuses(x, given) for x, given in found.items()):
            self.seen.add("import: refused")
            with pytest.raises(ImportInvalid):
                work()
            return
        self.note_import(found)
        work()
        self.learn_import({x: given for x, given in found.items() if given or evaluate}, evaluate)

    def note_import(self, found: dict[tuple[float, ...], dict[str, float | None]]) -> None:
        for x, given in found.items():
            for job in self.model.jobs.values():
                if job.sample in self.model.at(x) and job.objective in given:
                    what = "infeasible" if given[job.objective] is None else "value"
                    self.seen.add(f"import: {what} onto {job.state}{', cheap-only' if job.cheap_only else ''}")

    def learn_import(self, found: dict[tuple[float, ...], dict[str, float | None]], evaluate: bool) -> None:
        before = len(self.model.log)
        to_be = {x: self.model.import_at(x, given, evaluate=evaluate) for x, given in found.items()}
        new_samples, new_jobs = self.news()
        wanted = [(x, known) for x, known in to_be.items() if known is not None]
        for sample, (x, known) in zip(new_samples, wanted, strict=True):
            assert new_samples[sample].x == x
            self.model.import_new(sample, x, known)
            self.seen.add("import: new")
        imported = [one for x in found for one in self.model.at(x) if evaluate and self.model.samples[one].imported]
        expected = [(sample, run) for sample in imported for run in self.model.missing(sample)]
        assert sorted((job.sample, job.objective) for job in new_jobs.values()) == sorted(expected)
        self.model.jobs |= new_jobs
        if len(self.model.log) > before or new_samples or new_jobs:
            self.model.imported(jobs=bool(new_jobs))

    # Planners.

    @rule()
    def plan(self) -> None:
        self.plan_next()

    def plan_next(self) -> bool:
        step = self.claim()
        if step is None:
            return False
        assert self.commit(step, compute_step(self.database, step))
        return True

    @rule(then=st.sampled_from(["pause", "stop", "another"]))
    def plan_slowly(self, then: str) -> None:
        """What a planner has computed comes too late: its study rests or has ended, or another one was faster."""
        step = self.claim()
        if step is None:
            return
        plan = compute_step(self.database, step)
        if then == "pause":
            self.set_active(False)
        elif then == "stop":
            self.stop_now(cancel=False)
        else:
            self.free_claims()
            self.plan_next()
        self.commit(step, plan)
        self.set_active(True)

    @precondition(lambda self: self.claimed is None)
    @rule()
    def claim_and_compute(self) -> None:
        step = self.claim()
        if step is not None:
            self.claimed = (step, compute_step(self.database, step))

    @precondition(lambda self: self.claimed is not None)
    @rule()
    def commit_what_was_computed(self) -> None:
        assert self.claimed is not None
        self.commit(*self.claimed)
        self.claimed = None

    @precondition(lambda self: self.claimed is not None)
    @rule(dies=st.booleans())
    def lose_the_claim(self, dies: bool) -> None:
        """The planner is slow, or dead; either way another one may take its step."""
        self.free_claims()
        if dies:
            self.claimed = None

    def free_claims(self) -> None:
        self.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))

    def claim(self) -> Any:
        free = set(self.model.due) if self.model.active else set()
        with self.database.read() as connection:
            mine = self.claimed[0].claim if self.claimed else None
            held = connection.execute(
                select(steps).where(steps.c.claim == mine, steps.c.state == "due", steps.c.claim_expires_at > 1.0)
            ).all()
        free -= {identity(step) for step in held}
        step = self.database.write(lambda connection: claim_step(connection, CLAIM_S))
        assert (step is None) == (not free)
        if step is not None:
            assert identity(step) in free
        return step

    def commit(self, step: Any, plan: Any) -> bool:
        with self.database.read() as connection:
            row = connection.execute(select(steps).where(steps.c.id == step.id, steps.c.claim == step.claim)).first()
        done = commit_step(self.database, step, plan)
        assert done == (row is not None and row.state == "due" and self.model.active)
        if done:
            self.seen.add(f"step: {step.kind}")
            size = self.model.commit(identity(step))
            new_samples, new_jobs = self.news()
            self.check_proposal(step, size, new_samples, new_jobs)
            self.model.add(new_samples, new_jobs, identity(step))
        return done

    def check_proposal(self, step: Any, size: int, new_samples: dict[int, Sample], new_jobs: dict[int, Job]) -> None:
        full = [sample for sample in new_samples.values() if sample.full]
        assert len(full) == (0 if step.kind == "stream" else size)
        runs = list(self.model.rules.runs)
        for id_, sample in new_samples.items():
            wanted = [job.objective for job in new_jobs.values() if job.sample == id_]
            assert wanted == (runs if sample.full else ["mass"])
        most = {"initial": 0, "closing": 0, "stream": size, "search": 3 * size}
        assert len(new_samples) - len(full) <= most[step.kind]
        number = step.number if step.kind == "search" else 0
        assert {job.step for job in new_jobs.values()} <= {number}

    def news(self) -> tuple[dict[int, Sample], dict[int, Job]]:
        """Samples and jobs that the model does not know yet; they must be fresh."""
        with self.database.read() as connection:
            names = {row.id: row.name for row in connection.execute(select(objectives))}
            found = connection.execute(select(samples).order_by(samples.c.id)).all()
            made = connection.execute(select(jobs).order_by(jobs.c.id)).all()
        new_samples = {
            row.id: Sample(row.full, tuple(map(float, row.x)), row.imported_seq is not None)
            for row in found
            if row.id not in self.model.samples
        }
        new_jobs = {
            row.id: Job(row.sample_id, names[row.objective_id], row.cheap_only, row.step)
            for row in made
            if row.id not in self.model.jobs
        }
        return new_samples, new_jobs

    # The whole.

    @rule()
    def restart(self) -> None:
        self.database.close()
        self.database = Database(self.url)

    @rule(really=st.sampled_from([False, False, False, True]))
    def go_on_to_the_end(self, really: bool) -> None:
        """Whatever happened before: with workers and a planner that do their work, the study finishes."""
        if not really:
            return
        self.set_active(True)
        self.free_claims()
        self.claimed = None
        held = {id_ for id_, job in self.model.jobs.items() if job.lease}
        if held:
            self.let_expire(held)
        for _ in range(200):
            self.end_backoffs()
            if not self.plan_next() and not self.work_off(20):
                break
        assert self.model.phase == "finished"
        assert not any(job.state in ("ready", "leased") for job in self.model.jobs.values())

    @precondition(lambda self: any(step[0] == "search" for step in self.model.done))
    @rule()
    def compute_all_steps_again(self) -> None:
        different = [one for one in replay(self.database, NAME, None) if not one.equal]
        assert different == []

    @invariant()
    def the_database_is_as_the_model_says(self) -> None:
        if hasattr(self, "model"):
            now = picture(self.database)
            wanted = expected(self.model)
            for what, seen in now.items():
                assert seen == wanted[what], f"{what}: {differing(seen, wanted[what])}"
            assert now["log"][: len(self.log)] == self.log  # what was learnt never changes
            self.log = now["log"]

    @invariant()
    def the_promises_hold(self) -> None:
        if hasattr(self, "model"):
            check_promises(self.database)
            _Look(self.database).check_counters()


class _Look(Lab):
    """Somebody else's study, looked at."""

    def __init__(self, database: Database) -> None:
        self.database, self.name = database, NAME
