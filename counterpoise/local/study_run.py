"""A study from its specification to its end on this machine: server, planner and
workers.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoise.client import Client
from counterpoise.errors import Refused
from counterpoise.local.evaluators import make_evaluator
from counterpoise.local.failures import (
    FailureLog,
    check_for_values,
    without_any_value,
)
from counterpoise.local.processes import LocalProcesses, RunFailed, local_processes
from counterpoise.local.run_folder import DATABASE, RunFolder, locked
from counterpoise.local.server import LocalServer, start_server
from counterpoise.local.simulations import Simulation
from counterpoise.local.workers import LocalWorkers, Place
from counterpoise.wire.codes import Phase
from counterpoise.wire.specification import Specification, parse_specification
from counterpoise.wire.views import StudyView
from counterpoise.worker.evaluators.evaluator import CheckedEvaluator

POLL_S = 0.3
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class RunOptions:
    folder: Path
    home: Path  # where modules and commands are searched for
    port: int = 0
    server: str | None = None  # a running server, instead of one of its own
    token: str | None = None


@dataclass(frozen=True, slots=True)
class StudyRun:
    """A study that is being evaluated."""

    client: Client
    study: StudyView  # as it was at the beginning
    folder: RunFolder
    server: LocalServer | None
    processes: LocalProcesses
    workers: LocalWorkers
    log: FailureLog

    @property
    def url(self) -> str:
        return self.client.url

    def views(self) -> Iterator[StudyView]:
        """Yields the study again and again, the last time when it is finished."""
        while (study := self.client.study(self.study.name)).phase != Phase.FINISHED:
            self.processes.check()
            self.workers.check()
            check_for_values(study, self.log)
            yield study
            time.sleep(POLL_S)
        yield study


@contextmanager
def running(
    specification: Mapping[str, Any],
    simulations: Sequence[Simulation],
    options: RunOptions,
) -> Iterator[StudyRun]:
    """Everything that was started ends with the block; the results are in the folder.

    Raises RunFailed, RequestFailed, FunctionUnusable or CommandUnusable.
    """
    spec = parse_specification(specification)
    with ExitStack() as stack:
        folder = stack.enter_context(locked(options.folder))
        processes = stack.enter_context(local_processes(folder.path))
        evaluators = _evaluators(spec, simulations, options.home, folder)
        with _closed_on_failure(evaluators):
            server = _server(processes, options)
            place = _place(server, options, folder)
            client = stack.enter_context(Client(place.url, place.token))
            study = create_or_extend(client, specification)
            repeat_failed(client, study)
            stream = stack.enter_context(folder.worker_log.open("a"))
            log = FailureLog(stream=stream)
            slots = {
                simulation.objective: simulation.slots for simulation in simulations
            }
            workers = LocalWorkers(place, study.name, evaluators, slots, log)
        stack.enter_context(workers)
        yield StudyRun(client, study, folder, server, processes, workers, log)


def _evaluators(
    spec: Specification,
    simulations: Sequence[Simulation],
    home: Path,
    folder: RunFolder,
) -> dict[str, CheckedEvaluator]:
    variables = [variable.name for variable in spec.variables]
    outputs = list(spec.output_names)
    evaluators: dict[str, CheckedEvaluator] = {}
    with _closed_on_failure(evaluators):
        for simulation in simulations:
            evaluators[simulation.objective] = make_evaluator(
                simulation, home, folder, variables, outputs
            )
    return evaluators


@contextmanager
def _closed_on_failure(evaluators: Mapping[str, CheckedEvaluator]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for evaluator in evaluators.values():
            evaluator.close()
        raise


def _server(processes: LocalProcesses, options: RunOptions) -> LocalServer | None:
    if options.server is not None:
        return None
    return start_server(processes, options.port, DATABASE)


def _place(server: LocalServer | None, options: RunOptions, folder: RunFolder) -> Place:
    if server is None:
        assert options.server is not None  # noqa: S101
        return Place(options.server, options.token)
    return Place(server.url, spool=folder.spool)


def create_or_extend(client: Client, specification: Mapping[str, Any]) -> StudyView:
    """The study as declared: new, as it was left, or with the larger budget that the
    specification has now.
    """
    try:
        return client.create_study(specification)
    except Refused as error:
        if error.status != CONFLICT:
            raise
        refusal = error
    name = str(specification["name"])
    existing = client.study(name)
    budget = parse_specification(specification).budget
    if budget > existing.budget and _differ_only_in_budget(existing, specification):
        return client.extend(name, budget)
    if budget < existing.budget and _differ_only_in_budget(existing, specification):
        return existing  # it was extended on the server
    raise RunFailed(
        f"{refusal.detail}. To begin again with this specification, use --restart"
        " (restart=True): the earlier results are kept in a folder beside"
    )


def repeat_failed(client: Client, study: StudyView) -> None:
    """Retry the failed jobs of objectives without any value: the cause may have been
    fixed since.
    """
    names = [objective.name for objective in without_any_value(study)]
    if names and study.phase != Phase.FINISHED:
        client.retry(study.name, names)


def _differ_only_in_budget(
    existing: StudyView, specification: Mapping[str, Any]
) -> bool:
    given = parse_specification({**specification, "budget": existing.budget})
    stored = parse_specification(existing.spec | {"budget": existing.budget})
    if given.seed is None:  # drawn by the server
        stored = stored.model_copy(update={"seed": None})
    return stored == given
