"""The commands `study evaluate`, `exclude` and `restore`."""

from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import (
    WRONG_USAGE,
    connected,
    fail,
    print_json,
    terminal,
)

SampleNumber = Annotated[int, typer.Argument(help="The number of the sample.")]


def add_to(app: typer.Typer) -> None:
    for command in (evaluate, exclude, restore):
        app.command()(command)


def evaluate(
    name: StudyName,
    coordinates: Annotated[
        list[str], typer.Argument(help="Every variable, as NAME=VALUE.")
    ],
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="Only the run of this objective, outside the budget; may be repeated.",
        ),
    ] = None,
    outside_budget: Annotated[
        bool,
        typer.Option("--outside-budget", help="Do not count it towards the budget."),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a point of your own.

    Example: [bold]counterpoise study evaluate wing span=2.5 ribs=7 skin=1e-3[/bold]
    """
    x = dict(_coordinate(text) for text in coordinates)
    with connected(url, token) as client:
        point = client.evaluate_point(
            name, x, objectives=objective or None, outside_budget=outside_budget
        )
    if as_json:
        print_json(point.model_dump())
        return
    place = "outside the budget" if point.outside_budget else "of the budget"
    jobs = f"{len(point.jobs)} job{'' if len(point.jobs) == 1 else 's'}"
    terminal().print(f"sample {point.sample}, {place}, with {jobs}")


def _coordinate(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        fail(f"{text!r} is not NAME=VALUE with a number, as in span=2.5", WRONG_USAGE)


def exclude(
    name: StudyName,
    sample: SampleNumber,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Leave a sample out of front and models from now on.

    Example: [bold]counterpoise study exclude wing 61[/bold]
    """
    with connected(url, token) as client:
        exclusion = client.exclude(name, sample)
    if as_json:
        print_json(exclusion.model_dump())
    else:
        terminal().print(f"sample {sample} is excluded from front and models")


def restore(
    name: StudyName,
    sample: SampleNumber,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Use an excluded sample again.

    Example: [bold]counterpoise study restore wing 61[/bold]
    """
    with connected(url, token) as client:
        exclusion = client.restore(name, sample)
    if as_json:
        print_json(exclusion.model_dump())
    else:
        terminal().print(f"sample {sample} is part of front and models again")
