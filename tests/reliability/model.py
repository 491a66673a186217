"""What a study should be after each thing that may happen to it: plain Python, written from the design, no database.

Nothing here is counted as it goes, but leases that expired: what the server keeps in counters is derived from the jobs
themselves.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

OPEN = ("ready", "leased")
SAID = ("done", "failed", "late", "duplicate")  # how attempts end whose workers spoke
Known = Mapping[str, float | None]  # of an import, by objective; None: infeasible
LAMBDA = 50
Step = tuple[str, int, int]  # kind, objective of a stream (else -1), number
Entry = tuple[str, int | None, str | None, float | None, str | None]  # kind, sample, objective, value, failure


@dataclass
class Sample:
    full: bool
    x: tuple[float, ...]
    imported: bool = False
    given_up: bool = False


@dataclass
class Job:
    sample: int
    objective: str
    cheap_only: bool
    step: int
    state: str = "ready"
    lease: str | None = None
    attempts: int = 0
    errors: int = 0
    losses: int = 0
    waits: bool = False  # backs off
    guests: dict[str, str] = field(default_factory=dict)  # how those of the same run ended


@dataclass
class Attempt:
    job: int
    number: int
    outcome: str | None = None
    value: float | None = None
    failure: str | None = None
    also: dict[str, float] = field(default_factory=dict)


@dataclass
class Word:
    """One item of a tell."""

    job: int
    lease: str
    value: float | None = None
    failure: str | None = None
    also: dict[str, float] = field(default_factory=dict)


@dataclass
class Rules:
    runs: dict[str, list[str]]  # the objectives with jobs of their own, in order -> those of the same run
    ratios: dict[str, int]
    initial: int
    batch: int
    max_attempts: int
    max_losses: int

    @property
    def objectives(self) -> list[str]:
        return [name for run, guests in self.runs.items() for name in (run, *guests)]


@dataclass
class Model:
    rules: Rules
    budget: int
    phase: str = "initial"
    active: bool = True
    stopped: bool = False
    cancel: bool = False
    step: int = 0
    samples: dict[int, Sample] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    due: dict[Step, int] = field(default_factory=dict)  # -> how many full samples, or of a stream all
    done: list[Step] = field(default_factory=list)
    imported_complete: int = 0
    expired: Counter[str] = field(default_factory=Counter)  # by objective; who is revived has expired all the same

    def __post_init__(self) -> None:
        self._happen("created")
        self._plan_initial()

    # What follows from the jobs.

    @property
    def planned(self) -> list[int]:
        return [id_ for id_, one in self.samples.items() if one.full and not one.imported and not one.given_up]

    @property
    def settled(self) -> list[int]:
        unsettled = {job.sample for job in self.jobs.values() if job.state in OPEN}
        return [id_ for id_ in self.planned if id_ not in unsettled]

    def counters(self) -> dict[str, tuple[int, ...]]:
        """created, done, failed, superseded, open_full."""
        found = {}
        for run, guests in self.rules.runs.items():
            mine = [job for job in self.jobs.values() if job.objective == run]
            states = [job.state for job in mine]
            opened = sum(job.state in OPEN and not job.cheap_only for job in mine)
            found[run] = (len(mine), *(states.count(s) for s in ("done", "failed", "superseded")), opened)
            for guest in guests:
                ends = [job.guests.get(guest) if job.state == "done" else job.state for job in mine]
                found[guest] = (len(mine), *(ends.count(s) for s in ("done", "failed", "superseded")), 0)
        return found

    def mishaps(self) -> dict[str, tuple[int, int, int]]:
        """expired, late, duplicate."""
        ends = Counter((self.jobs[one.job].objective, one.outcome) for one in self.attempts.values())
        return {
            name: (self.expired[name], ends[name, "late"], ends[name, "duplicate"]) for name in self.rules.objectives
        }

    def open(self, sample: int) -> int:
        """Objectives not settled yet."""
        mine = [job for job in self.jobs.values() if job.sample == sample and job.state in OPEN]
        return sum(1 + len(self.rules.runs[job.objective]) for job in mine)

    def known(self, sample: int) -> dict[str, float | str]:
        """By objective: the value, or how the last evaluation failed for good."""
        found: dict[str, float | str] = {}
        for _, owner, objective, value, failure in self.log:
            if owner == sample and objective is not None:
                found[objective] = value if value is not None else failure or ""
        return found

    # Workers.

    def ask(self, objectives: Sequence[str], most: int) -> list[int]:
        """The jobs to be leased, in the order of the queues: full before cheap-only, then oldest."""
        if not self.active:
            return []
        found = []
        for run in self.rules.runs:
            if run in objectives:
                ready = [i for i, job in self.jobs.items() if job.objective == run and job.state == "ready"]
                ready = [i for i in ready if not self.jobs[i].waits]
                found += sorted(ready, key=lambda i: (self.jobs[i].cheap_only, i))[:most]
        return found[:most]

    def lease(self, id_: int, token: str) -> None:
        job = self.jobs[id_]
        assert job.state == "ready"
        job.state, job.lease, job.attempts = "leased", token, job.attempts + 1
        self.attempts[token] = Attempt(id_, job.attempts)

    def tell(self, words: Sequence[Word]) -> list[tuple[int, str | None]]:
        """Status and the job's state, of each item. A second word on a job is heard after the first words on all."""
        issued = {lease: attempt.job for lease, attempt in self.attempts.items()}
        answers: dict[int, tuple[int, str | None]] = {
            index: (404, None) for index, word in enumerate(words) if issued.get(word.lease) != word.job
        }
        left = [index for index in range(len(words)) if index not in answers]
        while left:
            heard: set[int] = set()
            for index in list(left):
                if words[index].job not in heard:
                    heard.add(words[index].job)
                    answers[index] = self._hear(words[index]), self.jobs[words[index].job].state
                    left.remove(index)
        return [answers[index] for index in range(len(words))]

    def _hear(self, word: Word) -> int:
        attempt, job = self.attempts[word.lease], self.jobs[word.job]
        if attempt.outcome in SAID:
            same = (word.value, word.failure, word.also) == (attempt.value, attempt.failure, attempt.also)
            return 200 if same else 409
        if not set(word.also) <= set(self.rules.runs[job.objective]):
            return 422
        attempt.value, attempt.failure, attempt.also = word.value, word.failure, word.also
        if word.failure is not None:
            attempt.outcome = "failed"
            self._hear_failure(job, word)
        elif job.state == "done":
            attempt.outcome = "duplicate"
        else:
            attempt.outcome = "done" if job.lease == word.lease else "late"
            self._set_done(job, word.value, word.also)
        self._see_what_is_due()
        return 200

    def _hear_failure(self, job: Job, word: Word) -> None:
        current = job.lease == word.lease
        if word.failure == "infeasible" and (current or job.state in ("ready", "superseded")):
            self._set_failed(job, "infeasible")
        elif word.failure == "error" and current:
            job.errors += 1
            if job.errors >= self.rules.max_attempts:
                self._set_failed(job, "error")
            else:
                self._return(job)
        elif word.failure == "infrastructure" and current:
            self._lose(job, "infrastructure")

    def _set_done(self, job: Job, value: float | None, also: Mapping[str, float]) -> None:
        self._overtake(job)
        job.state, job.lease, job.waits = "done", None, False
        self._learn(job.sample, job.objective, value)
        for guest in self.rules.runs[job.objective]:
            self._learn(job.sample, guest, also.get(guest), "error")
            job.guests[guest] = "done" if guest in also else "failed"

    def _overtake(self, job: Job) -> None:
        """Whoever else holds the job computes what is now known."""
        holder = self.attempts.get(job.lease or "")
        if holder is not None and holder.outcome is None:
            holder.outcome = "overtaken"

    def _set_failed(self, job: Job, kind: str) -> None:
        job.state, job.lease, job.waits = "failed", None, False
        for objective in (job.objective, *self.rules.runs[job.objective]):
            self._learn(job.sample, objective, None, kind)

    def _learn(self, sample: int, objective: str, value: float | None, failure: str | None = None) -> None:
        kind = "done" if value is not None else "failed"
        self.log.append((kind, sample, objective, value, None if value is not None else failure))

    def _return(self, job: Job, *, wait: bool = False) -> None:
        overtaken = self.stopped or (job.cheap_only and job.step < self.step)
        job.state, job.lease, job.waits = "ready", None, wait and not overtaken
        if overtaken:
            self._supersede([job])

    def _lose(self, job: Job, kind: str) -> None:
        job.losses += 1
        if job.losses >= self.rules.max_losses:
            self._set_failed(job, "lost" if kind == "expired" else kind)
        else:
            self._return(job, wait=True)

    def _supersede(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            job.state, job.lease, job.waits = "superseded", None, False
            self.samples[job.sample].given_up |= not job.cheap_only and not self.samples[job.sample].imported

    def expire(self, ids: Iterable[int]) -> None:
        for id_ in sorted(ids):
            job = self.jobs[id_]
            self.attempts[job.lease or ""].outcome = "expired"
            self.expired[job.objective] += 1
            self._lose(job, "expired")
            self._see_what_is_due()

    def may_revive(self, token: str) -> bool:
        attempt = self.attempts[token]
        job = self.jobs[attempt.job]
        return attempt.outcome == "expired" and job.state == "ready" and attempt.number == job.attempts

    def heartbeat(self, token: str) -> tuple[bool, bool]:
        """Does the lease live (again), and should its worker give up?"""
        attempt = self.attempts[token]
        job = self.jobs[attempt.job]
        if self.may_revive(token):
            attempt.outcome = None
            job.state, job.lease, job.waits, job.losses = "leased", token, False, max(job.losses - 1, 0)
        if job.lease == token:
            return True, self.cancel
        welcome = attempt.outcome == "expired" and job.state in ("ready", "leased", "failed")
        return False, self.cancel or not welcome

    def release(self, token: str) -> bool:
        attempt = self.attempts[token]
        job = self.jobs[attempt.job]
        if job.lease != token:
            return False
        attempt.outcome = "released"
        self._return(job)
        return True

    def ripen(self) -> None:
        for job in self.jobs.values():
            job.waits = False

    # Engineers.

    def switch(self, active: bool) -> None:
        if active != self.active:
            self.active = active
            self._happen("resumed" if active else "paused")

    def _happen(self, *kinds: str) -> None:
        self.log += [(kind, None, None, None, None) for kind in kinds]

    def stop(self, cancel: bool) -> None:
        """Of a finished study, too, if there is anything left to do in it."""
        self.cancel = cancel
        if self.phase != "finished" or any(job.state in OPEN for job in self.jobs.values()):
            self.stopped = True
        self._supersede(job for job in self.jobs.values() if job.state == "ready")
        if self.phase != "finished":
            self.due.clear()
            self._happen("stopped", "finished")
            self.phase = "finished"

    def extend(self, budget: int) -> bool:
        if budget <= self.budget:
            return False
        if self.phase == "finished":
            self.phase = "search" if self.step else "initial"
        self.budget, self.stopped, self.cancel = budget, False, False
        self._happen("extended")
        self.due = {step: size for step, size in self.due.items() if step[0] != "closing"}
        if self.phase == "initial" and not self.planned:
            self._plan_initial()
        else:
            self._see_what_is_due()
        return True

    def retry(self, objectives: Sequence[str]) -> int:
        failed = [job for job in self.jobs.values() if job.state == "failed" and job.objective in objectives]
        for job in failed:
            job.state, job.errors, job.losses = "ready", 0, 0
        if failed:
            self.cancel = False  # their values are wanted
            self._happen("retried")
        return len(failed)

    # Steps.

    def _plan_initial(self) -> None:
        self.due = {step: size for step, size in self.due.items() if step[0] != "initial"}
        number = sum(step[0] == "initial" for step in self.done)
        self.due["initial", -1, number] = max(self.rules.initial - self.imported_complete, 0)
        self._happen("step_due")

    def _see_what_is_due(self) -> None:
        if self.phase == "finished" or any(step[0] != "stream" for step in self.due):
            return
        if len(self.settled) == len(self.planned):
            size = min(self.rules.batch, self.budget - len(self.planned))
            if size > 0:
                self._happen(*(["phase"] if self.phase == "initial" else []), "step_due")
                self.phase = "search"
                self.due = {("search", -1, self.step + 1): size}
            else:
                self.due["closing", -1, self.budget] = 0
                self._happen("step_due")
        elif self.phase == "initial":
            self._see_which_streams_are_due()

    def _see_which_streams_are_due(self) -> None:
        n, objectives = len(self.planned), self.rules.objectives
        for run, ratio in self.rules.ratios.items():
            position = objectives.index(run)
            if ratio <= 1 or any(step[:2] == ("stream", position) for step in self.due):
                continue
            generation = max([step[2] for step in self.done if step[:2] == ("stream", position)], default=0)
            mine = [job for job in self.jobs.values() if job.objective == run]
            waited = [job for job in mine if job.cheap_only == (generation > 0) and job.state in OPEN]
            last = LAMBDA if generation else min(LAMBDA, n)
            size = min(LAMBDA, n * ratio - len(mine))
            if len(waited) <= last // 2 and size > 0:
                self.due["stream", position, generation + 1] = size
                self._happen("step_due")

    def commit(self, step: Step) -> int:
        """A planner's step happens; answers how many samples it proposes, before they are added."""
        kind, _, number = step
        size = self.due.pop(step)
        self.done.append(step)
        ends = kind == "closing" and len(self.planned) >= self.budget
        if kind == "search" or ends:
            ready = [job for job in self.jobs.values() if job.state == "ready" and job.cheap_only]
            self._supersede(ready)
        self._happen("step")
        if kind == "search":
            self.step = number
        if ends:
            self.phase = "finished"
            self._happen("finished")
        return size

    def add(self, samples: Mapping[int, Sample], jobs: Mapping[int, Job], step: Step) -> None:
        """What the step proposed: only the optimiser knows the points."""
        self.samples |= samples
        self.jobs |= jobs
        if step[0] != "stream":
            self._see_what_is_due()

    # Imports.

    def at(self, x: tuple[float, ...]) -> list[int]:
        return [id_ for id_, sample in self.samples.items() if sample.x == x]

    def known_at(self, x: tuple[float, ...]) -> dict[str, float | str]:
        """By any sample at this point; a value before a failure."""
        found: dict[str, float | str] = {}
        for sample in self.at(x):
            found |= {o: said for o, said in self.known(sample).items() if not isinstance(found.get(o), float)}
        return found

    def refuses(self, x: tuple[float, ...], given: Known) -> bool:
        """A value never changes; a run that is awaited must be told whole, and has either values or none."""
        known = self.known_at(x)
        if any(isinstance(known.get(name), float) and known[name] != value for name, value in given.items()):
            return True
        for job in (job for job in self.jobs.values() if job.sample in self.at(x) and job.state != "done"):
            told = [guest for guest in self.rules.runs[job.objective] if guest in given]
            if job.objective not in given and told and self.samples[job.sample].full:
                return True
            if job.objective in given and given[job.objective] is None and any(given[one] is not None for one in told):
                return True
        return False

    def import_at(self, x: tuple[float, ...], given: Known, *, evaluate: bool) -> dict[str, float | None] | None:
        """A row that is not refused. Answers what a new sample there knows, if there is to be one."""
        there, before = self.at(x), self.known_at(x)
        home = next((sample for sample in there if self.samples[sample].full), None)
        was = home is not None and self._complete(home)
        for sample in there:
            for job in [job for job in self.jobs.values() if job.sample == sample]:
                if job.state != "done" and job.objective in given:
                    self._settle(job, given)
        if home is not None:
            self._add(home, given)
            self.imported_complete += self.samples[home].imported and self._complete(home) and not was
            return None
        asks = evaluate and len(given) < len(self.rules.objectives)
        news = any(before.get(name) != _said(value) for name, value in given.items())
        if there and not asks and not news:
            return None
        return {name: value for name, value in before.items() if isinstance(value, float)} | dict(given)

    def _settle(self, job: Job, given: Known) -> None:
        """What the job was to find out is known."""
        value, guests = given[job.objective], self.rules.runs[job.objective]
        if value is not None:
            self._overtake(job)
            job.state, job.lease, job.waits = "done", None, False
            self._learn(job.sample, job.objective, value)
            for guest in guests:
                self._learn(job.sample, guest, given.get(guest), "infeasible" if guest in given else "error")
                job.guests[guest] = "done" if given.get(guest) is not None else "failed"
        elif job.state != "failed":
            self._overtake(job)
            self._set_failed(job, "infeasible")
        else:  # now it is known why
            for name in (job.objective, *guests):
                known = self.known(job.sample).get(name)
                if not isinstance(known, float) and known != "infeasible":
                    self._learn(job.sample, name, None, "infeasible")

    def _add(self, sample: int, given: Known) -> None:
        """What no job brings."""
        for name, value in given.items():
            known = self.known(sample).get(name)
            awaited = any(
                name in (job.objective, *self.rules.runs[job.objective])
                for job in self.jobs.values()
                if job.sample == sample and job.state != "done"
            )
            if not isinstance(known, float) and known != _said(value) and not awaited:
                self._learn(sample, name, value, "infeasible")

    def missing(self, sample: int) -> list[str]:
        """Runs of an imported sample of which nothing is known and for which there is no job."""
        known = self.known(sample)
        made = [job.objective for job in self.jobs.values() if job.sample == sample]
        runs = self.rules.runs.items()
        return [run for run, also in runs if run not in made and not any(name in known for name in (run, *also))]

    def import_new(self, sample: int, x: tuple[float, ...], given: Known) -> None:
        self.samples[sample] = Sample(full=True, x=x, imported=True)
        for name, value in given.items():
            self._learn(sample, name, value, "infeasible")
        self.imported_complete += self._complete(sample)

    def _complete(self, sample: int) -> bool:
        known = self.known(sample)
        return all(isinstance(known.get(name), float) for name in self.rules.objectives)

    def imported(self, *, jobs: bool) -> None:
        """After all rows of an import that changed something, or made jobs."""
        self.cancel &= not jobs  # their values are wanted
        self._happen("imported")
        if any(step[0] == "initial" for step in self.due):
            self._plan_initial()
        else:
            self._see_what_is_due()


def _said(value: float | None) -> float | str:
    return "infeasible" if value is None else value
