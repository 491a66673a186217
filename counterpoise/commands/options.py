"""Arguments and options that several commands have."""

from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from counterpoise.wire.specification import NAME_RULE, Name


def _check_name(name: str) -> str:
    try:
        return TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise typer.BadParameter(NAME_RULE) from None


StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", callback=_check_name, help="The study's name.")
]
Url = Annotated[
    str, typer.Option("--url", envvar="COUNTERPOISE_URL", help="The server.")
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="COUNTERPOISE_TOKEN",
        help="Bearer token, if the server requires one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
EverySample = Annotated[
    bool, typer.Option("--all", help="Print every sample of the front.")
]
