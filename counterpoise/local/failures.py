"""Failed evaluations on this machine: they are reported at once, and end a run in which
an objective has no value at all.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from counterpoise.local.processes import RunFailed
from counterpoise.wire.views import OutputView, StudyView
from counterpoise.worker.worker_log import WorkerLog

MOST_LINES = 3  # per objective; the log has all
HOPELESS = 3  # failed jobs of an objective that has no value


@dataclass(frozen=True, slots=True)
class FailureLog(WorkerLog):
    """A worker's log that also keeps the first failures of each objective."""

    _lines: dict[str, list[str]] = field(default_factory=dict)
    _unread: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def warning(self, event: str, **fields: Any) -> None:
        # WorkerLog's own: `super()` needs a class that `slots` has replaced
        WorkerLog.warning(self, event, **fields)
        objective = fields.get("objective")
        if objective is not None:
            self._keep(str(objective), event)

    def _keep(self, objective: str, event: str) -> None:
        with self._lock:
            lines = self._lines.setdefault(objective, [])
            if len(lines) == MOST_LINES or event in lines:
                return
            lines.append(event)
            self._unread.append(f"{objective}: {event}")
            if len(lines) == MOST_LINES:
                self._unread.append(f"{objective}: further failures are in the log")

    def unread(self) -> list[str]:
        """Lines that were not returned before."""
        with self._lock:
            lines = list(self._unread)
            self._unread.clear()
            return lines

    def last(self, objective: str) -> str | None:
        with self._lock:
            lines = self._lines.get(objective)
            return lines[-1] if lines else None


def without_any_value(study: StudyView) -> list[OutputView]:
    """Objectives and constraints of which every settled job has failed."""
    return [
        output
        for output in study.outputs
        if output.failed and not output.done and not output.infeasible
    ]


def check_for_values(study: StudyView, log: FailureLog) -> None:
    """Raises RunFailed if evaluations of an objective fail, and none has succeeded."""
    for output in without_any_value(study):
        failure = log.last(output.name)
        if output.failed >= HOPELESS and failure is not None:
            raise RunFailed(
                f"{output.name}: {output.failed} samples have failed, none has a value"
                f" ({failure}). Put it right, then run the same again: failed"
                " evaluations are repeated"
            )
