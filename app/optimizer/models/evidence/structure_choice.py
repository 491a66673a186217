"""Which structure and which data model an objective: what predicts the full samples
best, each left out in turn.

At the first step every structure is fitted without the stream's data, then the best one
with them. At every second later step the chosen one is fitted again from its last
hyperparameters; at every fourth, one challenger beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.optimizer.arrays import Ints
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.hyperparameters import Hyperparameters, Structure
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.evidence.training_rows import (
    Told,
    with_stream,
    without_stream,
)

WARPED_PENALTY = 0.5  # in mean log density
MARGIN = 0.02  # by which a challenger must be better
CHALLENGE_EVERY = 4  # steps
TUNE_EVERY = 2  # steps; at others the last hyperparameters are used for all data


@dataclass(frozen=True, slots=True)
class Choice:
    """What a step records of an objective's model, and the next step begins with."""

    structure: Structure
    stream: bool  # whether the stream's data are used
    # The last ones of every structure that was fitted
    fitted: tuple[Hyperparameters, ...]

    def start(self, structure: Structure) -> Hyperparameters | None:
        """Where a warm fit of the structure starts; None: it was never fitted."""
        return next(
            (fitted for fitted in self.fitted if fitted.structure is structure), None
        )

    def as_json(self) -> dict[str, Any]:
        fitted = [hyperparameters.as_json() for hyperparameters in self.fitted]
        return {
            "structure": self.structure.value,
            "stream": self.stream,
            "fitted": fitted,
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> "Choice":
        fitted = tuple(
            Hyperparameters.from_json(hyperparameters)
            for hyperparameters in record["fitted"]
        )
        return Choice(Structure(record["structure"]), bool(record["stream"]), fitted)


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """What all fits of an objective have in common; see `fit`."""

    groups: Ints | None = None
    eta: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A fitted model; a larger score is better."""

    structure: Structure
    stream: bool
    posterior: Posterior
    score: float
    full: int  # its first rows that are full samples


def choose_model(
    told: Told,
    before: Choice | None,
    turn: int,
    rng: np.random.Generator,
    options: Options | None = None,
) -> tuple[Candidate, Choice]:
    """The model of one objective, and the choice that the next step takes as `before`.

    `turn` is the step's number plus the objective's: the challenges of different
    objectives fall on different steps.
    """
    fitting = Fitting(told, rng, options or Options())
    if before is None:
        return fitting.first_choice()
    return fitting.later_choice(before, turn)


def challenger(
    choice: Choice, streamed: bool, turn: int
) -> tuple[Structure, bool] | None:
    """Structure and use of the stream that compete with the choice at this turn; None
    at three of four.
    """
    if turn % CHALLENGE_EVERY != 0:
        return None
    rivals = [(structure, False) for structure in Structure]
    if streamed:
        rivals += [(structure, True) for structure in Structure]
    others = [rival for rival in rivals if rival != (choice.structure, choice.stream)]
    return others[(turn // CHALLENGE_EVERY) % len(others)]


def score(posterior: Posterior, full: int) -> float:
    """Mean leave-one-out log density at the full samples, which come first; at all rows
    where there are none.
    """
    density = posterior.leave_one_out().log_density[: full or None]
    penalty = WARPED_PENALTY if posterior.hyperparameters.structure.warped else 0.0
    return float(np.mean(density)) - penalty


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """The fits of one objective at one step."""

    told: Told
    rng: np.random.Generator
    options: Options

    @property
    def streamed(self) -> bool:
        return len(self.told.stream) > 0

    def first_choice(self) -> tuple[Candidate, Choice]:
        candidates = [self.candidate(structure, False, None) for structure in Structure]
        best = max(candidates, key=lambda candidate: candidate.score)
        if self.streamed:
            rival = self.candidate(best.structure, True, None)
            candidates = [
                candidate for candidate in candidates if candidate is not best
            ]
            best = rival if rival.score > best.score else best
            candidates.append(best)
        fitted = [candidate.posterior.hyperparameters for candidate in candidates]
        return best, Choice(best.structure, best.stream, _by_structure(fitted))

    def later_choice(self, before: Choice, turn: int) -> tuple[Candidate, Choice]:
        stream = before.stream and self.streamed
        best = self.candidate(
            before.structure,
            stream,
            before.start(before.structure),
            tune=turn % TUNE_EVERY == 0,
        )
        fitted = [*before.fitted, best.posterior.hyperparameters]
        challenge = challenger(before, self.streamed, turn)
        if challenge is not None:
            rival = self.candidate(*challenge, before.start(challenge[0]))
            adopted = rival.score > best.score + MARGIN
            if adopted or rival.structure is not best.structure:
                fitted.append(rival.posterior.hyperparameters)
            best = rival if adopted else best
        return best, Choice(best.structure, best.stream, _by_structure(fitted))

    def candidate(
        self,
        structure: Structure,
        stream: bool,
        start: Hyperparameters | None,
        *,
        tune: bool = True,
    ) -> Candidate:
        rows = with_stream(self.told) if stream else without_stream(self.told)
        posterior = fit(
            structure,
            rows.X,
            rows.y,
            self.rng,
            start=start,
            groups=self.options.groups,
            eta=self.options.eta,
            tune=tune,
        )
        return Candidate(
            structure, stream, posterior, score(posterior, rows.full), rows.full
        )


def _by_structure(fitted: list[Hyperparameters]) -> tuple[Hyperparameters, ...]:
    """The last of each structure, in the order of structures."""
    last = {hyperparameters.structure: hyperparameters for hyperparameters in fitted}
    return tuple(last[structure] for structure in Structure if structure in last)
