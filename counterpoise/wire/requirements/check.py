"""Requirements and the variables that they name."""

from collections.abc import Mapping

from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.requirements.parser import parse_requirement
from counterpoise.wire.requirements.tokens import RequirementInvalid


def check_requirement(text: str, is_number: Mapping[str, bool]) -> None:
    """Whether the text can be parsed and names only variables that have numbers.

    `is_number`: by name of a variable, whether its values are numbers or booleans.
    Raises RequirementInvalid.
    """
    requirement = parse_requirement(text)
    for name in requirement.names:
        if name.name not in is_number:
            raise RequirementInvalid(
                name.position, _unknown_variable(name.name, is_number)
            )
        if not is_number[name.name]:
            raise RequirementInvalid(
                name.position,
                f"the choices of {name.name!r} are texts, which have no order;"
                " a requirement can only use numbers and booleans (1 and 0)",
            )
    if not requirement.names:
        raise RequirementInvalid(1, "there is no variable in it; leave it out")


def _unknown_variable(name: str, variables: Mapping[str, bool]) -> str:
    quoted = [other for other in variables if other.startswith(f"{name}-")]
    hint = did_you_mean(name, variables)
    if quoted:
        hint = f"; write {quoted[0]!r} in backquotes: `{quoted[0]}`"
    return f"there is no variable {name!r}{hint}"
