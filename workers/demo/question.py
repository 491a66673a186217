"""What the demo asks of a study in virtual time, and what that answers; apart from it, as it loads the optimiser."""

from pydantic import BaseModel

from workers.demo.problems import DemoProblem


class Question(BaseModel):
    problem: DemoProblem
    ratios: list[float]
    took_s: list[float]  # per job of each objective
    reference: list[float]  # of the hypervolume
    known: list[tuple[dict[str, float], dict[str, float]]]  # values that need not be computed again


class Answer(BaseModel):
    seconds: float
    hypervolume: float
    front: int
    jobs: list[int]
    busy: list[float]
    history: list[tuple[float, float]]  # (virtual time, hypervolume) at every step

    def reached(self, hypervolume: float) -> float | None:
        """When the front was first at least as good."""
        return next((time for time, score in self.history if score >= hypervolume), None)
