"""A generator of the gest-api around a study on a server: `suggest` and `ingest`.

A point may be ingested several times: outputs that are absent are not known yet.
"""

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gest_api.generator import Generator
from gest_api.vocs import (
    VOCS,
    BoundsConstraint,
    ContinuousVariable,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
    MinimizeObjective,
)

from counterpoise.client import Client
from counterpoise.errors import RequestFailed
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Ask, Failure, Job, Tell
from counterpoise.worker.run_worker import default_name

ID = "_id"
MOST_JOBS = 256  # of one ask
LONGEST_BEAT_S = 5.0


@dataclass(slots=True)
class Point:
    """A sample, its jobs that are not told, and the values that were ingested before
    their job was leased, by output.
    """

    x: dict[str, Any]
    jobs: dict[str, Job] = field(default_factory=dict)
    early_values: dict[str, Any] = field(default_factory=dict)
    is_suggested: bool = False


class CounterpoiseGenerator(Generator):  # type: ignore[misc]
    """Suggests the samples of a study; a context manager.

    `specification`: other fields of a study, such as `seed`.
    """

    returns_id = True

    def __init__(
        self, vocs: VOCS, client: Client, name: str, budget: int, **specification: Any
    ) -> None:
        super().__init__(vocs)
        self._vocs = vocs
        self._client = client
        self._worker = default_name()
        self._points: dict[int, Point] = {}  # by sample
        self._lock = threading.Lock()
        self._ended = threading.Event()
        document = study_of(vocs, name, budget, **specification)
        self._study = client.create_study(document).name
        self._runs = [run["name"] for run in _outputs(document)]
        threading.Thread(target=self._beat, name="heartbeats", daemon=True).start()

    def _validate_vocs(self, vocs: VOCS) -> None:
        for name, variable in vocs.variables.items():
            if type(variable) is not ContinuousVariable:
                raise ValueError(f"variable {name!r} is not continuous")
        for name, objective in vocs.objectives.items():
            if not isinstance(objective, MinimizeObjective | MaximizeObjective):
                raise ValueError(
                    f"objective {name!r} is neither minimised nor maximised"
                )

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Points to evaluate; waits for the planner if there are none now.

        A point comes again, with the same `_id`, if an output is due later than its
        others. ValueError if the study is finished, or has fewer than `num_points`.
        """
        self._lease(num_points or 1, wait_s=30.0)
        with self._lock:
            new = {
                sample: point
                for sample, point in self._points.items()
                if not point.is_suggested
            }
            if len(new) < (num_points or 1):
                raise ValueError(
                    f"there are {len(new)} points to evaluate now, {num_points or 1}"
                    " were requested: ingest results first, or extend the budget"
                )
            chosen = list(new.items())[:num_points]
            for _, point in chosen:
                point.is_suggested = True
        constants = {name: c.value for name, c in self._vocs.constants.items()}
        return [{**point.x, **constants, ID: sample} for sample, point in chosen]

    def wanted(self, point: Mapping[str, Any]) -> list[str]:
        """The outputs that a suggested point still lacks; a cheap-only sample needs
        only some.
        """
        return list(self._point(point).jobs)

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Tell the values that are there; a NaN says that the point is infeasible."""
        for result in results:
            if ID not in result:
                raise ValueError(
                    f"a result without {ID!r}: import evaluations from elsewhere with"
                    " `counterpoise study import`"
                )
        for result in results:
            point = self._point(result)
            given = {name: result[name] for name in self._runs if name in result}
            point.early_values.update(given)
            self._tell_known(point)

    def finalize(self) -> None:
        """Give back what was suggested and not ingested."""
        self._ended.set()
        if leases := self._leases():
            self._client.release(leases)

    def __enter__(self) -> "CounterpoiseGenerator":
        return self

    def __exit__(self, *error: object) -> None:
        self.finalize()

    def _point(self, result: Mapping[str, Any]) -> Point:
        sample = result.get(ID)
        if sample not in self._points:
            raise ValueError(f"there is no suggested point {sample!r}")
        return self._points[sample]

    def _lease(self, number: int, wait_s: float) -> None:
        """Lease the heads of all queues; waits only while there is nothing at all."""
        self._lease_heads(number)
        if not self._has_new_points():
            self._ask(self._runs, 1, wait_s)
            self._lease_heads(number)  # the other outputs of what was waited for

    def _lease_heads(self, number: int) -> None:
        for run in self._runs:
            self._ask([run], number, wait_s=0.0)

    def _has_new_points(self) -> bool:
        with self._lock:
            return any(not point.is_suggested for point in self._points.values())

    def _ask(self, runs: list[str], number: int, wait_s: float) -> None:
        ask = Ask(
            worker=self._worker,
            studies=[self._study],
            objectives=runs,
            max_jobs=min(number, MOST_JOBS),
            wait_s=wait_s,
        )
        self._take(self._client.ask(ask).jobs)

    def _take(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            with self._lock:
                point = self._points.setdefault(job.sample, Point(dict(job.x)))
                point.jobs[job.objective] = job
            if job.objective in point.early_values:
                self._tell_known(point)
            else:
                point.is_suggested = False

    def _tell_known(self, point: Point) -> None:
        """Tell every value whose job is leased; the others wait for theirs."""
        for name in [name for name in point.jobs if name in point.early_values]:
            self._client.tell(_tell(point.jobs[name], point.early_values[name]))
            with self._lock:
                del point.jobs[name], point.early_values[name]

    def _leases(self) -> list[str]:
        with self._lock:
            points = list(self._points.values())
            return [job.lease for point in points for job in point.jobs.values()]

    def _interval_s(self) -> float:
        with self._lock:
            points = list(self._points.values())
            beats = [job.heartbeat_s for point in points for job in point.jobs.values()]
        return min([*beats, LONGEST_BEAT_S])

    def _beat(self) -> None:
        """Heartbeats, often enough for the shortest lease."""
        while not self._ended.wait(self._interval_s()):
            if leases := self._leases():
                try:
                    self._client.heartbeat(leases)
                except RequestFailed:
                    continue  # leases are revived by a later one


def study_of(vocs: VOCS, name: str, budget: int, **fields: Any) -> dict[str, Any]:
    """The specification of a study from VOCS."""
    document: dict[str, Any] = {
        "name": name,
        "variables": [
            {"name": variable, "low": declared.domain[0], "high": declared.domain[1]}
            for variable, declared in vocs.variables.items()
        ],
        "objectives": [
            {"name": objective, "direction": _direction(declared)}
            for objective, declared in vocs.objectives.items()
        ],
        "budget": budget,
    }
    if vocs.constraints:
        document["constraints"] = [
            {"name": constraint, **_limits(declared)}
            for constraint, declared in vocs.constraints.items()
        ]
    return {**document, **fields}


def _outputs(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*document["objectives"], *document.get("constraints", ())]


def _direction(objective: Any) -> str:
    return "maximize" if isinstance(objective, MaximizeObjective) else "minimize"


def _limits(constraint: Any) -> dict[str, float]:
    if isinstance(constraint, LessThanConstraint):
        return {"upper": constraint.value}
    if isinstance(constraint, GreaterThanConstraint):
        return {"lower": constraint.value}
    assert isinstance(constraint, BoundsConstraint)  # noqa: S101
    return {"lower": constraint.range[0], "upper": constraint.range[1]}


def _tell(job: Job, value: Any) -> Tell:
    number = float(value)
    if math.isfinite(number):
        return Tell(job=job.job, lease=job.lease, value=number)
    failure = Failure(kind=FailureKind.INFEASIBLE, message=f"the value is {number}")
    return Tell(job=job.job, lease=job.lease, failure=failure)
