"""Names in other scripts: refused with the rule where they become paths and columns,
accepted where they are only text.
"""

from typing import Any

import pytest
from pydantic import ValidationError

from counterpoise.wire.specification import (
    EXAMPLE,
    NAME_RULE,
    SpecificationInvalid,
    parse_specification,
)
from counterpoise.wire.work import Ask

OTHER_SCRIPTS = ["μάζα", "质量", "масса", "masse_é"]


@pytest.mark.parametrize("name", OTHER_SCRIPTS)
@pytest.mark.parametrize("place", ["study", "variables", "objectives"])
def test_names_of_studies_variables_and_objectives_are_refused_with_the_rule(
    name: str, place: str
) -> None:
    raw: dict[str, Any] = {
        **EXAMPLE,
        "variables": [dict(item) for item in EXAMPLE["variables"]],
        "objectives": [dict(item) for item in EXAMPLE["objectives"]],
    }
    if place == "study":
        raw["name"] = name
    else:
        raw[place][0]["name"] = name
    with pytest.raises(SpecificationInvalid) as error:
        parse_specification(raw)
    assert NAME_RULE in {fault.detail for fault in error.value.faults}


@pytest.mark.parametrize("name", OTHER_SCRIPTS)
def test_workers_units_and_notes_may_be_in_any_script(name: str) -> None:
    ask = Ask(worker=name, studies=["wing"], objectives=["*"])
    assert ask.worker == name
    objectives = [{**EXAMPLE["objectives"][0], "unit": name}]
    raw = {**EXAMPLE, "objectives": objectives, "notes": name, "ratios": None}
    specification = parse_specification(raw)
    assert specification.objectives[0].unit == name
    assert specification.notes == name


def test_a_worker_has_a_name() -> None:
    with pytest.raises(ValidationError):
        Ask(worker="", studies=["wing"], objectives=["*"])
