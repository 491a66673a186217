"""Where trust regions begin: nondominated samples, far from each other."""

from collections.abc import Iterator, Sequence

import moocore
import numpy as np
from scipy.spatial.distance import cdist

from app.optimizer.arrays import Floats
from app.optimizer.strategies.trust_region.region import Point, Region


def start_points(X: Floats, F: Floats, used: Sequence[Point]) -> Iterator[Region]:
    """Regions around nondominated samples, each time around the one whose values are
    farthest from those used and from the starts before it.
    """
    if len(F) == 0:
        return
    rows = np.flatnonzero(moocore.is_nondominated(F))
    spread = np.ptp(F[rows], axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    scaled = F[rows] / unit  # (k, m)
    distance = np.full(len(rows), np.inf)
    if used:
        distance = cdist(scaled, np.array(used) / unit).min(axis=1)
    while distance.max() > 0.0:
        best = int(distance.argmax())
        yield Region(tuple(X[rows[best]].tolist()), tuple(F[rows[best]].tolist()))
        distance = np.minimum(distance, cdist(scaled, scaled[[best]])[:, 0])
