"""A study in virtual time: what it needs, and its result.

Does not import the optimiser.
"""

from pydantic import BaseModel

from workers.demo.problems import DemoProblem


class VirtualStudy(BaseModel):
    problem: DemoProblem
    ratios: list[float]
    job_s: list[float]  # duration of a job of each objective
    reference_point: list[float]  # of the hypervolume
    # Points and values that need no evaluation
    known: list[tuple[dict[str, float], dict[str, float]]]


class VirtualResult(BaseModel):
    seconds: float
    hypervolume: float
    front: int
    jobs: list[int]
    busy: list[float]
    history: list[tuple[float, float]]  # (virtual time, hypervolume) at every step

    def reached(self, hypervolume: float) -> float | None:
        """The time at which the hypervolume was first at least this."""
        return next(
            (time for time, value in self.history if value >= hypervolume), None
        )
