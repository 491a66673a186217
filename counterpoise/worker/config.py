"""The configuration of a worker."""

from dataclasses import dataclass

from counterpoise.wire.work import Job


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    name: str
    studies: tuple[str, ...]
    slots: int = 1
    max_jobs: int | None = None
    until_finished: bool = False
    timeout_s: float | None = None
    grace_s: float = 30.0
    wait_s: float = 20.0  # of one ask

    @property
    def ask_wait_s(self) -> float:
        """Short with `until_finished`, because a server reports the end of a study only
        when the wait is over.
        """
        return min(self.wait_s, 5.0) if self.until_finished else self.wait_s

    def limit_s(self, job: Job) -> float | None:
        """The time limit of a job: the study's or the worker's own, whichever is
        shorter.
        """
        limits = [
            limit for limit in (job.timeout_s, self.timeout_s) if limit is not None
        ]
        return min(limits, default=None)
