"""The command `bench`. The benchmarks are part of a checkout, not of the wheel."""

import importlib.util

import typer

from counterpoise.commands.output import fail


def add_to(app: typer.Typer) -> None:
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(add_help_option=False, context_settings=settings)(bench)


def bench(context: typer.Context) -> None:
    """Benchmarks against the paper and against peers (in a checkout).

    Example: [bold]counterpoise bench --help[/bold]
    """
    if importlib.util.find_spec("benchmarks") is None:
        hint = "clone the repository and run `make bench`"
        fail(f"benchmarks are part of a checkout, not of the installed package; {hint}")
    from benchmarks.cli import bench as benchmarks

    benchmarks(args=context.args, prog_name="counterpoise bench")
