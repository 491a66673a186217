"""The command `demo`: see Counterpoise work on this machine, without any set-up."""

from typing import Annotated

import typer

from counterpoise.commands.failure import require


def add_to(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    samples: Annotated[int, typer.Option(min=2, max=1000, help="How many samples to evaluate.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Evaluate a Latin-hypercube design of a small wing on the embedded database and print it.

    Example: [bold]counterpoise demo --samples 12[/bold]
    """
    require("sqlalchemy", "The server, which the demo runs,", "server")
    require("skfem", "What the demo simulates", "demo")
    from workers.demo import run

    run(samples, as_json)
