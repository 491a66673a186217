"""A cantilever of steel, one metre long, that carries 1 kN at its end."""

from collections.abc import Mapping

from counterpoise import Infeasible


def mass(x: Mapping[str, float]) -> float:
    return 7850 * x["width"] * x["height"]


def bend(x: Mapping[str, float]) -> dict[str, float]:
    if x["height"] > 4.5 * x["width"]:
        raise Infeasible("it tips over")
    deflection = 4000 / (210e9 * x["width"] * x["height"] ** 3)
    return {"deflection": deflection, "stress": 6000 / (x["width"] * x["height"] ** 2)}
