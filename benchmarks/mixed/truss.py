"""The ten-bar truss: a profile for each bar, a material for each group of bars.

Six nodes in two bays, the left two fixed; two loads at the bottom. Displacements by the
direct stiffness method.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
# Young's modulus in GPa, density in kg/m3: aluminium, carbon fibre, steel
MATERIALS = np.array([[70.0, 2700.0], [135.0, 1600.0], [210.0, 7850.0]])
AREAS = np.array([2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 32.0, 50.0])  # cm2
BAY = 4.0  # m
LOAD = 100e3  # N
# Nodes of the bars: along the top, along the bottom, upright, diagonal
BARS = [(4, 2), (2, 0), (5, 3), (3, 1), (2, 3), (0, 1), (4, 3), (5, 2), (2, 1), (3, 0)]
GROUPS = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2, 2])
FREE = 8  # displacements of the four nodes that are not fixed


def evaluate_truss(height: Array, areas: Ints, materials: Ints) -> Array:
    """Mass in kg and largest displacement in m, (n, 2).

    height (n,) of a bay in m; areas (n, 10) and materials (n, 3) as numbers of the
    catalogue.
    """
    results = [
        _one(float(h), AREAS[a] * 1e-4, MATERIALS[m[GROUPS]])
        for h, a, m in zip(height, areas, materials, strict=True)
    ]
    return np.array(results).reshape(len(height), 2)


def _one(height: float, areas: Array, materials: Array) -> tuple[float, float]:
    # Nodes 0 and 1 at the tip, 2 and 3 in the middle, 4 and 5 fixed; even ones on top
    x = np.array([2 * BAY, 2 * BAY, BAY, BAY, 0.0, 0.0])
    y = np.array([height, 0.0, height, 0.0, height, 0.0])
    K = np.zeros((12, 12))
    mass = 0.0
    for (a, b), area, (modulus, density) in zip(BARS, areas, materials, strict=True):
        run, rise = x[b] - x[a], y[b] - y[a]
        length = float(np.hypot(run, rise))
        c, s = run / length, rise / length
        direction = np.array([-c, -s, c, s])
        dofs = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        stiffness = modulus * 1e9 * area / length
        K[np.ix_(dofs, dofs)] += stiffness * np.outer(direction, direction)
        mass += density * area * length
    load = np.zeros(FREE)
    load[[3, 7]] = -LOAD  # down, at the bottom nodes 1 and 3
    u = np.linalg.solve(K[:FREE, :FREE], load)
    return mass, float(np.hypot(u[0::2], u[1::2]).max())
