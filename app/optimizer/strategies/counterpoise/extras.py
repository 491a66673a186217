"""Which new points the cheap objectives are evaluated at: some of the search's result,
some children of good samples.

| symbol | here       | meaning                                                      |
|--------|------------|--------------------------------------------------------------|
| B      | `B` (b, m) | nondominated samples: full ones, and the pool as predicted   |
| Z      | `Z` (Q, m) | targets of the gain                                          |
"""

from collections.abc import Iterator

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.proposal.proposal import Source
from app.optimizer.search.design import filling, latin
from app.optimizer.search.novelty import is_new, take_new
from app.optimizer.strategies.counterpoise.archive import SMALLEST_START, StepContext
from app.optimizer.strategies.counterpoise.candidates import Candidates
from app.optimizer.strategies.counterpoise.gain import (
    candidate_distances,
    choose_targets,
    current_distance,
    greedy,
)
from app.optimizer.strategies.counterpoise.promotion import most_uncertain
from app.optimizer.strategies.counterpoise.scale import nondominated
from app.optimizer.strategies.counterpoise.search import children


def extra_points(
    context: StepContext,
    found: Candidates,
    full: Floats,
    count: int,
    rng: np.random.Generator,
) -> tuple[Floats, tuple[Source, ...]]:
    """New points (count, d), the best first, and where each is from; fewer only if the
    space has no more.

    `found` by the search; `full`: points of this step's full samples.
    """
    archive, settings, variables = (
        context.archive,
        context.settings,
        context.problem.variables,
    )
    known = np.vstack([archive.known, full])
    if count <= 0:
        return known[:0], ()
    found = found.rows(is_new(found.X, known))
    X, F = (
        np.vstack([archive.X, archive.pool.X]),
        np.vstack([archive.F, archive.pool.mean]),
    )
    front = nondominated(F)
    brood_size = settings.children_per_extra * max(
        evolved_count(count, settings.evolved_share), 1
    )
    parents = X[front] if front.any() else latin(variables, SMALLEST_START, rng)
    brood = children(variables, parents, brood_size, settings, rng)
    new = brood[is_new(brood, np.vstack([known, found.X]))]
    evolved = archive.predict(archive.likely(new))
    means = np.vstack([F[front], found.mean, evolved.mean])
    Z = choose_targets(means, context.W, settings, rng)
    weights = archive.weight(found), archive.weight(evolved)
    share = settings.evolved_share
    if settings.by_gain:
        by_search, by_children = choose_extras(
            found, evolved, F[front], Z, context.draws, count, share, weights
        )
    else:
        by_search, by_children = random_extras(
            len(found), len(evolved), count, share, rng
        )

    def sources() -> Iterator[tuple[Source, Floats]]:
        yield "selected", found.X[by_search]
        yield "offspring", evolved.X[by_children]
        yield "population", found.X[most_uncertain(found, weights[0])]
        yield "offspring", evolved.X[most_uncertain(evolved, weights[1])]
        for points in filling(variables, count, rng):
            yield "latin", points

    return take_new(sources(), count, known)


def evolved_count(count: int, share: float) -> int:
    """How many of the extras are chosen among children; the others come from the
    search's result.
    """
    return int(count * share)


def choose_extras(
    found: Candidates,
    evolved: Candidates,
    B: Floats,
    Z: Floats,
    draws: Floats,
    count: int,
    share: float,
    weights: tuple[Floats | None, Floats | None] = (None, None),
) -> tuple[Ints, Ints]:
    """Rows of `found` and rows of `evolved`, by greedy gain over what exists; fewer
    where no gain is left. `weights`: see `greedy`.
    """
    current = current_distance(B, Z, len(draws))  # (S, Q)
    by_children = min(evolved_count(count, share), len(evolved))
    distances = candidate_distances(found.mean, found.deviation, draws, Z)
    from_search = greedy(distances, current, count - by_children, weights[0])
    distances = candidate_distances(evolved.mean, evolved.deviation, draws, Z)
    from_children = greedy(
        distances, from_search.current, count - len(from_search.rows), weights[1]
    )
    return from_search.rows, from_children.rows


def random_extras(
    found: int, evolved: int, count: int, share: float, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """As `choose_extras` with this many candidates, but at random."""
    by_children = min(evolved_count(count, share), evolved)
    from_search = rng.permutation(found)[: count - by_children]
    from_children = rng.permutation(evolved)[: count - len(from_search)]
    return from_search, from_children
