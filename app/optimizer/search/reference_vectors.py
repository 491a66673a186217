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
SMALL, LARGE = 100, 300
# The layers of RVEA's own program for m = 2 … 10: 105, 126 and 275 vectors for m = 3, 5 and 10.
RVEA_LAYERS = {2: (99, 0), 3: (13, 0), 4: (7, 0), 5: (5, 0), 6: (4, 1), 7: (3, 2), 8: (3, 2), 9: (2, 2), 10: (3, 2)}


def reference_vectors(m: int, lattice: Lattice = "small") -> Floats:
    """`small`: the largest lattice with at most 100 vectors; `large`: RVEA's own."""
    if lattice == "large":
        return unit_lattice(m, RVEA_LAYERS.get(m) or layers(m, LARGE))
    return unit_lattice(m, layers(m, SMALL))


def layers(m: int, most: int) -> tuple[int, int]:
    """Divisions of the outer and of the inner layer, with at most `most` vectors where that is possible.

    A second layer is only added where the first has no point inside, that is, where it has fewer than m divisions.
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


def unit_lattice(m: int, divisions: tuple[int, int]) -> Floats:
    outer, inner = divisions
    W = simplex(m, outer)  # (N, m)
    if inner > 0:
        W = np.vstack([W, simplex(m, inner) / 2 + 1 / (2 * m)])
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


def simplex(m: int, H: int) -> Floats:
    """All points of {0, 1/H, …, 1}^m whose coordinates sum to 1, by stars and bars."""
    bars = np.array(list(combinations(range(H + m - 1), m - 1)), dtype=np.int64).reshape(-1, m - 1)  # (N, m-1)
    ends = np.full((len(bars), 1), H + m - 1)
    return (np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1) / H  # (N, m)


def _size(m: int, H: int) -> int:
    return comb(H + m - 1, m - 1)
