"""The study twice more in virtual time: with its ratios, and with every worker waiting for the slowest."""

import json
import time

from rich.console import Console

from workers.demo.findings import Findings
from workers.demo.processes import PYTHON, Crew, Process
from workers.demo.question import Answer, Question

MODES = ("asynchronous", "everybody waits")
LOOK_S = 0.2


def compare(found: Findings, crew: Crew, console: Console) -> dict[str, Answer]:
    """Side by side in two processes; points that the study has evaluated already are not evaluated again."""
    known = [(dict(sample.x), sample.values) for sample in found.samples]
    reference = found.study.hypervolume.reference_point if found.study.hypervolume else {}
    measured = [each.ratio for each in found.study.objectives]
    running = {}
    for mode, ratios in zip(MODES, (measured, [1.0] * len(measured)), strict=True):
        question = Question(
            problem=found.problem,
            ratios=ratios,
            took_s=[max(each.job_s, 1e-6) for each in found.crew],
            reference=[reference[name] for name in found.problem.objectives],
            known=known,
        )
        name = mode.replace(" ", "-")
        file = crew.folder / f"{name}.json"
        file.write_text(question.model_dump_json())
        running[mode] = crew.start(name, [*PYTHON, "-m", "workers.demo.virtual", str(file)])
    with console.status("") as status:
        while any(process.running() for process in running.values()):
            done = ", ".join(f"{mode} {_samples(process)}" for mode, process in running.items())
            status.update(f"the same study in virtual time, full samples of {found.study.budget}: {done}")
            time.sleep(LOOK_S)
    return {mode: Answer.model_validate(json.loads(_lines(process)[-1])) for mode, process in running.items()}


def _samples(process: Process) -> str:
    return next((line for line in reversed(_lines(process)) if line.isdigit()), "0")


def _lines(process: Process) -> list[str]:
    return process.log.read_text().splitlines()
