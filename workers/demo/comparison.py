"""The study twice more in virtual time: with its ratios, and with all workers waiting
for the slowest.
"""

import time

from rich.console import Console

from workers.demo.processes import PYTHON, DemoProcess, DemoProcesses
from workers.demo.result import DemoResult
from workers.demo.virtual_study import VirtualResult, VirtualStudy

ASYNCHRONOUS, SYNCHRONOUS = "asynchronous", "synchronous"
POLL_S = 0.2


def compare(
    result: DemoResult, processes: DemoProcesses, console: Console
) -> dict[str, VirtualResult]:
    """Both modes, in parallel processes.

    Points that the study has evaluated are not evaluated again.
    """
    measured = [objective.ratio for objective in result.study.objectives]
    ratios = {ASYNCHRONOUS: measured, SYNCHRONOUS: [1.0] * len(measured)}
    running = {
        mode: _start(_virtual_study(result, ratios[mode]), mode, processes)
        for mode in ratios
    }
    with console.status("") as status:
        while any(process.is_running() for process in running.values()):
            done = ", ".join(
                f"{mode} {_samples(process)}" for mode, process in running.items()
            )
            status.update(
                f"the same study in virtual time, full samples of {result.study.budget}: {done}"
            )
            time.sleep(POLL_S)
    return {
        mode: VirtualResult.model_validate_json(_lines(process)[-1])
        for mode, process in running.items()
    }


def _virtual_study(result: DemoResult, ratios: list[float]) -> VirtualStudy:
    hypervolume = result.study.hypervolume
    reference_point = hypervolume.reference_point if hypervolume else {}
    return VirtualStudy(
        problem=result.problem,
        ratios=ratios,
        job_s=[max(worker.job_s, 1e-6) for worker in result.workers],
        reference_point=[reference_point[name] for name in result.problem.objectives],
        known=[(dict(sample.x), sample.values) for sample in result.samples],
    )


def _start(study: VirtualStudy, mode: str, processes: DemoProcesses) -> DemoProcess:
    file = processes.folder / f"{mode}.json"
    file.write_text(study.model_dump_json())
    return processes.start(
        mode, [*PYTHON, "-m", "workers.demo.run_virtual_study", str(file)]
    )


def _samples(process: DemoProcess) -> str:
    """The last number that it has printed."""
    numbers = [line for line in _lines(process) if line.isdigit()]
    return numbers[-1] if numbers else "0"


def _lines(process: DemoProcess) -> list[str]:
    return process.log.read_text().splitlines()
