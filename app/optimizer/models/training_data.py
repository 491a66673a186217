"""Which of the data the models learn from.

| symbol  | here                | meaning                                                            |
|---------|---------------------|--------------------------------------------------------------------|
| L       | `size`              | most full samples that a model learns from                         |
| D^t     | rows `chosen` of D  | those full samples                                                 |
| D_j^a   | `snapshot.extra`    | cheap-only samples                                                 |
| D_j^c'  | `snapshot.frozen`   | what the stream of cheap objective j had told when search began    |
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from moocore import pareto_rank
from scipy.spatial.distance import cdist

from app.optimizer.arrays import Floats, Ints
from app.optimizer.snapshot import Data, Snapshot

KeepExtra = Literal["last", "all"]
MOST_EXTRA = 200  # cheap-only samples per objective with keep_extra = all: the newest
LLOYD_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Archive:
    """All that training sets are chosen from, and the numbers that limit them."""

    snapshot: Snapshot
    chosen: Ints  # rows of D that make up D^t
    size: int
    keep_extra: KeepExtra
    cheap: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """What stands in for one objective learns from; `truth` means that the objective itself is called."""

    model: Data
    frozen: Data | None = None
    truth: bool = False


def choose_full(F: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Rows of D^t: all while they are at most L, else half of L the best, the others at random; in ascending order."""
    if len(F) <= size:
        return np.arange(len(F))
    order = by_quality(F)
    best, rest = order[: size // 2], np.sort(order[size // 2 :])
    return np.sort(np.append(best, rng.choice(rest, size - len(best), replace=False)))


def by_quality(F: Floats) -> Ints:
    """Rows of F from the best: front by front, in each front from the loneliest."""
    rank = pareto_rank(F)  # (n,)
    lonely = np.zeros(len(F))
    for front in np.unique(rank):
        lonely[rank == front] = crowding_distance(F[rank == front])
    return np.lexsort((-lonely, rank))


def crowding_distance(F: Floats) -> Floats:
    """NSGA-II's distance between each row's neighbours, summed over objectives; infinite for the extreme ones. (n,)"""
    distance = np.zeros(len(F))
    for f in F.T:
        order = np.argsort(f, kind="stable")
        spread = f[order[-1]] - f[order[0]]
        distance[order[[0, -1]]] = np.inf
        if spread > 0.0:
            distance[order[1:-1]] += (f[order[2:]] - f[order[:-2]]) / spread
    return distance


def two_members(archive: Archive, i: int, rng: np.random.Generator) -> TrainingSet:
    """D^t and the newest cheap-only samples for the one, the stream's data for the other. [SBP-BO] III-B."""
    # Differs from [SBP-BO]: samples can be incomplete; what they have trains its own objective.
    snapshot = archive.snapshot
    full = Data(snapshot.X[archive.chosen], snapshot.F[archive.chosen, i])
    parts = [full, _at_most(_join([snapshot.partial[i]]), archive.size, rng), _kept_extra(archive, i)]
    return TrainingSet(_join([*parts, _infeasible(snapshot, i, archive.size, rng)]), snapshot.frozen[i])


def random_subset(archive: Archive, i: int, rng: np.random.Generator) -> TrainingSet:
    """L points at random out of all data of the objective: the ablation SBP-BO-R."""
    return TrainingSet(_at_most(_everything(archive, i, rng), archive.size, rng))


def clustered_subset(archive: Archive, i: int, rng: np.random.Generator) -> TrainingSet:
    """The point nearest to the centre of each of L clusters of all data of the objective: the ablation SBP-BO-C."""
    data = _everything(archive, i, rng)
    if len(data) <= archive.size:
        return TrainingSet(data)
    rows = cluster_medoids(data.X, archive.size, rng)
    return TrainingSet(Data(data.X[rows], data.y[rows]))


def true_cheap(archive: Archive, i: int, rng: np.random.Generator) -> TrainingSet:
    """Cheap objectives are called instead of learnt: the ablation SBP-NoGP^c."""
    learnt = two_members(archive, i, rng)
    return TrainingSet(learnt.model, truth=True) if i in archive.cheap else learnt


def cluster_medoids(X: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows nearest to the centres that Lloyd's algorithm finds from k random rows; ascending, at most k."""
    centres = X[rng.choice(len(X), k, replace=False)]  # (k, d)
    for _ in range(LLOYD_ITERATIONS):
        nearest = cdist(X, centres, "sqeuclidean").argmin(axis=1)  # (n,)
        counts = np.bincount(nearest, minlength=k)  # (k,)
        sums = np.stack([np.bincount(nearest, weights=x, minlength=k) for x in X.T], axis=1)  # (k, d)
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return np.unique(cdist(X, centres, "sqeuclidean").argmin(axis=0))


def _kept_extra(archive: Archive, i: int) -> Data:
    data, steps = archive.snapshot.extra[i], archive.snapshot.extra_steps[i]
    if archive.keep_extra == "last":
        rows = np.flatnonzero(steps == archive.snapshot.step - 1)
    else:
        rows = np.lexsort((*data.X.T, -steps))[:MOST_EXTRA]  # the newest; by x where the limit cuts a step in two
    return Data(data.X[rows], data.y[rows])


def _infeasible(snapshot: Snapshot, i: int, size: int, rng: np.random.Generator) -> Data:
    """Points that the objective called infeasible, with the worst value seen: the search leaves their region."""
    # Differs from [SBP-BO]: there every evaluation succeeds.
    values = np.concatenate([data.y for data in _all_told(snapshot, i)])
    if len(values) == 0:
        return Data(snapshot.X[:0], values)
    X = snapshot.infeasible[i]
    return _at_most(_join([Data(X, np.full(len(X), values.max()))]), size, rng)


def _everything(archive: Archive, i: int, rng: np.random.Generator) -> Data:
    parts = _all_told(archive.snapshot, i)
    return _join([*parts, _infeasible(archive.snapshot, i, archive.size, rng)])


def _all_told(snapshot: Snapshot, i: int) -> list[Data]:
    told = [Data(snapshot.X, snapshot.F[:, i]), snapshot.partial[i], snapshot.extra[i]]
    frozen = snapshot.frozen[i]
    return told if frozen is None else [*told, frozen]


def _join(parts: list[Data]) -> Data:
    """One data set, each point once (with the mean of its values), in an order of its own."""
    X = np.vstack([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    points, inverse, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    return Data(points, np.bincount(inverse.ravel(), weights=y, minlength=len(points)) / counts)


def _at_most(data: Data, size: int, rng: np.random.Generator) -> Data:
    if len(data) <= size:
        return data
    rows = np.sort(rng.choice(len(data), size, replace=False))
    return Data(data.X[rows], data.y[rows])
