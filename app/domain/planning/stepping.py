"""When a step is due and which jobs it supersedes, from a study's counters.

| symbol    | here               | meaning                                                           |
|-----------|--------------------|-------------------------------------------------------------------|
| n         | `n`                | samples of the initial design                                     |
| FE_max    | `budget`           | full samples in all, the design's included                        |
| u         | `batch`            | full samples of one step, more if more slots are free; None: 1    |
| –         | `overlap`          | full samples that may still run when the next step is planned     |
| –         | `slots`            | slots to fill, and samples to plan ahead of them; 0: not followed |
| N_iter    | `step`             | search steps so far                                               |
| r_j       | `ratios[j]`        | evaluations of objective j that fit into one of the slowest       |
| lambda    | `lam`              | samples of one generation of a stream                             |
"""

import math
from dataclasses import dataclass

from counterpoise.wire.codes import Phase

LAMBDA = 50
# For a stream that does not learn from its values: large generations cover space evenly
COMMON_LAMBDA = 500
NEGLIGIBLE_PLANNING = 0.02  # as a share of a slow run


@dataclass(frozen=True, slots=True)
class Stream:
    """The single-objective search of one cheap objective during the initial phase."""

    objective: int
    generation: int  # the last one planned; 0 is the design itself
    # evaluations of this objective planned so far, the design's n included
    planned: int
    # jobs of the stream not yet settled; while the generation is 0, the design's jobs
    # of this objective
    unsettled: int


@dataclass(frozen=True, slots=True)
class Progress:
    phase: Phase
    n: int
    budget: int
    planned: int  # full samples planned so far, imported ones excluded
    unsettled_full: int  # full samples planned and not yet settled on every objective
    step: int  # the last search step planned, 0 before the first
    batch: int | None
    ratios: tuple[float, ...]
    cheap: tuple[int, ...]
    streams: tuple[Stream, ...] = ()  # one per cheap objective
    lam: int = LAMBDA
    overlap: int = 0
    slots: int = 0
    found_no_point: bool = False  # the last search step; the space may be used up


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Generation:
    objective: int
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class SearchStep:
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Finish:
    pass


Decision = Nothing | Generation | SearchStep | Finish


def due(progress: Progress) -> Decision:
    """The next decision; the caller applies it and calls `due` again."""
    if progress.phase is Phase.FINISHED:
        return Nothing()
    left = progress.budget - progress.planned
    if left > 0 and _is_step_due(progress):
        return SearchStep(progress.step + 1, min(_batch_size(progress), left))
    if left <= 0 and progress.unsettled_full == 0:
        return Finish()
    if progress.phase is Phase.INITIAL:
        for stream in progress.streams:
            size = _generation_size(progress, stream)
            if size > 0:
                return Generation(stream.objective, stream.generation + 1, size)
    return Nothing()


def _is_step_due(progress: Progress) -> bool:
    """After a step that found no point, the next one reads the values of all samples
    that run: it ends the study if there is still none.
    """
    if progress.found_no_point and progress.unsettled_full > 0:
        return False
    return may_plan(progress.phase, progress.unsettled_full, progress.overlap)


def may_plan(phase: Phase, unsettled_full: int, overlap: int) -> bool:
    """Whether so few full samples still run that the next step may be planned.

    Search begins when the whole initial design is settled.
    """
    return unsettled_full <= (overlap if phase is Phase.SEARCH else 0)


def _batch_size(progress: Progress) -> int:
    """One full sample for each free slot, at least as many as declared."""
    free = progress.slots - progress.unsettled_full
    return max(free, progress.batch or 1)


def planned_ahead(slots: int, planning_s: float, duration_s: float) -> int:
    """Full samples to keep in the queue so that no slot waits while a step is planned.

    `slots` runs end every `duration_s`. A step replaces the runs that had ended when it
    became due; those that end while it is planned are replaced by the next one. So the
    queue has to last for the planning of two steps. Planning that takes less than a
    fiftieth of a run is not worth a proposal made with one result less.
    """
    if slots <= 0 or planning_s <= NEGLIGIBLE_PLANNING * duration_s:
        return 0
    if planning_s >= duration_s:  # also for runs of no measurable duration
        return 2 * slots
    return math.ceil(2 * slots * planning_s / duration_s)


def supersedes(decision: Decision) -> bool:
    """Whether ready cheap-only jobs, of older steps and of streams, are no longer
    needed.

    Full samples that still run stay wanted. Leased jobs go on, and their values are
    used.
    """
    return isinstance(decision, SearchStep | Finish)


def _generation_size(progress: Progress, stream: Stream) -> int:
    """Samples of the stream's next generation; 0 if it is not due, or if n * r_j
    evaluations are planned already.
    """
    if stream.objective not in progress.cheap:
        return 0
    # Differs from [SBP-BO]: it waits for whole generations, while cheap workers would
    # idle. A design smaller than lambda is waited for by half, else the first
    # generation would have learnt nothing.
    last = progress.lam if stream.generation > 0 else min(progress.lam, progress.n)
    if stream.unsettled > last // 2:
        return 0
    return min(
        progress.lam,
        progress.n * math.floor(progress.ratios[stream.objective]) - stream.planned,
    )
