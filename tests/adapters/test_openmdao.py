"""Components of OpenMDAO as functions of a worker."""

from typing import Any

import openmdao.api as om
import pytest

from counterpoise import Infeasible
from counterpoise.adapters.openmdao import function

pytestmark = pytest.mark.filterwarnings("ignore")


class Wing(om.ExplicitComponent):  # type: ignore[misc]
    def setup(self) -> None:
        self.add_input("span")
        self.add_input("skin")
        self.add_output("mass")
        self.add_output("drag")

    def compute(self, inputs: Any, outputs: Any) -> None:
        if inputs["span"] > 3:
            raise om.AnalysisError("it flutters")
        outputs["mass"] = inputs["span"] * inputs["skin"]
        outputs["drag"] = inputs["span"] ** 2


def test_a_component() -> None:
    evaluate = function(Wing, {"b": "span", "t": "skin"}, {"mass": "mass", "D": "drag"})
    assert evaluate({"b": 2.0, "t": 0.5}) == {"mass": 1.0, "D": 4.0}
    with pytest.raises(Infeasible, match="flutters"):
        evaluate({"b": 3.5, "t": 0.5})
    assert evaluate({"b": 3.0, "t": 0.5}) == {"mass": 1.5, "D": 9.0}
