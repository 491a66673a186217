"""A watched study at one moment."""

from dataclasses import dataclass
from typing import Any

from counterpoise.eta import Eta
from counterpoise.wire.views import StudyView, WorkerView
from counterpoise.wire.work import matches


@dataclass(frozen=True, slots=True)
class Snapshot:
    """With an `error` the last request failed, and the rest is from the one before."""

    study: StudyView
    workers: list[WorkerView]
    eta: Eta
    error: str | None = None

    @property
    def own_workers(self) -> list[WorkerView]:
        """The live workers that take jobs of this study."""
        alive = [worker for worker in self.workers if worker.alive]
        return [worker for worker in alive if matches(worker.studies, self.study.name)]

    @property
    def state(self) -> tuple[Any, ...]:
        """What is worth a new line when it changes; an ETA alone is not."""
        study = self.study
        return (
            study.phase,
            study.state,
            study.step,
            study.evaluated_full,
            study.planned_full,
            study.budget,
            study.hypervolume.value if study.hypervolume else None,
            [item.detail for item in study.health],
            len(self.own_workers),
            self.error is None,
        )
