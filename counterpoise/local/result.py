"""The result of a study, finished or not."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from counterpoise.client import Client
from counterpoise.wire.codes import Phase, StepKind
from counterpoise.wire.views import (
    FrontItem,
    NearlyFeasible,
    SampleView,
    StepView,
    StudyView,
)

if TYPE_CHECKING:
    import pandas as pd


class HypervolumePoint(NamedTuple):
    """The hypervolume of the front when a step became due."""

    step: str
    seconds: float  # since the study was created
    value: float


@dataclass(frozen=True, slots=True)
class Result:
    """Front, samples and hypervolume history of a study.

    `front`: the feasible samples that no other one dominates; `least_violating`: without
    any, those that break the limits least. `samples`: every sample that was
    proposed, with the values that are known. `hypervolume_history`: the hypervolume of
    the front at every step, against the same reference point.
    """

    study: StudyView
    front: list[FrontItem]
    samples: list[SampleView]
    hypervolume_history: list[HypervolumePoint]
    folder: Path | None
    least_violating: list[NearlyFeasible] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """False after Ctrl-C: call `optimize` again with the same arguments to go on."""
        return self.study.phase == Phase.FINISHED

    @property
    def hypervolume(self) -> float | None:
        return self.study.hypervolume.value if self.study.hypervolume else None

    def best(self, objective: str) -> FrontItem:
        """The sample of the front with the best value of one objective."""
        views = {view.name: view for view in self.study.objectives}
        if objective not in views:
            names = ", ".join(views)
            raise KeyError(f"there is no objective {objective!r}, only {names}")
        if not self.front:
            raise LookupError(f"the front is empty: {self._why_empty()}")
        choose = min if views[objective].direction == "minimize" else max
        return choose(self.front, key=lambda item: item.values[objective])

    def _why_empty(self) -> str:
        if self.least_violating:
            return "no sample keeps all limits; see `least_violating`"
        return "no sample has all values yet"

    def to_dataframe(
        self, what: Literal["front", "samples"] = "samples"
    ) -> "pd.DataFrame":
        """A row per sample: its number, step, variables and values."""
        if importlib.util.find_spec("pandas") is None:
            raise ImportError("pandas is not installed; run: pip install pandas")
        import pandas as pd

        items: list[Any] = list(self.front if what == "front" else self.samples)
        rows = [_row(item) for item in items]
        used = dict.fromkeys(chain.from_iterable(rows))
        declared = [name for name in self._names() if name in used]
        return pd.DataFrame(rows, columns=list(dict.fromkeys([*declared, *used])))

    def _names(self) -> list[str]:
        """Columns in the order of the specification."""
        spec = self.study.spec
        outputs = [*spec["objectives"], *(spec.get("constraints") or [])]
        declared = [part["name"] for part in (*spec["variables"], *outputs)]
        return ["sample", "step", "full", *declared]

    def __repr__(self) -> str:
        state = "finished" if self.finished else "unfinished"
        counts = f"{self.study.evaluated_full} of {self.study.budget} full samples"
        return (
            f"<Result of {self.study.name}: {state}, {counts},"
            f" {len(self.front)} on the front>"
        )


def _row(item: FrontItem | SampleView) -> dict[str, Any]:
    facts: dict[str, Any] = {"sample": item.sample, "step": item.step}
    if isinstance(item, SampleView):
        facts["full"] = item.full
    return {**facts, **item.x, **item.values}


def read_result(client: Client, name: str, folder: Path | None) -> Result:
    study = client.study(name)
    front = client.front_view(name)
    return Result(
        study=study,
        front=front.items,
        least_violating=front.least_violating,
        samples=list(client.samples(name)),
        hypervolume_history=list(_history(study, list(client.steps(name)))),
        folder=folder,
    )


def _history(study: StudyView, steps: list[StepView]) -> Iterator[HypervolumePoint]:
    done = [step for step in steps if step.done_at is not None]
    for step in sorted(done, key=lambda step: step.due_seq):
        volume = (step.record or {}).get("hypervolume")
        if step.kind in (StepKind.SEARCH, StepKind.CLOSING) and volume:
            seconds = seconds_between(study.created_at, step.due_at)
            yield HypervolumePoint(step.step, seconds, float(volume["value"]))


def seconds_between(began: str, ended: str) -> float:
    span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return span.total_seconds()
