"""How a command fails: one sentence on stderr and an exit code that scripts can rely on."""

import importlib.util
from typing import NoReturn

import typer
from rich.console import Console

FAILED = 1
WRONG_USAGE = 2


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print("[bold red]Error:[/bold red]", end=" ")
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(sentence)
    raise typer.Exit(code)


def require(module: str, what: str, extra: str) -> None:
    """Stop with the way out where an extra is not installed."""
    if importlib.util.find_spec(module) is None:
        fail(f"{what} is not installed here; install it with: pip install 'counterpoise[{extra}]'")
