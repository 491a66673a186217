"""The models of a step as bytes: enough to predict with them again, without fitting.

What costs time in a fit is the search for hyperparameters. They are kept, with the
training points and weights; the factor of the correlation matrix, by far the largest
part, is computed again.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from app.optimizer.models.evidence.hyperparameters import (
    Coordinates,
    Hyperparameters,
    Structure,
)
from app.optimizer.models.evidence.kernel.cross_kernel import CrossKernel
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import Likelihood, invert_lower
from app.optimizer.models.surrogate import Surrogate

Arrays = Mapping[str, Any]  # arrays by name, without any that needs pickling
MEMBERS = ("model", "frozen")
KRIGING = ("S_", "a_", "x_mean_", "theta_", "beta_", "sigma2_")
POSTERIOR = ("X", "y", "alpha", "beta", "sigma2", "eta", "constant")


def pack(surrogates: Sequence[Surrogate]) -> bytes:
    """Members of other classes than `Kriging` and `Posterior` are left out."""
    arrays: dict[str, Any] = {"count": len(surrogates)}
    for position, surrogate in enumerate(surrogates):
        weight = getattr(surrogate, "weight", None)
        if weight is not None:
            arrays[f"{position}.weight"] = weight
        for member in MEMBERS:
            model = getattr(surrogate, member)
            prefix = f"{position}.{member}."
            for name, array in _pack_member(model).items():
                arrays[prefix + name] = array
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> list[Surrogate]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        read = {name: arrays[name] for name in arrays.files}
    surrogates = []
    for position in range(int(read["count"])):
        options: dict[str, Any] = {}
        for member in MEMBERS:
            options[member] = _unpack_member(_below(read, f"{position}.{member}."))
        if f"{position}.weight" in read:
            options["weight"] = float(read[f"{position}.weight"])
        surrogates.append(Surrogate(**options))
    return surrogates


def _below(arrays: Arrays, prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _pack_member(model: object) -> dict[str, Any]:
    if isinstance(model, Kriging):
        return {name: getattr(model, name) for name in KRIGING}
    if isinstance(model, Posterior):
        arrays = {name: getattr(model, name) for name in POSTERIOR}
        at = {f"at.{name}": value for name, value in asdict(model.at).items()}
        hyperparameters = model.hyperparameters
        arrays["Z"] = model.kernel.Z
        arrays["structure"] = hyperparameters.structure.value
        return {**arrays, **at, "values": hyperparameters.values}
    return {}


def _unpack_member(arrays: Arrays) -> Kriging | Posterior | None:
    if not arrays:
        return None
    return _posterior(arrays) if "structure" in arrays else _kriging(arrays)


def _kriging(arrays: Arrays) -> Kriging:
    model = Kriging()
    for name in KRIGING:
        setattr(model, name, arrays[name])
    model.S_ = np.asfortranarray(model.S_)
    n, d = model.S_.shape
    factors = Likelihood(model.S_, np.zeros(n)).factorise(np.ones(d))
    model.eps_ = factors.eps
    model.w_ = factors.w
    model.L_inverse_ = invert_lower(factors.L)
    return model


def _posterior(arrays: Arrays) -> Posterior:
    structure = Structure(str(arrays["structure"]))
    coordinates = _below(arrays, "at.")
    at = Coordinates(**{**coordinates, "eta": float(coordinates["eta"])})
    n = len(arrays["y"])
    kernel = CrossKernel(structure, at, arrays["Z"])
    R = kernel(arrays["X"])  # (n, n)
    L = np.linalg.cholesky(R + float(arrays["eta"]) * np.eye(n))
    L_inverse = np.asfortranarray(np.tril(np.linalg.solve(L, np.eye(n))))
    options: dict[str, Any] = {name: arrays[name] for name in POSTERIOR}
    for name in ("beta", "sigma2", "eta"):
        options[name] = float(options[name])
    options |= {
        "hyperparameters": Hyperparameters(structure, tuple(arrays["values"].tolist())),
        "at": at,
        "kernel": kernel,
        "L_inverse": L_inverse,
        "w": L_inverse @ np.ones(n),
        "constant": bool(arrays["constant"]),
    }
    # What a fit reports of itself plays no part in predictions.
    for field in fields(Posterior):
        options.setdefault(field.name, 0)
    return Posterior(**options)
