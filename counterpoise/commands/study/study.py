"""The commands `study …`: create, read and change studies over HTTP."""

from typing import Annotated

import typer

from counterpoise.client.failed_requests import DEFAULT_URL
from counterpoise.commands.options import AsJson, StudyName, Token, Url
from counterpoise.commands.output import (
    WRONG_USAGE,
    connected,
    fail,
    print_items,
    print_json,
    terminal,
)
from counterpoise.commands.study.front_tables import (
    front_tables,
    least_violating_tables,
)
from counterpoise.commands.study.specification_file import read_specification
from counterpoise.commands.study.study_tables import (
    state_text,
    studies_table,
    study_panel,
)
from counterpoise.local.simulations import without_run
from counterpoise.wire.problems import list_faults
from counterpoise.wire.specification import SpecificationInvalid, parse_specification
from counterpoise.wire.views import StudyView

study = typer.Typer(
    help="Create, read and change studies.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
STRATEGY_HINT = (
    "its strategy is sbp-bo; where some objectives are cheap, `strategy: counterpoise`"
    " has found better fronts with as many slow runs (docs/choosing.md)"
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(study, name="study")


@study.command()
def create(
    file: Annotated[
        str,
        typer.Argument(help="The specification, JSON or YAML; - for standard input."),
    ],
    paused: Annotated[
        bool,
        typer.Option(
            "--paused",
            help="Begin only after `study resume`, so that you can import first.",
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Create a study from its specification.

    Creating the same one again changes nothing.

    Example: [bold]counterpoise study create wing.yaml[/bold]
    """
    specification = read_specification(file)
    content = without_run(specification.content)  # `counterpoise run` reads the rest
    try:
        parse_specification(content)
    except SpecificationInvalid as error:
        faults = specification.with_lines(error.faults)
        fail(f"{file} is not a valid specification:{list_faults(faults)}", WRONG_USAGE)
    with connected(url, token) as client:
        # As it was written: the server fills in defaults.
        created = client.create_study(content, paused=paused)
    if as_json:
        print_json(created.model_dump(exclude={"new"}))
    else:
        outcome = (
            "created" if created.new else "exists already, with the same specification"
        )
        terminal().print(
            f"study {created.name} {outcome}; show it with: counterpoise study show {created.name}"
        )
        if created.new and "strategy" not in content:
            terminal().print(STRATEGY_HINT)


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
        terminal().print(
            "no studies yet; create one with: counterpoise study create FILE"
        )
    else:
        terminal().print(studies_table(studies))


@study.command()
def show(
    name: StudyName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a study: progress, objectives, hypervolume and what needs attention.

    Example: [bold]counterpoise study show wing[/bold]
    """
    with connected(url, token) as client:
        shown = client.study(name)
    if as_json:
        print_json(shown.model_dump())
    else:
        terminal().print(study_panel(shown))


@study.command()
def pause(
    name: StudyName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Pause a study: no new jobs are leased, running ones go on.

    Example: [bold]counterpoise study pause wing[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.pause(name), as_json)


@study.command()
def resume(
    name: StudyName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused study go on.

    Example: [bold]counterpoise study resume wing[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.resume(name), as_json)


@study.command()
def stop(
    name: StudyName,
    cancel_running: Annotated[
        bool,
        typer.Option(
            "--cancel-running",
            help="Advise workers to stop what runs; otherwise it may finish.",
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Finish a study now. `extend` reopens it.

    Example: [bold]counterpoise study stop wing --cancel-running[/bold]
    """
    with connected(url, token) as client:
        _print_state(client.stop(name, cancel_running=cancel_running), as_json)


@study.command()
def extend(
    name: StudyName,
    budget: Annotated[
        int, typer.Argument(min=1, help="The new budget: full samples in all.")
    ],
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
        list[str] | None,
        typer.Option(
            "--objective", help="Only failed jobs of this objective; may be repeated."
        ),
    ] = None,
    infeasible: Annotated[
        bool,
        typer.Option(
            "--infeasible",
            help="Instead of failed jobs those that were reported as infeasible."
            " Samples that broke a limit have their values: nothing is run again.",
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make failed jobs ready again.

    Example: [bold]counterpoise study retry wing --objective stiffness[/bold]
    """
    with connected(url, token) as client:
        jobs = client.retry(name, objective or None, infeasible=infeasible)
    if as_json:
        print_json({"jobs": jobs})
        return
    terminal().print(
        f"study {name}: {jobs} job{' is' if jobs == 1 else 's are'} ready again"
    )
    if infeasible and jobs == 0:
        terminal().print(
            "no run has reported a point as infeasible; samples that only broke a limit"
            " have their values, so there is nothing to run again"
        )


@study.command()
def front(
    name: StudyName,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Print the front: the nondominated samples that keep all limits.

    Example: [bold]counterpoise study front wing --json[/bold]
    """
    with connected(url, token) as client:
        found = client.front_view(name)
        shown = None if as_json else client.study(name)
    if shown is None:
        print_items(found.items)
        return
    console = terminal()
    if found.items:
        console.print(front_tables(found.items, shown, console.width))
        return
    console.print(f"study {name} has no front yet: {found.detail}")
    if found.least_violating:
        nearest = found.least_violating
        console.print(least_violating_tables(nearest, shown, console.width))


@study.command()
def delete(
    name: StudyName,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Even while workers evaluate jobs of it.")
    ] = False,
    url: Url = DEFAULT_URL,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a study with all its data.

    Example: [bold]counterpoise study delete wing --yes[/bold]
    """
    with connected(url, token) as client:
        if not yes:
            samples = client.study(name).evaluated_full
            question = f"Delete study {name} with {samples} evaluated full samples? It cannot be undone"
            typer.confirm(question, abort=True, err=True)
        client.delete(name, force=force)
    if as_json:
        print_json({"deleted": name})
    else:
        terminal().print(f"study {name} deleted")


def _print_state(view: StudyView, as_json: bool) -> None:
    if as_json:
        print_json(view.model_dump())
    else:
        full = f"{view.evaluated_full} of {view.budget} full samples evaluated"
        terminal().print(f"study {view.name}: {state_text(view)}; {full}")
