"""The data that the models learn from.

| symbol  | here                | meaning                                                              |
|---------|---------------------|----------------------------------------------------------------------|
| L       | `size`              | most full samples that a model learns from                           |
| D^t     | rows `chosen` of D  | those full samples                                                   |
| D_j^a   | `snapshot.extra`    | cheap-only samples                                                   |
| D_j^c'  | `snapshot.frozen`   | values of the stream of cheap objective j, told before search began  |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from moocore import pareto_rank
from numpy.random import Generator
from scipy.spatial.distance import cdist

from app.optimizer.arrays import Floats, Ints
from app.optimizer.snapshot import Data, Snapshot

KeepExtra = Literal["last", "all"]
# Infeasible samples are learnt by a model of their own, or enter the model of their
# output as its worst value
InfeasibleRule = Literal["learnt", "worst"]
MOST_EXTRA = 200  # cheap-only samples per objective with keep_extra = all: the newest
LLOYD_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class Archive:
    """Everything that training sets are chosen from, and the numbers that limit them."""

    snapshot: Snapshot
    chosen: Ints  # rows of D that make up D^t
    size: int
    keep_extra: KeepExtra
    cheap: tuple[int, ...]
    infeasible: InfeasibleRule = "learnt"


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The data of one objective's models; `truth` means that the objective itself is
    called.
    """

    model: Data
    frozen: Data | None = None
    truth: bool = False


def choose_full(F: Floats, size: int, rng: Generator) -> Ints:
    """Rows of D^t: all if they are at most L, else the best for half of L, and others
    at random; ascending.
    """
    if len(F) <= size:
        return np.arange(len(F))
    order = by_quality(F)
    half = size // 2
    best, others = order[:half], np.sort(order[half:])
    drawn = rng.choice(others, size - half, replace=False)
    return np.sort(np.append(best, drawn))


def by_quality(F: Floats) -> Ints:
    """Rows of F, best first: front by front, in each front by decreasing crowding
    distance.
    """
    rank = pareto_rank(F)  # (n,)
    distance = np.zeros(len(F))
    for front in np.unique(rank):
        members = rank == front
        distance[members] = crowding_distance(F[members])
    return np.lexsort((-distance, rank))


def crowding_distance(F: Floats) -> Floats:
    """NSGA-II's distance between each row's neighbours, summed over objectives;
    infinite for the extreme ones. (n,)
    """
    distance = np.zeros(len(F))
    for f in F.T:
        order = np.argsort(f, kind="stable")
        spread = f[order[-1]] - f[order[0]]
        distance[order[[0, -1]]] = np.inf
        if spread > 0.0:
            gaps = f[order[2:]] - f[order[:-2]]
            distance[order[1:-1]] += gaps / spread
    return distance


def two_members(archive: Archive, i: int, rng: Generator) -> TrainingSet:
    """One model learns from D^t and the newest cheap-only samples, the other from the
    stream. [SBP-BO] III-B.
    """
    # Differs from [SBP-BO]: samples can be incomplete; the values that they have train
    # their own objectives.
    snapshot = archive.snapshot
    full = Data(snapshot.X[archive.chosen], snapshot.F[archive.chosen, i])
    partial = _at_most(_join([snapshot.incomplete(i)]), archive.size, rng)
    extra = _kept_extra(archive, i)
    infeasible = _infeasible(archive, i, rng)
    return TrainingSet(_join([full, partial, extra, infeasible]), snapshot.frozen[i])


def random_subset(archive: Archive, i: int, rng: Generator) -> TrainingSet:
    """L points at random out of all data of the objective: the ablation SBP-BO-R."""
    data = _everything(archive, i, rng)
    return TrainingSet(_at_most(data, archive.size, rng))


def clustered_subset(archive: Archive, i: int, rng: Generator) -> TrainingSet:
    """The point nearest to the centre of each of L clusters of all data of the
    objective: the ablation SBP-BO-C.
    """
    data = _everything(archive, i, rng)
    if len(data) <= archive.size:
        return TrainingSet(data)
    rows = cluster_medoids(data.X, archive.size, rng)
    return TrainingSet(_rows(data, rows))


