"""The commands `study …`: what engineers do with studies, over HTTP."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from pydantic import BaseModel, TypeAdapter, ValidationError
from rich.console import Console

from counterpoise.client import Client
from counterpoise.commands.failure import WRONG_USAGE, fail
from counterpoise.commands.study.specification_file import read_specification
from counterpoise.commands.study.tables import front_table, studies_table, study_panel
from counterpoise.connection import DEFAULT_URL
from counterpoise.errors import RequestFailed
from counterpoise.wire.specification import NAME_RULE, Name, SpecificationInvalid, parse_specification
from counterpoise.wire.views import StudyView

study = typer.Typer(help="Create, watch and steer studies.", no_args_is_help=True, rich_markup_mode="rich")


def add_to(app: typer.Typer) -> None:
    app.add_typer(study, name="study")


def _check_name(name: str) -> str:
    try:
        return TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise typer.BadParameter(NAME_RULE) from None


StudyName = Annotated[str, typer.Argument(metavar="STUDY", callback=_check_name, help="The study's name.")]
Url = Annotated[str, typer.Option("--url", envvar="COUNTERPOISE_URL", help="The server.")]
Token = Annotated[
    str | None, typer.Option("--token", envvar="COUNTERPOISE_TOKEN", help="Bearer token, if the server wants one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@study.command()
def create(
    file: Annotated[str, typer.Argument(help="The specification, JSON or YAML; - for standard input.")],
    paused: Annotated[
        bool, typer.Option("--paused", help="Begin nothing before `study resume`; import first.")
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Create a study from its specification. Creating the same one again changes nothing.

    Example: [bold]counterpoise study create wing.yaml[/bold]
    """
    raw = read_specification(file)
    try:
        parse_specification(raw)
    except SpecificationInvalid as error:
        faults = "".join(f"\n  {fault.pointer}: {fault.detail}" for fault in error.faults)
        fail(f"{file} is not a valid specification:{faults}", WRONG_USAGE)
    with connected(url, token) as client:
        found = client.create_study(
            raw, paused=paused
        )  # as it was written: what it leaves out is the server's to fill in
    if as_json:
        print_json(found.model_dump(exclude={"new"}))
    else:
        new = "created" if found.new else "was there already, with the same specification"
        terminal().print(f"study {found.name} {new}; watch it with: counterpoise study show {found.name}")


@study.command("list")
def list_(url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """List the studies.

    Example: [bold]counterpoise study list[/bold]
    """
    with connected(url, token) as client:
        studies = list(client.studies())
    if as_json:
        print_items(studies)
    elif not studies:
        terminal().print("no studies yet; create one with: counterpoise study create FILE")
    else:
        terminal().print(studies_table(studies))


@study.command()
def show(name: StudyName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Show a study: progress, objectives, hypervolume and what needs attention.

    Example: [bold]counterpoise study show wing[/bold]
    """
    with connected(url, token) as client:
        found = client.study(name)
    if as_json:
        print_json(found.model_dump())
    else:
        terminal().print(study_panel(found))


@study.command()
def pause(name: StudyName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Pause a study: no new jobs are handed out, running ones go on.

    Example: [bold]counterpoise study pause wing[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.pause(name), as_json)


@study.command()
def resume(name: StudyName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Let a paused study go on.

    Example: [bold]counterpoise study resume wing[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.resume(name), as_json)


@study.command()
def stop(
    name: StudyName,
    cancel_running: Annotated[
        bool, typer.Option("--cancel-running", help="Advise workers to stop what runs; otherwise it may finish.")
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Finish a study now. `extend` opens it again.

    Example: [bold]counterpoise study stop wing --cancel-running[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.stop(name, cancel_running=cancel_running), as_json)


@study.command()
def extend(
    name: StudyName,
    budget: Annotated[int, typer.Argument(min=1, help="The new budget: full samples in all.")],
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Give a study a larger budget; a finished one goes on.

    Example: [bold]counterpoise study extend wing 120[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.extend(name, budget), as_json)


@study.command()
def retry(
    name: StudyName,
    objective: Annotated[
        list[str] | None, typer.Option("--objective", help="Only failed jobs of this objective; may be repeated.")
    ] = None,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make failed jobs ready again.

    Example: [bold]counterpoise study retry wing --objective stiffness[/bold]
    """
    with connected(url, token) as client:
        jobs = client.retry(name, objective or None)
    if as_json:
        print_json({"jobs": jobs})
    else:
        terminal().print(f"study {name}: {jobs} failed job{' is' if jobs == 1 else 's are'} ready again")


@study.command()
def front(name: StudyName, url: Url = DEFAULT_URL, token: Token = None, as_json: AsJson = False) -> None:
    """Print the front: the samples that no other one beats in every objective.

    Example: [bold]counterpoise study front wing --json[/bold]
    """
    with connected(url, token) as client:
        items = client.front(name)
    if as_json:
        print_items(items)
    elif not items:
        terminal().print(f"study {name} has no front yet: no sample is evaluated on every objective")
    else:
        terminal().print(front_table(items))


@study.command()
def delete(
    name: StudyName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even while workers evaluate jobs of it.")] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a study and everything it learnt.

    Example: [bold]counterpoise study delete wing --yes[/bold]
    """
    with connected(url, token) as client:
        if not yes:
            lost = f"{client.study(name).evaluated_full} evaluated full samples"
            typer.confirm(f"Delete study {name} with {lost}? It cannot be undone", abort=True, err=True)
        client.delete(name, force=force)
    if as_json:
        print_json({"deleted": name})
    else:
        terminal().print(f"study {name} deleted")


@contextmanager
def connected(url: str, token: str | None) -> Iterator[Client]:
    """A client whose failures end the command; a person sees at once that the server is away."""
    try:
        with Client(url, token, retry_s=0) as client:
            yield client
    except RequestFailed as error:
        fail(str(error))


def terminal() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)  # in a file or a pipe nothing need be cut off
    return console


def print_json(body: Any) -> None:
    typer.echo(json.dumps(body, indent=2, ensure_ascii=False))


def print_items(items: Sequence[BaseModel]) -> None:
    print_json({"items": [item.model_dump() for item in items], "next": None})


def _print_state(found: StudyView, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump())
    else:
        full = f"{found.evaluated_full} of {found.budget} full samples evaluated"
        terminal().print(f"study {found.name}: {found.phase}, {found.state}; {full}")
