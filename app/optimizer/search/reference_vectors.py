"""Reference vectors: a simplex lattice of one or two layers, on the unit sphere.

| symbol | here     | meaning                                              |
|--------|----------|------------------------------------------------------|
| H      | `layers` | divisions of the outer and of the inner layer        |
| V_0    | result   | the vectors, one per row, each of length 1           |
"""

from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from app.optimizer.arrays import Floats

Lattice = Literal["small", "large"]
# Divisions of the outer layer; of the inner one, 0 if there is none
Layers = tuple[int, int]
SMALL, LARGE = 100, 300
# The layers of RVEA's own program for m = 2 … 10: 105, 126 and 275 vectors for m = 3, 5
# and 10.
RVEA_LAYERS = {
    2: (99, 0),
    3: (13, 0),
    4: (7, 0),
    5: (5, 0),
    6: (4, 1),
    7: (3, 2),
    8: (3, 2),
    9: (2, 2),
    10: (3, 2),
}


def reference_vectors(m: int, lattice: Lattice = "small") -> Floats:
    """`small`: the largest lattice with at most 100 vectors; `large`: RVEA's own."""
    divisions = layers(m, SMALL)
    if lattice == "large":
        divisions = RVEA_LAYERS.get(m) or layers(m, LARGE)
    W = simplex_lattice(m, divisions)  # (K, m)
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


def layers(m: int, most: int) -> Layers:
    """The finest layers with at most `most` points together, where that is possible.

    A second layer is only added where the first has no point inside, that is, where it
    has fewer than m divisions.
    """
    if m < 2:
        raise ValueError("a lattice of directions needs at least two objectives")
    outer = 1
    while _size(m, outer + 1) <= most:
        outer += 1
    inner = 0
    while outer < m and inner < outer and _size(m, outer) + _size(m, inner + 1) <= most:
        inner += 1
    return outer, inner


def simplex_lattice(m: int, divisions: Layers) -> Floats:
    """The points of both layers on the simplex, (K, m); the inner layer is half as
    large, around the centre.
    """
    outer, inner = divisions
    W = simplex(m, outer)
    if inner > 0:
        shrunk = simplex(m, inner) / 2 + 1 / (2 * m)
        W = np.vstack([W, shrunk])
    return W


def simplex(m: int, H: int) -> Floats:
    """All points of {0, 1/H, …, 1}^m whose coordinates sum to 1, by stars and bars."""
    places = H + m - 1
    # (N, m-1)
    bars = np.array(list(combinations(range(places), m - 1)), dtype=np.int64).reshape(
        -1, m - 1
    )
    last = np.full((len(bars), 1), places)
    first = np.full_like(last, -1)
    stars = np.diff(np.hstack([first, bars, last]), axis=1) - 1  # (N, m)
    return stars / H


def _size(m: int, H: int) -> int:
    return comb(H + m - 1, m - 1)
