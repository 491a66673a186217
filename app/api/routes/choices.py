"""Designs of the front that stand out."""

import re
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator

from app.api.dependencies import DatabaseDep, StudyName
from app.api.security.access import READERS
from app.service.monitoring.choices import list_choices
from counterpoise.wire.monitoring.choices import ChoicesView

DIGITS = r"(?:[0-9]{1,21}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})"
NUMBER = rf"[-+]?{DIGITS}(?:[eE][-+]?[0-9]{{1,2}})?"
TARGET = rf"^[A-Za-z0-9._-]+:{NUMBER}(?:,[A-Za-z0-9._-]+:{NUMBER})*$"
EXAMPLE = "mass:3,drag:9"


def check_target(target: str | None) -> str | None:
    """A declared pattern would do the same, but its error message would only quote the
    pattern.
    """
    if target is not None and re.fullmatch(TARGET, target) is None:
        raise ValueError(f"cannot be read; name objectives with numbers, as {EXAMPLE}")
    return target


router = APIRouter(tags=["monitoring"], dependencies=READERS)


@router.get("/studies/{name}/choices", summary="Designs of the front that stand out")
def get_choices(
    name: StudyName,
    database: DatabaseDep,
    target: Annotated[
        str | None,
        Query(
            max_length=5000,
            json_schema_extra={"pattern": TARGET},
            description=f"values to aim for, by objective, as `{EXAMPLE}`: the nearest design is returned too",
        ),
        AfterValidator(check_target),
    ] = None,
) -> ChoicesView:
    """The best in each objective, the most even compromise, and the one nearest to a
    target.
    """
    return list_choices(database, name, target)
