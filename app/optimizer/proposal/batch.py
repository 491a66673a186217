"""Points put together to a batch, for strategies with a step of their own.

| symbol | here             | meaning                                                   |
|--------|------------------|-----------------------------------------------------------|
| u      | `snapshot.batch` | full samples to propose                                   |
| r_j    | `problem.ratios` | u (r_j - 1) more samples are for cheap objective j alone  |
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem, Variables
from app.optimizer.proposal.proposal import Diagnostics, Proposal, Source
from app.optimizer.proposal.selection import Drawn, extra_count, known_points
from app.optimizer.proposal.sources import BROOD, ROUNDS
from app.optimizer.search.design import filling
from app.optimizer.search.novelty import take_new
from app.optimizer.search.operators import breed
from app.optimizer.snapshot import Snapshot

Candidates = Iterator[tuple[Source, Floats]]


def candidates(
    variables: Variables, chosen: Floats, population: Floats, rng: Generator
) -> Candidates:
    """The chosen points, the rest of the population, its offspring, the whole space;
    each is computed only if those before it were not enough.
    """
    yield "selected", chosen
    yield "population", population[rng.permutation(len(population))]
    yield from offspring_of(variables, np.vstack([chosen, population]), BROOD, rng)


def offspring_of(
    variables: Variables, parents: Floats, count: int, rng: Generator
) -> Candidates:
    """Children of random pairs, then the whole space."""
    size = max(count, BROOD)
    for _ in range(ROUNDS if len(parents) > 0 else 0):
        mothers, fathers = rng.integers(len(parents), size=(2, size))
        yield "offspring", breed(variables, parents[mothers], parents[fathers], rng)
    for points in filling(variables, size, rng):
        yield "latin", points


def take_full(problem: Problem, snapshot: Snapshot, points: Candidates) -> Drawn:
    """The first u points that are new for every objective."""
    known = [known_points(snapshot, i) for i in range(len(problem.outputs))]
    return Drawn(*take_new(points, snapshot.batch, np.vstack(known)))


def extra_counts(problem: Problem, batch: int) -> Ints:
    """u (r_j - 1) of each output, (M,)."""
    counts = [extra_count(problem, batch, j) for j in range(len(problem.outputs))]
    return np.array(counts, dtype=np.int64)


def take_common(
    problem: Problem, snapshot: Snapshot, full: Floats, points: Candidates
) -> tuple[Drawn, ...]:
    """New points for all cheap objectives; where ratios differ, the last ones are for
    the cheapest only.
    """
    counts = extra_counts(problem, snapshot.batch)  # (M,)
    known = [known_points(snapshot, i) for i in range(len(problem.outputs))]
    X, sources = take_new(points, int(counts.max()), np.vstack([*known, full]))
    return tuple(Drawn(X[:count], sources[:count]) for count in counts)


def no_extras(problem: Problem) -> tuple[Drawn, ...]:
    """No cheap-only samples: strategies that wait for the expensive objectives."""
    return (Drawn(np.empty((0, problem.width)), ()),) * len(problem.outputs)


def no_models(problem: Problem, snapshot: Snapshot) -> Models:
    """Of a strategy without surrogates."""
    nothing = np.zeros(problem.m)
    reports = (None,) * len(problem.outputs)
    F = snapshot.F[:, : problem.m]
    return Models(snapshot.X, F, nothing, nothing, (), reports)


def make_proposal(
    problem: Problem,
    snapshot: Snapshot,
    models: Models,
    population: Floats,
    full: Drawn,
    cheap: Sequence[Drawn],
    promoted: Ints | None = None,
) -> Proposal:
    rows = np.empty(0, dtype=np.int64) if promoted is None else promoted
    cheap_points = tuple(drawn.points for drawn in cheap)
    diagnostics = Diagnostics(
        models=models.reports,
        alpha=0.0,
        sbp=((1.0, 1.0),) * problem.m,
        population=len(population),
        full_sources=full.sources,
        cheap_sources=tuple(drawn.sources for drawn in cheap),
        co_models=(None,) * problem.m,
    )
    missing = snapshot.batch - len(rows) - len(full.points)
    shortfall = None
    if missing > 0:
        shortfall = (
            f"no new point was found for {missing} of {snapshot.batch} full samples:"
            " all that the variables allow has been proposed before"
        )
    return Proposal(
        full.points,
        cheap_points,
        diagnostics,
        models,
        population,
        shortfall,
        promoted=rows,
    )
