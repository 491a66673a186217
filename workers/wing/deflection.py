"""The deflection of the tip at limit load: the box as an elastic body in three
dimensions, clamped at the root.

Serendipity bricks with 2 x 2 x 2 integration points: linear bricks lock in walls this
thin, and so do, a little, quadratic ones with full integration. One brick through the
wall.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu
from skfem import Basis, ElementHexS2, ElementVector, LinearForm, MeshHex, condense

from workers.wing.drag import lift_shape
from workers.wing.elasticity import stiffness_matrix
from workers.wing.geometry import LIMIT_LOAD_FACTOR, ROOT_CHORD, Wing
from workers.wing.lifting_line import Array, lift_per_length
from workers.wing.mass import weight

YOUNG, POISSON = 50e9, 0.3  # Pa: quasi-isotropic carbon laminate
LAME = YOUNG * POISSON / (1.0 + POISSON) / (1.0 - 2.0 * POISSON)
SHEAR = YOUNG / 2.0 / (1.0 + POISSON)
BRICKS = (16, 4, 2)  # along the span, across a skin, across a web


@dataclass(frozen=True, slots=True)
class Box:
    """Half a wing's box: outer width and depth at root and tip, in metres."""

    length: float
    root: tuple[float, float]
    tip: tuple[float, float]
    wall: float

    def section(self, y: Array) -> tuple[Array, Array]:
        """Outer width and depth at distances y from the root."""
        (root_width, root_depth), (tip_width, tip_depth) = self.root, self.tip
        s = y / self.length
        return root_width + (tip_width - root_width) * s, root_depth + (
            tip_depth - root_depth
        ) * s


def deflection(x: Mapping[str, float]) -> float:
    """Of the tip, upwards, m."""
    wing = Wing.of(x)
    a = lift_shape(wing)
    lift = LIMIT_LOAD_FACTOR * weight(x)
    box = Box(
        wing.half, wing.box(ROOT_CHORD), wing.box(wing.tip_chord), wing.skin_thickness
    )
    return tip_deflection(box, lambda y: lift_per_length(a, lift, wing.span, y))


def tip_deflection(
    box: Box, load: Callable[[Array], Array], bricks: tuple[int, int, int] = BRICKS
) -> float:
    """Mean over the tip section, under a load per length on the webs, as ribs would
    transfer it.
    """
    mesh = walls(box, bricks)
    element = ElementVector(ElementHexS2())
    everywhere = Basis(mesh, element, intorder=3)
    webs = Basis(mesh, element, elements=_webs(box, mesh), intorder=3)
    y = webs.global_coordinates()[0]
    _, depth = box.section(y)
    force = load(y) / (2.0 * box.wall * depth)  # per volume of the webs

    @LinearForm
    def lift(v, w):  # type: ignore[no-untyped-def]
        return w.force * v[2]

    clamped = everywhere.get_dofs(lambda x: np.isclose(x[0], 0.0)).all()
    stiffness = stiffness_matrix(everywhere, LAME, SHEAR)
    K, f, u, free = condense(stiffness, lift.assemble(webs, force=force), D=clamped)
    symmetric = {"SymmetricMode": True}
    factors = splu(
        K.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric
    )
    u[free] = factors.solve(f)
    tip = everywhere.get_dofs(lambda x: np.isclose(x[0], box.length)).nodal["u^3"]
    return float(np.mean(u[tip]))


def walls(box: Box, bricks: tuple[int, int, int] = BRICKS) -> MeshHex:
    """Skins and webs as one layer of bricks around the hollow.

    Axes: along the span, forward, up.
    """
    along, across, up = bricks

    def ring(count: int) -> Array:  # 0 to 1 is the hollow, with a wall on either side
        return np.concatenate([[-1.0], np.linspace(0.0, 1.0, count + 1), [2.0]])

    solid = MeshHex.init_tensor(
        np.linspace(0.0, box.length, along + 1), ring(across), ring(up)
    )
    centre = solid.p[1:, solid.t].mean(axis=1)  # (2, bricks)
    is_hollow = np.all((centre > 0.0) & (centre < 1.0), axis=0)
    mesh = solid.restrict(np.flatnonzero(~is_hollow))
    y = mesh.p[0]
    width, depth = box.section(y)
    forward = _position(mesh.p[1], width, box.wall)
    upward = _position(mesh.p[2], depth, box.wall)
    return MeshHex(np.vstack([y, forward, upward]), mesh.t)


def _position(k: Array, size: Array, wall: float) -> Array:
    """From ring coordinates to metres."""
    inner = (np.clip(k, 0.0, 1.0) - 0.5) * (size - 2.0 * wall)
    outer = np.sign(k - 0.5) * size / 2.0
    is_outer = (k < 0.0) | (k > 1.0)
    return np.asarray(np.where(is_outer, outer, inner))


def _webs(box: Box, mesh: MeshHex) -> NDArray[np.int64]:
    centre = mesh.p[:, mesh.t].mean(axis=1)
    width, _ = box.section(centre[0])
    return np.flatnonzero(np.abs(centre[1]) > width / 2.0 - box.wall)
