"""The evaluators of a local study's workers."""

from collections.abc import Sequence
from pathlib import Path

from counterpoise.adapters.dakota import wrapped
from counterpoise.local.run_folder import RunFolder
from counterpoise.local.sent_functions import reference_to
from counterpoise.local.simulations import Simulation
from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator, resolve
from counterpoise.worker.evaluators.evaluator import CheckedEvaluator
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
from counterpoise.worker.evaluators.function_reference import FunctionReference


def make_evaluator(
    simulation: Simulation,
    home: Path,
    folder: RunFolder,
    variables: Sequence[str],
    outputs: Sequence[str],
) -> CheckedEvaluator:
    """Modules and files are searched for in `home`.

    Raises FunctionUnusable or CommandUnusable if it cannot evaluate anything.
    """
    evaluator: CheckedEvaluator
    if simulation.function is None:
        command = resolve(simulation.command, home)
        if simulation.form is not None:
            aprepro = simulation.form.endswith("aprepro")
            command = wrapped(command, outputs, aprepro=aprepro)
        evaluator = CommandEvaluator(
            command, folder.jobs, home=home, variables=variables
        )
    else:
        references = {simulation.objective: _reference(simulation, folder)}
        evaluator = FunctionEvaluator(references, folder=home)
    try:
        evaluator.check()
    except BaseException:
        evaluator.close()
        raise
    return evaluator


def _reference(simulation: Simulation, folder: RunFolder) -> FunctionReference:
    function = simulation.function
    if isinstance(function, str):
        return FunctionReference.parse(function)
    assert function is not None  # noqa: S101
    return reference_to(simulation.objective, function, folder.functions)
