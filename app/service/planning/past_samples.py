"""The samples and values that a step may read, as arrays on the unit cube."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.samples import Sample
from app.optimizer.arrays import Floats, Ints
from app.optimizer.limits import Limit
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data
from app.service.planning.joined_samples import JoinedRun
from counterpoise.wire.codes import FailureKind, StepKind

# By sample: minimised value, its number in the study's sequence
Values = dict[int, tuple[float, int]]
Failures = dict[int, FailureKind]  # by sample


@dataclass(frozen=True, slots=True)
class Past:
    """All that a step may read, by position of the output and row of U."""

    samples: list[Sample]
    U: Floats  # (n, D): the samples' points in the unit cube
    row: dict[int, int]  # sample -> row of U
    values: list[Values]
    failures: list[Failures]  # final ones
    wanted: list[set[int]]  # samples that were proposed for the objective, or imported
    limits: tuple[Limit, ...]  # of minimised values
    joined: list[dict[int, JoinedRun]]  # by sample of another step

    def points(self, ids: Sequence[int]) -> Floats:
        return self.U[[self.row[sample] for sample in ids]]

    def data(self, objective: int, ids: Sequence[int]) -> Data:
        values = [self.values[objective][sample][0] for sample in ids]
        return Data(self.points(ids), np.array(values, dtype=float))

    def in_order(self, objective: int, ids: Collection[int]) -> list[int]:
        """In the order in which they were proposed for the objective."""
        joined = self.joined[objective]
        known = [sample for sample in ids if sample in self.row]
        return sorted(
            known,
            key=lambda sample: (
                joined[sample].place if sample in joined else (sample, 0)
            ),
        )

    def complete(self) -> list[int]:
        """D: the full samples that have all values."""
        return [
            sample.id
            for sample in self.samples
            if sample.full and self._is_complete(sample.id)
        ]

    def _is_complete(self, sample: int) -> bool:
        return all(sample in values for values in self.values)

    def full_steps(self, ids: Sequence[int]) -> Ints:
        """The search step that asked for all values of each sample, 0 for the design and
        imports.
        """
        samples = [self.samples[self.row[sample]] for sample in ids]
        numbers = [sample.promoted_in or sample.search_number for sample in samples]
        return np.array(numbers, dtype=np.int64)

    def count(self, kind: StepKind) -> int:
        """Samples that steps of this kind proposed."""
        return sum(sample.kind is kind for sample in self.samples)

    def infeasible(self, objective: int) -> list[int]:
        """The samples that were reported as infeasible by the objective's run."""
        failures = self.failures[objective]
        return self.in_order(
            objective,
            {
                sample
                for sample, kind in failures.items()
                if kind is FailureKind.INFEASIBLE
            },
        )

    def unknown(self, objective: int, ids: Sequence[int]) -> list[int]:
        """Those of the samples that have neither a value nor a failure."""
        known = self.values[objective].keys() | self.failures[objective].keys()
        return [sample for sample in ids if sample not in known]

    def partly_known(self, ids: Sequence[int]) -> Samples:
        """The values of the samples, as far as they are known."""
        m = len(self.values)
        F, known = np.zeros((len(ids), m)), np.zeros((len(ids), m), dtype=np.bool_)
        for j, values in enumerate(self.values):
            for row, sample in enumerate(ids):
                if sample in values:
                    F[row, j], known[row, j] = values[sample][0], True
        numbers = {sample.id: sample.search_number for sample in self.samples}
        steps = np.array([numbers[sample] for sample in ids], dtype=np.int64)
        return Samples(self.points(ids), F, known, steps)

    def pool(self) -> list[int]:
        """Cheap-only samples of which something is known, no run has failed and no
        limit is broken: those that can be promoted.
        """
        left_out: set[int] = set().union(*self.failures)
        for values, limit in zip(self.values, self.limits, strict=True):
            left_out |= {
                sample
                for sample, (y, _) in values.items()
                if not limit.lower <= y <= limit.upper
            }
        known: set[int] = set().union(*self.values)
        return [
            sample.id
            for sample in self.samples
            if not sample.full and sample.id in known and sample.id not in left_out
        ]

    def untold(self) -> list[int]:
        """Cheap-only samples of which nothing is known."""
        known: set[int] = set().union(*self.values, *self.failures)
        return [
            sample.id
            for sample in self.samples
            if not sample.full and sample.id not in known
        ]

    def complete_values(self) -> Floats:
        """The values of D, (n, M)."""
        complete = self.complete()
        F = np.empty((len(complete), len(self.values)))
        for j, values in enumerate(self.values):
            F[:, j] = [values[sample][0] for sample in complete]
        return F
