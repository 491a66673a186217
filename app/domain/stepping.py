"""When a step is due and which jobs it supersedes, from a study's counters alone.

| symbol    | here               | meaning                                                           |
|-----------|--------------------|-------------------------------------------------------------------|
| n         | `n`                | samples of the initial design                                     |
| FE_max    | `budget`           | full samples in all, the design's included                        |
| u         | `batch`            | full samples of one step                                          |
| N_iter    | `step`             | search steps so far                                               |
| r_j       | `ratios[j]`        | evaluations of objective j that fit into one of the slowest       |
| lambda    | `lam`              | samples of one generation of a stream                             |
"""

import math
from dataclasses import dataclass

from counterpoise.wire.codes import Phase

LAMBDA = 50


@dataclass(frozen=True, slots=True)
class Stream:
    """The single-objective search of one cheap objective during the initial phase."""

    objective: int
    generation: int  # the last one planned; 0 is the design itself
    planned: (
        int  # evaluations of this objective planned so far, the design's n included
    )
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
    batch: int
    ratios: tuple[float, ...]
    cheap: tuple[int, ...]
    streams: tuple[Stream, ...] = ()  # one per cheap objective
    lam: int = LAMBDA


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Generation:
    objective: int
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Finish:
    pass


Decision = Nothing | Generation | Step | Finish


def due(progress: Progress) -> Decision:
    """The one thing that is due now; the caller applies it and asks again."""
    if progress.phase is Phase.FINISHED:
        return Nothing()
    if progress.unsettled_full == 0:
        size = min(progress.batch, progress.budget - progress.planned)
        return Step(progress.step + 1, size) if size > 0 else Finish()
    if progress.phase is Phase.INITIAL:
        for stream in progress.streams:
            size = _generation_size(progress, stream)
            if size > 0:
                return Generation(stream.objective, stream.generation + 1, size)
    return Nothing()


def supersedes(decision: Decision) -> bool:
    """Whether ready cheap-only jobs, of older steps and of streams, are no longer
    needed.

    Full samples are settled by then, except imported ones that wait for their
    evaluation: those stay wanted. Leased jobs go on, and their values are used.
    """
    return isinstance(decision, Step | Finish)


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
