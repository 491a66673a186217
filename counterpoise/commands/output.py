"""How commands print, and how they fail: one sentence on standard error and an exit
code for scripts.
"""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from pydantic import BaseModel
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from counterpoise.client import Client
from counterpoise.errors import RequestFailed
from counterpoise.wire.text import visible, visible_json

FAILED = 1
WRONG_USAGE = 2
PIPE_WIDTH = 160  # in a file or a pipe nothing needs to be cut off


class VisibleConsole(Console):
    """Prints texts of other machines (names, messages, logs of simulations) without the
    control characters on which a terminal acts.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:  # of the console itself
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def fail(message: str, code: int = FAILED) -> NoReturn:
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        "[bold red]Error:[/bold red]", end=" "
    )
    VisibleConsole(stderr=True, highlight=False, markup=False, soft_wrap=True).print(
        message
    )
    raise typer.Exit(code)


def require(module: str, what: str, extra: str) -> None:
    """Fail, with the command that installs it, where an extra is not installed."""
    if importlib.util.find_spec(module) is None:
        fail(
            f"{what} is not installed here; install it with: pip install 'counterpoise[{extra}]'"
        )


@contextmanager
def connected(url: str, token: str | None) -> Iterator[Client]:
    """A client whose errors end the command.

    Nothing is repeated: a person sees at once that the server is down.
    """
    try:
        with Client(url, token, retry_s=0) as client:
            yield client
    except RequestFailed as error:
        fail(str(error))


def terminal() -> Console:
    console = VisibleConsole(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    return console


def print_json(body: Any) -> None:
    typer.echo(visible_json(json.dumps(body, indent=2, ensure_ascii=False)))


def print_items(items: Sequence[BaseModel]) -> None:
    print_json({"items": [item.model_dump() for item in items], "next": None})


def count(number: int, noun: str) -> str:
    """For example "1 job", "2 jobs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
