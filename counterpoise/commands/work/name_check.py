"""Whether the names that a worker was started with exist, before it takes a job."""

import re
from collections.abc import Sequence
from itertools import chain

from counterpoise.client import Client
from counterpoise.commands.output import WRONG_USAGE, fail
from counterpoise.errors import Refused, ServerUnavailable
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import StudyView
from counterpoise.worker.evaluators.job_folder import VARIABLE

UNAUTHORIZED, NOT_FOUND = 401, 404


def check_names(
    client: Client,
    studies: Sequence[str],
    objectives: Sequence[str],
    command: Sequence[str],
) -> None:
    """Ends the program if a study, an objective or a variable does not exist, or if the
    server does not know the token.

    A server that is unavailable is no reason: the worker waits for it.
    """
    try:
        views = [client.study(name) for name in studies]
    except ServerUnavailable:
        return
    except Refused as error:
        if error.status == UNAUTHORIZED:
            fail(str(error))
        if error.status != NOT_FOUND:
            return  # the token may only ask; the worker reports it if it may not
        hint = "; with --wait-for-study the worker waits until there is one"
        fail(f"{error.detail}{hint}", WRONG_USAGE)
    _check_objectives(views, objectives)
    _check_variables(views, command)


def _check_objectives(views: Sequence[StudyView], objectives: Sequence[str]) -> None:
    known = list(chain.from_iterable(view.outputs for view in views))
    runs = {output.name: output.same_run_as for output in known}
    studies = ", ".join(view.name for view in views)
    for name in objectives:
        if name not in runs:
            fail(
                f"there is no objective or constraint {name!r} in {studies}{did_you_mean(name, runs)}",
                WRONG_USAGE,
            )
        if all(o.same_run_as is not None for o in known if o.name == name):
            fail(
                f"{name!r} has no jobs of its own; its value comes with {runs[name]!r}",
                WRONG_USAGE,
            )


def _check_variables(views: Sequence[StudyView], command: Sequence[str]) -> None:
    for view in views:
        variables = [variable["name"] for variable in view.spec["variables"]]
        for name in re.findall(VARIABLE, " ".join(command)):
            if name not in variables:
                names = ", ".join(variables)
                hint = did_you_mean(name, variables) or f"; there are {names}"
                place = f"{{x.{name}}} in the command"
                fail(
                    f"{place}: there is no variable {name!r} in study {view.name}{hint}",
                    WRONG_USAGE,
                )
