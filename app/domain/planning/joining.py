"""Proposed points that are samples already.

Streams do not read each other, so that each depends on its own values only. Two of them,
or a stream and a search step, can propose the same point: it stays one sample, which
gets a job for each run that it lacks.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.samples import NewSample, Point, Sample


@dataclass(frozen=True, slots=True)
class Join:
    """A proposal that is an existing sample, as a step records it."""

    position: int  # among the samples that the step proposed
    sample: int
    full: bool  # as it was proposed
    objectives: tuple[int, ...]  # that it was proposed for
    runs: tuple[int, ...]  # those of them for which the sample got a job
    ruled_out: bool  # these jobs are superseded from the beginning
    after: int  # the newest sample before the step

    @classmethod
    def from_record(cls, recorded: Mapping[str, Any]) -> "Join":
        return cls(
            position=recorded["position"],
            sample=recorded["sample"],
            full=recorded["full"],
            objectives=tuple(recorded["objectives"]),
            runs=tuple(recorded["runs"]),
            ruled_out=recorded["ruled_out"],
            after=recorded["after"],
        )


def joins_of(
    proposed: Sequence[NewSample],
    existing: Mapping[Point, Sequence[Sample]],
    has_job: Mapping[int, Collection[int]],
    promoted: Collection[int],
    newest: int,
) -> Iterator[Join]:
    """`has_job`: by sample, objectives. `promoted`: samples that the step completes.

    Only a cheap-only sample of another step gets jobs. A sample that was imported while
    the step was computed gets none: the next step reads it.
    """
    for position, proposal in enumerate(proposed):
        samples_here = existing.get(tuple(proposal.x), ())
        if not samples_here or proposal.repeated:
            continue
        sample = samples_here[0]
        is_open = not (sample.full or sample.is_imported or sample.id in promoted)
        runs = proposal.objectives if is_open and not proposal.full else ()
        known = has_job.get(sample.id, ())
        yield Join(
            position=position,
            sample=sample.id,
            full=proposal.full,
            objectives=proposal.objectives,
            runs=tuple(run for run in runs if run not in known),
            ruled_out=sample.infeasible,
            after=newest,
        )