def true_cheap(archive: Archive, i: int, rng: Generator) -> TrainingSet:
    """Cheap objectives are called instead of learnt: the ablation SBP-NoGP^c."""
    learnt = two_members(archive, i, rng)
    return TrainingSet(learnt.model, truth=True) if i in archive.cheap else learnt


def cluster_medoids(X: Floats, k: int, rng: Generator) -> Ints:
    """Rows nearest to the centres of k clusters; ascending, at most k."""
    centres = cluster_centres(X, k, rng)
    medoids = cdist(X, centres, "sqeuclidean").argmin(axis=0)  # (k,)
    return np.unique(medoids)


def cluster_labels(X: Floats, k: int, rng: Generator) -> Ints:
    """The cluster of each row, (n,); some of the k can be empty."""
    centres = cluster_centres(X, k, rng)
    return np.asarray(cdist(X, centres, "sqeuclidean").argmin(axis=1))


def cluster_centres(X: Floats, k: int, rng: Generator) -> Floats:
    """The centres that Lloyd's algorithm finds from k random rows, (k, d)."""
    # Not scipy's kmeans2: in 8 of 300 trials it gave other rows (ties), so stored
    # studies would not replay, and it warns when a cluster becomes empty.
    # scikit-learn's KMeans moves the centre of an empty cluster.
    centres = X[rng.choice(len(X), k, replace=False)]  # (k, d)
    for _ in range(LLOYD_ITERATIONS):
        nearest = cdist(X, centres, "sqeuclidean").argmin(axis=1)  # (n,)
        counts = np.bincount(nearest, minlength=k)[:, None]  # (k, 1)
        sums = [np.bincount(nearest, weights=x, minlength=k) for x in X.T]
        means = np.stack(sums, axis=1) / np.maximum(counts, 1)  # (k, d)
        centres = np.where(counts > 0, means, centres)
    return np.asarray(centres)


def _kept_extra(archive: Archive, i: int) -> Data:
    data, steps = archive.snapshot.extra[i], archive.snapshot.extra_steps[i]
    if archive.keep_extra == "last":
        rows = np.flatnonzero(steps == archive.snapshot.step - 1)
    else:
        # By x where the limit divides a step
        newest_first = np.lexsort((*data.X.T, -steps))
        rows = newest_first[:MOST_EXTRA]
    return _rows(data, rows)


def _infeasible(archive: Archive, i: int, rng: Generator) -> Data:
    """With the rule `worst`: infeasible points of the output, with the worst value
    seen, so that the search leaves their region; else nothing.
    """
    # Differs from [SBP-BO]: there every evaluation succeeds.
    if archive.infeasible == "learnt":
        return Data(archive.snapshot.X[:0], np.empty(0))
    values = np.concatenate([data.y for data in _all_told(archive.snapshot, i)])
    if len(values) == 0:
        return Data(archive.snapshot.X[:0], values)
    X = archive.snapshot.infeasible[i]
    worst = np.full(len(X), values.max())
    return _at_most(_join([Data(X, worst)]), archive.size, rng)


def _everything(archive: Archive, i: int, rng: Generator) -> Data:
    told = _all_told(archive.snapshot, i)
    return _join([*told, _infeasible(archive, i, rng)])


def values_of(snapshot: Snapshot, i: int) -> Data:
    """Every value of one objective, each point once."""
    return _join(_all_told(snapshot, i))


def _all_told(snapshot: Snapshot, i: int) -> list[Data]:
    full = Data(snapshot.X, snapshot.F[:, i])
    told = [full, snapshot.incomplete(i), snapshot.extra[i]]
    frozen = snapshot.frozen[i]
    return told if frozen is None else [*told, frozen]


def _join(parts: Sequence[Data]) -> Data:
    """One data set, sorted, each point once with the mean of its values."""
    X = np.vstack([part.X for part in parts])
    y = np.concatenate([part.y for part in parts])
    points, inverse, counts = np.unique(
        X, axis=0, return_inverse=True, return_counts=True
    )
    sums = np.bincount(inverse.ravel(), weights=y, minlength=len(points))
    return Data(points, sums / counts)


def _at_most(data: Data, size: int, rng: Generator) -> Data:
    if len(data) <= size:
        return data
    rows = rng.choice(len(data), size, replace=False)
    return _rows(data, np.sort(rows))


def _rows(data: Data, rows: Ints) -> Data:
    return Data(data.X[rows], data.y[rows])
