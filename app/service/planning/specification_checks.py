"""Whether a new study can be planned: its requirements leave something to search, and
its strategy applies to its objectives and variables.
"""

import numpy as np

from app.domain.planning.ratios import declared_ratios
from app.optimizer.problem import Space
from app.optimizer.search.design import share_satisfied
from app.optimizer.strategies.catalogue import STRATEGIES
from app.service.planning.snapshot import problem_of
from app.service.planning.user_units import optimizer_requirements, optimizer_variables
from counterpoise.wire.problems import fault_at
from counterpoise.wire.specification import Specification, SpecificationInvalid

SMALLEST_SHARE = 1e-4


def check_space(spec: Specification) -> None:
    """Raises SpecificationInvalid if less than a ten-thousandth of the space satisfies
    the requirements.
    """
    if not spec.requirements:
        return
    space = Space(optimizer_variables(spec.variables), optimizer_requirements(spec))
    share = share_satisfied(space, np.random.default_rng(0))
    if share < SMALLEST_SHARE:
        found = "no point" if share == 0.0 else f"a share of {share:.1g}"
        raise SpecificationInvalid(
            [
                fault_at(
                    ("requirements",),
                    f"{found} of the space satisfies them all, and at least"
                    f" {SMALLEST_SHARE:g} must; relax them, narrow the ranges of the"
                    " variables, or express a variable by the others",
                )
            ]
        )


def check_strategy(spec: Specification) -> None:
    """Raises SpecificationInvalid; ratios that are yet to be measured count as 1, since
    a search could not begin if they turned out to be.
    """
    ratios = declared_ratios(spec) or [1.0] * len(spec.outputs)
    refusal = STRATEGIES[spec.strategy].refusal(problem_of(spec, ratios))
    if refusal is not None:
        raise SpecificationInvalid([fault_at(("strategy",), refusal)])
