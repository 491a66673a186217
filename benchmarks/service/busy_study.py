"""A study that keeps a planner fitting models: its workers respond at once, or hold
back while the planner is to be idle.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.problems.catalogue import Instance, problem
from benchmarks.server_processes import planning
from benchmarks.service.clients import Client

NAME = "busy"
RATIOS = {"f0": 5.0, "f1": 5.0, "f2": 1.0}  # the paper's: cheap ones five times as fast
PATIENCE_S = 300.0


@dataclass(slots=True)
class BusyStudy:
    """DTLZ2, m = 3, d = 10.

    One full sample a step, so that n hardly grows while it is measured.
    """

    port: int
    instance: Instance = field(default_factory=lambda: problem("dtlz2", 3))
    may_tell: threading.Event = field(default_factory=threading.Event)
    holds_back: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    feeder: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.feeder = threading.Thread(target=self.feed, daemon=True)

    def create(self, initial: int) -> None:
        """Returns when the first search step has been planned."""
        client = Client(self.port)
        client.post("/studies", specification(initial, self.instance))
        deadline = time.monotonic() + PATIENCE_S
        while self.steps() < 1:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"the planner planned nothing: {client.get(f'/studies/{NAME}')['health']}"
                )
            self._tell(client, self._ask(client, 0.2))
        client.close()

    def feed(self) -> None:
        client = Client(self.port)
        while not self.over.is_set():
            jobs = self._ask(client, 1.0)
            if jobs and not self.may_tell.is_set():
                # the server would, after a while; it is opened again when it is needed
                client.close()
                self.holds_back.set()
                self.may_tell.wait()
                self.holds_back.clear()
            self._tell(client, jobs)
        client.close()

    def rest(self) -> None:
        """Returns when the planner has nothing to do and will not get anything."""
        self.may_tell.clear()
        deadline = time.monotonic() + PATIENCE_S
        while not self.holds_back.wait(0.2):
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError("the planner does not come to an end")

    def check(self) -> None:
        """Without its workers the study would rest, and what is measured would not be
        what it says.
        """
        if not self.feeder.is_alive():
            raise RuntimeError(
                "the workers of the busy study have ended; what they said is above"
            )

    def steps(self) -> int:
        client = Client(self.port)
        step: int = client.get(f"/studies/{NAME}")["step"]
        client.close()
        return step

    def _ask(self, client: Client, wait_s: float) -> list[dict[str, Any]]:
        ask = {
            "worker": NAME,
            "studies": [NAME],
            "objectives": ["*"],
            "max_jobs": 256,
            "wait_s": wait_s,
        }
        jobs: list[dict[str, Any]] = client.post("/ask", ask)["jobs"]
        return jobs

    def _tell(self, client: Client, jobs: Sequence[dict[str, Any]]) -> None:
        if jobs:
            # (n, m)
            F = self.instance.evaluate(
                np.array([list(job["x"].values()) for job in jobs])
            )
            values = [
                float(f[int(job["objective"][1:])])
                for job, f in zip(jobs, F, strict=True)
            ]
            told = [
                {"job": j["job"], "lease": j["lease"], "value": v}
                for j, v in zip(jobs, values, strict=True)
            ]
            client.post("/tell", told)


def specification(initial: int, instance: Instance) -> dict[str, Any]:
    return {
        "name": NAME,
        "variables": [
            {"name": f"x{k}", "low": 0.0, "high": 1.0} for k in range(instance.d)
        ],
        "objectives": [{"name": name} for name in RATIOS],
        "ratios": RATIOS,
        "initial_samples": initial,
        "budget": initial + 10_000,
        "batch_size": 1,
        "lease_s": 3600,
        "seed": 1,
    }


@contextmanager
def busy_planner(url: str, port: int, initial: int) -> Iterator[BusyStudy]:
    """A planner process and its study, at rest."""
    study = BusyStudy(port)
    with planning(url):
        study.create(initial)
        study.feeder.start()
        try:
            study.rest()
            yield study
        finally:
            study.over.set()
            study.may_tell.set()
            study.feeder.join(PATIENCE_S)
