"""The arm as an elastic plate in its plane, clamped at one end: the deflection of the
other, and the safety against yielding.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu
from skfem import (
    Basis,
    BilinearForm,
    ElementQuad2,
    ElementVector,
    FacetBasis,
    LinearForm,
    condense,
)
from skfem.helpers import ddot, sym_grad, trace

from workers.beam.geometry import LENGTH, LOAD, Arm, Material
from workers.beam.mesh import mesh_of

Array = NDArray[np.float64]
CLAMP = 0.05  # m: stresses nearer to the clamp are a matter of its design


def deflection(x: Mapping[str, Any]) -> dict[str, float]:
    """Of the end, m, and yield strength / largest stress."""
    arm = Arm.of(x)
    basis, u = displacements(arm)
    end = basis.get_dofs(lambda x: np.isclose(x[0], LENGTH)).nodal["u^2"]
    stress = largest_stress(arm, basis, u)
    return {
        "deflection": float(-np.mean(u[end])),
        "safety": arm.material.strength / stress,
    }


def displacements(arm: Arm) -> tuple[Basis, Array]:
    mesh = mesh_of(arm)
    element = ElementVector(ElementQuad2())
    basis = Basis(mesh, element, intorder=3)
    loaded = mesh.facets_satisfying(
        lambda x: np.isclose(x[0], LENGTH), boundaries_only=True
    )
    end = FacetBasis(mesh, element, facets=loaded, intorder=3)
    lame, shear = plane_stress(arm.material)

    @BilinearForm
    def stiffness(u, v, _):  # type: ignore[no-untyped-def]
        strain, virtual = sym_grad(u), sym_grad(v)
        normal = lame * trace(strain) * trace(virtual)
        return arm.thickness * (normal + 2.0 * shear * ddot(strain, virtual))

    @LinearForm
    def load(v, _):  # type: ignore[no-untyped-def]
        return -LOAD / arm.height * v[1]

    clamped = basis.get_dofs(lambda x: np.isclose(x[0], 0.0)).all()
    K, f, u, free = condense(stiffness.assemble(basis), load.assemble(end), D=clamped)
    u[free] = splu(K.tocsc(), permc_spec="MMD_AT_PLUS_A").solve(f)
    return basis, u


def plane_stress(material: Material) -> tuple[float, float]:
    """Lame's first coefficient of a thin plate, and the shear modulus, Pa."""
    E, nu = material.young, material.poisson
    return E * nu / (1.0 - nu**2), E / 2.0 / (1.0 + nu)


def largest_stress(arm: Arm, basis: Basis, u: Array) -> float:
    """Von Mises', at the integration points, Pa."""
    lame, shear = plane_stress(arm.material)
    strain = np.asarray(sym_grad(basis.interpolate(u)))  # (2, 2, elements, points)
    normal = lame * (strain[0, 0] + strain[1, 1])
    s11 = normal + 2.0 * shear * strain[0, 0]
    s22 = normal + 2.0 * shear * strain[1, 1]
    s12 = 2.0 * shear * strain[0, 1]
    mises = np.sqrt(s11**2 - s11 * s22 + s22**2 + 3.0 * s12**2)
    x = basis.global_coordinates().value[0]
    return float(mises[x > CLAMP].max())
