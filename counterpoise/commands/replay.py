"""The command `replay`: computes steps again and compares them with what was proposed."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from counterpoise.commands.options import AsJson, StudyName
from counterpoise.commands.output import FAILED, WRONG_USAGE, count, fail
from counterpoise.commands.server import DatabaseUrl, run_with_settings

if TYPE_CHECKING:
    from app.service.planning.replay import Replayed
    from app.settings import Settings


def add_to(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    study: StudyName,
    step: Annotated[
        str | None,
        typer.Argument(
            metavar="[STEP]",
            help="As samples and steps name it: initial, stream:OBJECTIVE:NUMBER, search:NUMBER.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every step that is done.")
    ] = False,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Compute a step again from the database and compare it with what was proposed.

    Exits with 1 if it differs.

    Bit for bit under the same versions and processor; otherwise it prints which differ
    and how far the proposals are apart. It only reads, needs no server, and may run
    beside one.

    Example: [bold]counterpoise replay wing search:3[/bold]
    """
    if every == (step is not None):
        fail(
            "name one step (counterpoise replay wing search:3), or give --all",
            WRONG_USAGE,
        )
    console = Console(highlight=False, soft_wrap=True)
    results: list[Replayed] = []

    def report(result: "Replayed") -> None:
        results.append(result)
        if not as_json:
            console.print(_line(result))

    def start(settings: "Settings") -> bool:
        from app.replay import replay

        return replay(settings, study=study, step=step, report=report)

    equal = run_with_settings(start, database_url=database_url)
    if as_json:
        typer.echo(
            json.dumps(
                {"equal": equal, "steps": [asdict(result) for result in results]},
                indent=2,
            )
        )
    else:
        for line in _summary(results):
            console.print(line)
    if not equal:
        raise typer.Exit(FAILED)


def _line(result: "Replayed") -> Text:
    style, status = ("green", "equal") if result.equal else ("bold red", "different")
    return Text.assemble(
        (f"{status:<10}", style), f"{result.step:<20} ", _comparison(result)
    )


def _comparison(result: "Replayed") -> str:
    samples = count(result.samples, "sample")
    if result.equal:
        return (
            f"{samples}, bit for bit"
            if result.samples
            else "no samples were proposed, neither then nor now"
        )
    differences = [f"{result.equal_samples} of {samples} equal"]
    if result.proposed_now != result.samples:
        differences.append(f"{result.proposed_now} are proposed now")
    if result.largest_distance:
        differences.append(
            f"at most {result.largest_distance:.3g} apart in the unit cube"
        )
    return "; ".join([*differences, *result.faults])


def _summary(results: list["Replayed"]) -> list[str]:
    if not results:
        return ["no step is done yet"]
    changed: dict[tuple[str, str, str], None] = {}  # each once, in order
    for result in results:
        for name, (then, now) in result.versions.items():
            changed[name, then, now] = None
    lines = [f"{name} was {then}, is now {now}" for name, then, now in changed]
    if not lines and not all(result.equal for result in results):
        return [
            "all versions are the same as then: the data or the program have changed"
        ]
    return lines
