"""Which samples get the expensive runs: pool samples by greedy gain, and new points for
a share of the places, or where the pool has no gain.

| symbol | here        | meaning                                             |
|--------|-------------|-----------------------------------------------------|
| A      | `A` (a, m)  | nondominated full samples, running ones as believed |
| Z      | `Z` (Q, m)  | targets of the gain                                 |
| u      | `batch`     | full samples of a step                              |
"""

from dataclasses import dataclass, replace

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.samples import Samples
from app.optimizer.search.design import filling
from app.optimizer.search.novelty import take_new
from app.optimizer.strategies.counterpoise.archive import StepContext
from app.optimizer.strategies.counterpoise.candidates import (
    FRESH,
    Candidates,
    join,
    promising,
)
from app.optimizer.strategies.counterpoise.gain import (
    candidate_distances,
    choose_targets,
    current_distance,
    greedy,
)


@dataclass(frozen=True, slots=True, eq=False)
class FullChoice:
    """Samples for all objectives, in the order of choice."""

    candidates: Candidates
    gains: Floats  # (k,): NaN where chosen by deviation, or to fill up

    @property
    def promoted(self) -> Ints:
        """Rows of the pool."""
        rows = self.candidates.pool_row
        return np.asarray(rows[rows != FRESH])

    @property
    def fresh(self) -> Floats:
        """New points, (k, d)."""
        return np.asarray(self.candidates.X[self.candidates.pool_row == FRESH])

    def missing_evaluations(self, pool: Samples) -> Ints:
        """Evaluations of each objective that the samples still need, (m,)."""
        unknown = ~pool.known[self.promoted]  # (k, m)
        return np.asarray(len(self.fresh) + unknown.sum(axis=0), dtype=np.int64)


def choose_full_samples(
    context: StepContext, found: Candidates, batch: int, rng: np.random.Generator
) -> FullChoice:
    """u samples; fewer only if the space has no more.

    Points `found` by the search help to form the targets.
    """
    if not context.settings.promotion:
        context = without_pool(context)
    archive, settings = context.archive, context.settings
    rows = promising(archive.pool, archive.A, context.W, settings, rng)
    candidates = join(archive.pool.rows(rows), found)
    means = np.vstack([candidates.mean, archive.A])
    Z = choose_targets(means, context.W, settings, rng)
    if settings.by_gain:
        rows, gains = choose_by_gain(
            candidates,
            archive.A,
            Z,
            context.draws,
            batch,
            archive.weight(candidates),
            fresh_share=settings.fresh_share,
        )
    else:
        rows, gains = choose_at_random(candidates, batch, rng)
    chosen = _fill_up(context, candidates.rows(rows), batch, rng)
    gains = np.append(gains, np.full(len(chosen) - len(gains), np.nan))
    promoted_first = np.argsort(chosen.pool_row == FRESH, kind="stable")
    return FullChoice(chosen.rows(promoted_first), gains[promoted_first])


def without_pool(context: StepContext) -> StepContext:
    nothing = context.archive.pool.rows(np.arange(0))
    return replace(context, archive=replace(context.archive, pool=nothing))


def choose_by_gain(
    candidates: Candidates,
    A: Floats,
    Z: Floats,
    draws: Floats,
    batch: int,
    weight: Floats | None = None,
    fresh_share: float = 0.0,
) -> tuple[Ints, Floats]:
    """Rows by gain from the pool; for a share of the places, and if no gain is left
    there, from any candidate; then by the largest summed deviation. `weight` (C,): the
    probability that each candidate is feasible.

    The gain of the latter is NaN. O(S C Q (k + u)) for S draws, C candidates, Q targets
    and k unknown objectives.
    """
    current = current_distance(A, Z, len(draws))  # (S, Q)
    pool = np.flatnonzero(candidates.pool_row != FRESH)
    of_pool = None if weight is None else weight[pool]
    from_pool = greedy(
        _distances(candidates.rows(pool), draws, Z),
        current,
        batch - int(fresh_share * batch),
        of_pool,
    )
    rows, gains = pool[from_pool.rows], from_pool.gains
    if len(rows) < batch:
        from_any = greedy(
            _distances(candidates, draws, Z),
            from_pool.current,
            batch - len(rows),
            weight,
        )
        rows, gains = np.append(rows, from_any.rows), np.append(gains, from_any.gains)
    order = most_uncertain(candidates, weight)
    others = np.setdiff1d(order, rows, assume_unique=True)
    uncertain = others[: batch - len(rows)]
    return np.append(rows, uncertain), np.append(gains, np.full(len(uncertain), np.nan))


def choose_at_random(
    candidates: Candidates, batch: int, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Rows from the pool, then from new points; their gains are NaN."""
    order = rng.permutation(len(candidates))
    pool_first = np.argsort(candidates.pool_row[order] == FRESH, kind="stable")
    rows = order[pool_first][:batch]
    return rows, np.full(len(rows), np.nan)


def most_uncertain(candidates: Candidates, weight: Floats | None = None) -> Ints:
    """Rows by their summed deviation, the largest first; `weight` as in `greedy`."""
    total = candidates.deviation.sum(axis=1)  # (C,)
    if weight is not None:
        total = total * weight
    return np.argsort(-total, kind="stable")


def _distances(candidates: Candidates, draws: Floats, Z: Floats) -> Floats:
    return candidate_distances(candidates.mean, candidates.deviation, draws, Z)


def _fill_up(
    context: StepContext, chosen: Candidates, batch: int, rng: np.random.Generator
) -> Candidates:
    """With other pool samples, then with any new points."""
    archive = context.archive
    if len(chosen) < batch:
        rows = most_uncertain(archive.pool, archive.weight(archive.pool))
        is_free = ~np.isin(archive.pool.pool_row[rows], chosen.pool_row)
        others = rows[is_free]
        chosen = join(chosen, archive.pool.rows(others[: batch - len(chosen)]))
    if len(chosen) < batch:
        hypercubes = (
            ("latin", X) for X in filling(context.problem.variables, batch, rng)
        )
        points, _ = take_new(
            hypercubes, batch - len(chosen), np.vstack([archive.known, chosen.X])
        )
        chosen = join(chosen, archive.predict(points))
    return chosen
