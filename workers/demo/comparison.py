"""The study again in virtual time, with several seeds: with its ratios, with all workers
waiting for the slowest, and with the strategy `counterpoise`.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from rich.console import Console

from counterpoise.local.processes import PYTHON, LocalProcess, LocalProcesses
from workers.demo.result import DemoResult
from workers.demo.virtual_study import VirtualResult, VirtualStudy

ASYNCHRONOUS, SYNCHRONOUS = "asynchronous", "synchronous"
COUNTERPOISE = "counterpoise"  # asynchronous, with this strategy
MODES = (ASYNCHRONOUS, SYNCHRONOUS, COUNTERPOISE)
POLL_S = 0.2
Virtual = Mapping[str, Sequence[VirtualResult]]  # by mode, one for each seed


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the pairs of studies with the same seed show, on average."""

    seeds: int
    reached: int  # pairs in which the asynchronous study got as far as the other one
    saved: float  # share of the other one's time; 0 where it did not get as far
    saved_s: float
    larger: float  # hypervolume at the end: 0.1 is 10 % larger


def evidence(virtual: Virtual) -> Evidence:
    pairs = list(zip(virtual[ASYNCHRONOUS], virtual[SYNCHRONOUS], strict=True))
    times = [asynchronous.reached(other.hypervolume) for asynchronous, other in pairs]
    saved = [
        0.0 if reached is None else max(other.seconds - reached, 0.0)
        for reached, (_, other) in zip(times, pairs, strict=True)
    ]
    return Evidence(
        seeds=len(pairs),
        reached=sum(reached is not None for reached in times),
        saved=fmean(
            s / other.seconds for s, (_, other) in zip(saved, pairs, strict=True)
        ),
        saved_s=fmean(saved),
        larger=larger(virtual[ASYNCHRONOUS], virtual[SYNCHRONOUS]),
    )


def larger(results: Sequence[VirtualResult], others: Sequence[VirtualResult]) -> float:
    """How much larger the final hypervolume is than the other one of the same seed, on
    average: 0.1 is 10 %.
    """
    pairs = zip(results, others, strict=True)
    return fmean(
        result.hypervolume / other.hypervolume - 1.0 if other.hypervolume else 0.0
        for result, other in pairs
    )


def compare(
    result: DemoResult, seeds: int, processes: LocalProcesses, console: Console
) -> dict[str, list[VirtualResult]]:
    """All modes with each seed, as many at once as there are processors.

    Points that the study has evaluated are not evaluated again.
    """
    waiting = [(mode, seed) for seed in range(seeds) for mode in MODES]
    count = len(waiting)
    started: dict[tuple[str, int], LocalProcess] = {}
    with console.status("") as status:
        while waiting or any(process.is_running() for process in started.values()):
            running = sum(process.is_running() for process in started.values())
            while waiting and running < (os.cpu_count() or 1):
                mode, seed = waiting.pop(0)
                study = _virtual_study(result, mode, seed)
                started[mode, seed] = _start(study, f"{mode}-{seed}", processes)
                running += 1
            done = sum(not process.is_running() for process in started.values())
            status.update(
                f"the same study in virtual time: {done} of {count} are finished"
            )
            time.sleep(POLL_S)
    return {
        mode: [_read(started[mode, seed]) for seed in range(seeds)] for mode in MODES
    }


def _virtual_study(result: DemoResult, mode: str, seed: int) -> VirtualStudy:
    hypervolume = result.study.hypervolume
    reference_point = hypervolume.reference_point if hypervolume else {}
    measured = [objective.ratio for objective in result.study.objectives]
    study: dict[str, Any] = dict(result.problem.study)
    study["seed"] += seed
    if mode == COUNTERPOISE:
        study["strategy"] = COUNTERPOISE
    return VirtualStudy(
        problem=replace(result.problem, study=study),
        ratios=[1.0] * len(measured) if mode == SYNCHRONOUS else measured,
        job_s=[max(run.job_s, 1e-6) for run in result.runs],
        reference_point=[reference_point[name] for name in result.problem.objectives],
        known=[(dict(sample.x), sample.values) for sample in result.samples],
    )


def _start(study: VirtualStudy, name: str, processes: LocalProcesses) -> LocalProcess:
    file = processes.folder / f"{name}.json"
    file.write_text(study.model_dump_json())
    return processes.start(
        name, [*PYTHON, "-m", "workers.demo.run_virtual_study", str(file)]
    )


def _read(process: LocalProcess) -> VirtualResult:
    return VirtualResult.model_validate_json(process.log.read_text().splitlines()[-1])
