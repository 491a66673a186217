"""The command `demo`: a whole study on this machine, without any set-up."""

from pathlib import Path
from typing import Annotated

import typer

from counterpoise.commands.options import AsJson, EverySample
from counterpoise.commands.output import FAILED, WRONG_USAGE, fail, require
from counterpoise.commands.signals import end_on_signals
from counterpoise.errors import RequestFailed


def add_to(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    problem: Annotated[
        str,
        typer.Option(
            help="wing: a UAV's wing box. beam: a perforated arm, with limits, requirements and materials."
            " dtlz2: synthetic, with declared times."
        ),
    ] = "wing",
    budget: Annotated[
        int | None,
        typer.Option(
            min=3, max=10_000, help="Full samples [the initial design and 24 more]"
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed begins with the same samples.")
    ] = 1,
    seeds: Annotated[
        int,
        typer.Option(min=1, max=100, help="Seeds of the comparison in virtual time."),
    ] = 3,
    m: Annotated[
        int | None, typer.Option(min=2, max=10, help="Objectives of dtlz2 [3]")
    ] = None,
    latency: Annotated[
        list[float] | None,
        typer.Option(
            min=0.001,
            help="Seconds per evaluation of dtlz2, once per objective [0.1, the last 0.5]",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of the server, 0 for a free one."),
    ] = 0,
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False, help="Folder for front, plot, database and logs."
        ),
    ] = Path("counterpoise-demo"),
    stay: Annotated[
        bool, typer.Option("--stay", help="Leave the server running until Ctrl-C.")
    ] = False,
    every: EverySample = False,
    as_json: AsJson = False,
) -> None:
    """Optimise a small UAV's wing, or a machine's arm, with real server, planner and
    worker processes, in a few minutes.

    Example: [bold]counterpoise demo --problem dtlz2 --m 3 --latency 0.1 --latency 0.1
    --latency 0.5[/bold]
    """
    require("sqlalchemy", "The server, which the demo runs,", "server")
    require("matplotlib", "The library that draws the demo's plot", "demo")
    if problem != "dtlz2":
        require("skfem", "The library that the demo simulates with", "demo")
    from counterpoise.local.processes import RunFailed
    from workers.demo import problems
    from workers.demo.run import run

    if problem not in problems.PROBLEMS:
        raise typer.BadParameter(
            f"there are {', '.join(problems.PROBLEMS)}", param_hint="--problem"
        )
    if problem != "dtlz2" and (latency or m):
        message = (
            f"the {problem} has three objectives with evaluation times of their own"
        )
        raise typer.BadParameter(message, param_hint="--m, --latency")
    if latency and len(latency) != (m or 3):
        raise typer.BadParameter("give it once per objective", param_hint="--latency")
    end_on_signals()
    try:
        chosen = problems.problem(problem, m or 3, latency or (), budget, seed)
        run(chosen, out, port, seeds, stay=stay, every=every, as_json=as_json)
    except RunFailed as error:
        fail(str(error), WRONG_USAGE if error.code == WRONG_USAGE else FAILED)
    except (RequestFailed, OSError) as error:
        fail(str(error))
