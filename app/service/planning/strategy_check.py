"""Whether the strategy of a new study applies to its objectives and variables."""

from app.domain.planning.ratios import declared_ratios
from app.optimizer.strategies.catalogue import STRATEGIES
from app.service.planning.snapshot import problem_of
from counterpoise.wire.problems import fault_at
from counterpoise.wire.specification import Specification, SpecificationInvalid


def check_strategy(spec: Specification) -> None:
    """Raises SpecificationInvalid; ratios that are yet to be measured count as 1, since
    a search could not begin if they turned out to be.
    """
    ratios = declared_ratios(spec) or [1.0] * len(spec.outputs)
    refusal = STRATEGIES[spec.strategy].refusal(problem_of(spec, ratios))
    if refusal is not None:
        raise SpecificationInvalid([fault_at(("strategy",), refusal)])
