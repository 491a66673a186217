"""`--format dakota`: the command of a worker is an analysis driver of Dakota."""

from collections.abc import Sequence

from counterpoise.adapters.dakota import wrapped
from counterpoise.commands.output import WRONG_USAGE, connected, fail
from counterpoise.local.simulations import FORMATS
from counterpoise.worker.evaluators.command_evaluator import resolve


def driver_command(
    form: str,
    driver: Sequence[str],
    studies: Sequence[str],
    url: str,
    token: str | None,
) -> list[str]:
    """The driver with its files; its responses are all outputs of the study, in
    order.
    """
    if form not in FORMATS:
        fail(f"--format is {' or '.join(FORMATS)}, not {form!r}", WRONG_USAGE)
    if not driver or len(studies) != 1:
        fail("--format dakota needs one --study and a driver after --", WRONG_USAGE)
    with connected(url, token) as client:
        spec = client.study(studies[0]).spec
    outputs = [*spec["objectives"], *(spec.get("constraints") or [])]
    names = [output["name"] for output in outputs]
    return wrapped(resolve(driver), names, aprepro=form.endswith("aprepro"))
