"""The mesh of an arm: around each hole, rings of quadrilaterals between the circle and
the rectangle that belongs to it.
"""

import numpy as np
from numpy.typing import NDArray
from skfem import MeshQuad

from workers.beam.geometry import LENGTH, Arm

Array = NDArray[np.float64]
SIDE, RINGS = (
    12,
    8,
)  # elements along each side of a rectangle, and from it to the circle
DIGITS = 10  # to which points of neighbours are the same


def mesh_of(arm: Arm, side: int = SIDE, rings: int = RINGS) -> MeshQuad:
    """The first axis is along the arm, from the clamp at 0; the second is upwards."""
    width = LENGTH / arm.holes
    outline = rectangle(width, arm.height, side)  # (k, 2)
    directions = outline / np.linalg.norm(outline, axis=1, keepdims=True)
    circle = arm.radius * directions
    k = len(outline)
    part = np.vstack([circle + s * (outline - circle) for s in graded(rings)])
    centres = width * (np.arange(arm.holes) + 0.5)
    points = np.vstack([part + np.array([x, 0.0]) for x in centres])
    around = ring_elements(k, rings)
    elements = np.vstack([around + i * len(part) for i in range(arm.holes)])
    _, first, same = np.unique(
        points.round(DIGITS), axis=0, return_index=True, return_inverse=True
    )
    corners = same.ravel()[elements]
    return MeshQuad(
        np.ascontiguousarray(points[first].T), np.ascontiguousarray(corners.T)
    )


def rectangle(width: float, height: float, side: int) -> Array:
    """Points around a rectangle whose centre is 0, anticlockwise from a corner, (4 side,
    2).
    """
    s = np.arange(side) / side
    ones = np.ones(side)
    bottom = np.column_stack([s - 0.5, -0.5 * ones])
    right = np.column_stack([0.5 * ones, s - 0.5])
    around = np.vstack([bottom, right, -bottom, -right])
    return around * [width, height]


def graded(rings: int) -> Array:
    """From 0 at the circle to 1, with thinner rings at the circle, (rings + 1,)."""
    return np.linspace(0.0, 1.0, rings + 1) ** 1.5


def ring_elements(k: int, rings: int) -> NDArray[np.int64]:
    """Corners of the elements between rings of k points, (k rings, 4)."""
    here = np.arange(k)
    after = (here + 1) % k
    ring = np.column_stack([here, here + k, after + k, after])
    return np.vstack([ring + i * k for i in range(rings)])
