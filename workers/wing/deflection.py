"""The tip's deflection at limit load: the box as a three-dimensional elastic body, clamped at the root.

Serendipity bricks with 2 x 2 x 2 integration points: linear bricks lock in walls as thin as these, quadratic ones with
full integration still do a little on such a mesh. One brick through the wall.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu
from skfem import Basis, BilinearForm, ElementHexS2, ElementVector, LinearForm, MeshHex, condense
from skfem.helpers import ddot, sym_grad, trace

from workers.wing.drag import lift_shape
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
        (w0, h0), (w1, h1), s = self.root, self.tip, y / self.length
        return w0 + (w1 - w0) * s, h0 + (h1 - h0) * s


def deflection(x: Mapping[str, float]) -> float:
    """Of the tip, upwards, m."""
    wing = Wing.of(x)
    a, lift = lift_shape(wing), LIMIT_LOAD_FACTOR * weight(x)
    box = Box(wing.half, wing.box(ROOT_CHORD), wing.box(wing.tip_chord), wing.skin_thickness)
    return tip_deflection(box, lambda y: lift_per_length(a, lift, wing.span, y))


def tip_deflection(box: Box, load: Callable[[Array], Array], bricks: tuple[int, int, int] = BRICKS) -> float:
    """Mean of the tip section under a load per length, which enters through the webs, as ribs would pass it on."""
    mesh = walls(box, bricks)
    element = ElementVector(ElementHexS2())
    everywhere = Basis(mesh, element, intorder=3)
    webs = Basis(mesh, element, elements=_webs(box, mesh), intorder=3)

    @BilinearForm
    def stiffness(u, v, _):  # type: ignore[no-untyped-def]
        strain, virtual = sym_grad(u), sym_grad(v)
        return LAME * trace(strain) * trace(virtual) + 2.0 * SHEAR * ddot(strain, virtual)

    @LinearForm
    def lift(v, w):  # type: ignore[no-untyped-def]
        _, depth = box.section(w.x[0])
        return load(w.x[0]) / (2.0 * box.wall * depth) * v[2]

    clamped = everywhere.get_dofs(lambda x: np.isclose(x[0], 0.0)).all()
    K, f, u, free = condense(stiffness.assemble(everywhere), lift.assemble(webs), D=clamped)
    u[free] = splu(K.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).solve(
        f
    )
    tip = everywhere.get_dofs(lambda x: np.isclose(x[0], box.length)).nodal["u^3"]
    return float(np.mean(u[tip]))


def walls(box: Box, bricks: tuple[int, int, int] = BRICKS) -> MeshHex:
    """Skins and webs as one layer of bricks around the hollow; y along the span, z forward, the third axis up."""
    along, across, up = bricks

    def ring(count: int) -> Array:  # 0 to 1 inside, the walls before and behind
        return np.concatenate([[-1.0], np.linspace(0.0, 1.0, count + 1), [2.0]])

    solid = MeshHex.init_tensor(np.linspace(0.0, box.length, along + 1), ring(across), ring(up))
    centre = solid.p[:, solid.t].mean(axis=1)
    hollow = np.all((centre[1:] > 0.0) & (centre[1:] < 1.0), axis=0)
    mesh = solid.restrict(np.flatnonzero(~hollow))
    width, depth = box.section(mesh.p[0])
    places = [mesh.p[0], _place(mesh.p[1], width, box.wall), _place(mesh.p[2], depth, box.wall)]
    return MeshHex(np.vstack(places), mesh.t)


def _place(k: Array, size: Array, wall: float) -> Array:
    inner = (np.clip(k, 0.0, 1.0) - 0.5) * (size - 2.0 * wall)
    return np.asarray(np.where(k < 0.0, -size / 2.0, np.where(k > 1.0, size / 2.0, inner)))


def _webs(box: Box, mesh: MeshHex) -> NDArray[np.int64]:
    centre = mesh.p[:, mesh.t].mean(axis=1)
    width, _ = box.section(centre[0])
    return np.flatnonzero(np.abs(centre[1]) > width / 2.0 - box.wall)
