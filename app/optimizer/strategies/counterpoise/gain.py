"""How much a candidate is expected to bring the samples nearer to the front that is
believed to be there.

| symbol    | here            | meaning                                                              |
|-----------|-----------------|----------------------------------------------------------------------|
| Z         | `Z` (Q, m)      | targets: nondominated predicted and observed values                  |
| Y         | –               | mean + deviation * draw: the same S draws for all candidates         |
| d+(y, z)  | –               | |max(y - z, 0)|: how much y is worse than z, the distance of IGD+    |
| cur(z)    | `current` (S, Q)| distance of z from the samples so far, per draw                      |

All values are on the scale of `scale.front_scale`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from app.optimizer.arrays import Floats, Ints
from app.optimizer.strategies.counterpoise.directions import winners, worths
from app.optimizer.strategies.counterpoise.scale import nondominated
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings

TINY = 1e-12  # a gain below this is rounding
FAR = 1e3  # more than any distance that matters: the front spans [0, 1]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Rows in the order in which they were taken, and the gain of each at that moment."""

    rows: Ints  # (k,)
    gains: Floats  # (k,)
    current: Floats  # (S, Q): what is left for the next choice


def normal_draws(count: int, m: int, rng: np.random.Generator) -> Floats:
    """Scrambled Sobol points as standard normal draws, (count, m)."""
    U = qmc.Sobol(m, rng=rng).random(count)
    return np.asarray(ndtri(np.clip(U, 1e-9, 1.0 - 1e-9)))


def choose_targets(
    F: Floats, W: Floats, settings: CounterpoiseSettings, rng: np.random.Generator
) -> Floats:
    """Z: nondominated rows of F (n, m), each once; those that win a direction, so that
    no region has most of them.
    """
    Z = np.unique(F[nondominated(F)], axis=0)
    if settings.targets_win:
        Z = Z[winners(worths(Z, W, settings), 1)]
    if len(Z) <= settings.targets:
        return Z
    return Z[np.sort(rng.choice(len(Z), settings.targets, replace=False))]


def distance_plus(F: Floats, Z: Floats) -> Floats:
    """d+ of every row of F (n, m) from every target of Z (Q, m): (n, Q). O(n Q m) time."""
    return np.sqrt(_squares(F, Z))


def _squares(Y: Floats, Z: Floats) -> Floats:
    """Squared d+ of Y (…, k) from Z (Q, k): (…, Q); one objective after the other, so
    that nothing larger is made.
    """
    total = np.zeros((*Y.shape[:-1], len(Z)))
    for i in range(Z.shape[1]):
        worse = Y[..., i, None] - Z[:, i]
        np.maximum(worse, 0.0, out=worse)
        worse *= worse
        total += worse
    return total


def current_distance(F: Floats, Z: Floats, draws: int) -> Floats:
    """cur(z) over samples F (n, m), the same for every draw: (S, Q)."""
    if len(F) == 0:
        return np.full((draws, len(Z)), np.inf)
    return np.tile(distance_plus(F, Z).min(axis=0), (draws, 1))


def candidate_distances(
    mean: Floats, deviation: Floats, draws: Floats, Z: Floats
) -> Floats:
    """d+ of every draw of every candidate from every target: (S, C, Q). O(S C Q) for
    each uncertain objective.

    Objectives that are known of all candidates, as the cheap ones of the pool are,
    count once, not once per draw.
    """
    uncertain = (deviation > 0.0).any(axis=0)  # (m,)
    known = _squares(mean[:, ~uncertain], Z[:, ~uncertain])  # (C, Q)
    # (S, C, k)
    Y = mean[:, uncertain] + draws[:, None, uncertain] * deviation[:, uncertain]
    squares = _squares(Y, Z[:, uncertain])
    squares += known
    return np.sqrt(squares, out=squares)


def greedy(
    distances: Floats, current: Floats, count: int, weight: Floats | None = None
) -> Choice:
    """Takes the candidate of the largest gain, lowers cur by it, and so on; stops when
    no gain is left. `weight` (C,): the gain of each candidate is multiplied by it.

    gain(x) = mean over draws and targets of max(0, cur(z) - d+(Y(x), z)). O(count S C
    Q).
    """
    rows: list[int] = []
    gains: list[float] = []
    if distances.size == 0:
        return Choice(np.empty(0, dtype=np.int64), np.empty(0), current)
    if weight is not None:
        # Where there is no sample yet, the weight decides
        current = np.minimum(current, FAR)
    for _ in range(min(count, distances.shape[1])):
        approach = current[:, None, :] - distances  # (S, C, Q)
        gain = np.maximum(approach, 0.0, out=approach).mean(axis=(0, 2))  # (C,)
        if weight is not None:
            gain *= weight
        best = int(gain.argmax())
        if not gain[best] > TINY:
            break
        rows.append(best)
        gains.append(float(gain[best]))
        current = np.minimum(current, distances[:, best])
    return Choice(np.array(rows, dtype=np.int64), np.array(gains), current)
