"""Which values the model of one objective is conditioned on."""

import numpy as np

from app.optimizer.arrays import Ints
from app.optimizer.models.evidence.training_rows import shuffled
from app.optimizer.models.training_data import choose_full
from app.optimizer.snapshot import Data, Snapshot


def training_data(snapshot: Snapshot, full_rows: Ints, i: int, most: int) -> Data:
    """Full samples, then incomplete and infeasible ones, then the newest cheap-only
    ones; at most `most` in all.

    Each point counts once, with the first of its values in this order. The order of
    rows plays no part.
    """
    full = Data(snapshot.X[full_rows], snapshot.F[full_rows, i])
    cheap_only, steps = _cheap_only(snapshot, i)
    newest = np.lexsort((shuffled(cheap_only.X), -steps))
    parts = [
        full,
        snapshot.incomplete(i),
        _infeasible(snapshot, i),
        Data(cheap_only.X[newest], cheap_only.y[newest]),
    ]
    X = np.vstack([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    _, first = np.unique(X, axis=0, return_index=True)
    rows = np.sort(first)[:most]
    in_order = rows[np.lexsort((y[rows], *X[rows].T))]
    return Data(X[in_order], y[in_order])


def full_samples(snapshot: Snapshot, most: int, rng: np.random.Generator) -> Ints:
    """Rows of D that models learn from: all, or half of them the best and the others at
    random.
    """
    order = np.lexsort((*snapshot.F.T, *snapshot.X.T))
    return order[choose_full(snapshot.F[order], most, rng)]


def _cheap_only(snapshot: Snapshot, i: int) -> tuple[Data, Ints]:
    """Cheap-only values of objective i and the steps that asked for them; a stream's
    are of step 0.
    """
    extra, steps, frozen = (
        snapshot.extra[i],
        snapshot.extra_steps[i],
        snapshot.frozen[i],
    )
    if frozen is None:
        return extra, steps
    X, y = np.vstack([extra.X, frozen.X]), np.append(extra.y, frozen.y)
    return Data(X, y), np.append(steps, np.zeros(len(frozen), dtype=np.int64))


def _infeasible(snapshot: Snapshot, i: int) -> Data:
    """Infeasible points with the worst value told, so that the search leaves their
    region.
    """
    told = [snapshot.F[:, i], snapshot.partial[i].y, snapshot.extra[i].y]
    values = np.concatenate(told)
    X = snapshot.infeasible[i] if len(values) else snapshot.X[:0]
    worst = values.max() if len(values) else 0.0
    return Data(X, np.full(len(X), worst))
