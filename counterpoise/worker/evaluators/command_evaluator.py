"""Objectives that are commands: each job in a folder and a process group of its own, under a supervisor."""

import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal, cast

from counterpoise.child_processes import END, KILL, supervise
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import Failure, Job, ReportedFailure
from counterpoise.worker.evaluators.evaluator import Outcome, Running, failed, outcome_of
from counterpoise.worker.evaluators.job_folder import FILES, STDERR, STDOUT, JobFolder, ResultsUnusable

Keep = Literal["always", "failed", "never"]
EXIT_CODES: dict[int, ReportedFailure] = {65: "infeasible", 75: "infrastructure"}  # EX_DATAERR and EX_TEMPFAIL
GRACE_S = 5.0


class CommandUnusable(Exception):
    """Said before any job is taken."""


class CommandEvaluator:
    def __init__(self, command: Sequence[str], work_dir: Path, keep: Keep = "failed") -> None:
        self._command = list(command)
        self._work_dir = work_dir.absolute()
        self._keep = keep
        self._under_way: dict[int, CommandRunning] = {}

    def check(self) -> None:
        program, *arguments = self._command
        if "/" in program and Path(program).is_file() and not os.access(program, os.X_OK):
            raise CommandUnusable(f"{program} is not executable; say: chmod +x {program}")
        if shutil.which(program) is None:
            raise CommandUnusable(f"there is no command {program!r}; give its path, or a name that is in PATH")
        for name in re.findall(r"\{([a-z_]+)\}", " ".join(arguments)):
            if name not in FILES and (hint := did_you_mean(name, FILES)):
                raise CommandUnusable(f"there is no placeholder {name!r}{hint}")
        try:
            self._work_dir.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._work_dir).close()
        except OSError as error:
            raise CommandUnusable(f"cannot write into {self._work_dir}: {error.strerror}; choose --work-dir") from error

    def start(self, slot: int, job: Job) -> Running:
        try:
            folder = JobFolder.make(self._work_dir, job)
        except OSError as error:
            return Over(failed("infrastructure", f"no folder for the job: {error}"))
        try:
            process = supervise(
                folder.fill_in(self._command),
                stdout=folder.path / STDOUT,
                stderr=folder.path / STDERR,
                grace_s=GRACE_S,
                cwd=folder.path,
                env=folder.environment(),
            )
        except (OSError, LookupError) as error:
            folder.remove()
            return Over(failed("infrastructure", f"the command cannot be started: {error}"))
        from_stdout = not any("{results}" in part for part in self._command)
        self._under_way[slot] = CommandRunning(process, folder, self._keep, from_stdout=from_stdout)
        return self._under_way[slot]

    def close(self) -> None:
        for running in self._under_way.values():
            running.cancel("the worker ends", at_once=True)
        for running in self._under_way.values():
            running.wait(None)


def resolve(command: Sequence[str]) -> list[str]:
    """The command as it must be said in other folders: files of this one become absolute."""
    program, *arguments = command
    found = [str(Path(part).absolute()) if _is_file(part) else part for part in arguments]
    return [str(Path(program).absolute()) if "/" in program else program, *found]


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except OSError:  # too long for a name: a script after `sh -c`, say
        return False


class CommandRunning:
    """One command under way."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: JobFolder, keep: Keep, *, from_stdout: bool) -> None:
        self._process, self._folder, self._keep, self._from_stdout = process, folder, keep, from_stdout
        self._pipes = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        self._why = ""
        self._outcome: Outcome | None = None
        self._lock = threading.Lock()  # wait and cancel come from different threads

    def wait(self, timeout_s: float | None) -> Outcome | None:
        if self._outcome is None and self._is_over(timeout_s):
            with self._lock:
                report, _ = self._process.communicate()
                self._outcome = self._tidied(self._read(json.loads(report or "{}")))
        return self._outcome

    def cancel(self, why: str, *, at_once: bool = False) -> None:
        with self._lock:
            if self._outcome is None:
                self._why = self._why or why
                with suppress(BrokenPipeError):  # over just now
                    os.write(self._pipes[0].fileno(), KILL if at_once else END)

    def _is_over(self, timeout_s: float | None) -> bool:
        report = select.poll()
        report.register(self._pipes[1], select.POLLIN)
        return bool(report.poll(None if timeout_s is None else timeout_s * 1000))

    def _read(self, report: dict[str, Any]) -> Outcome:
        if "code" not in report:
            words = report.get("cannot_start", "its supervisor was killed")
            return failed("infrastructure", f"the command cannot be run: {words}")
        code, duration_s = report["code"], report["duration_s"]
        if report["ended"]:
            return failed("error", f"ended before it was finished: {self._why}", duration_s=duration_s)
        if code != 0:
            how = f"the command ended with exit code {code}" if code > 0 else f"the command died of signal {-code}"
            return failed(EXIT_CODES.get(code, "error"), how, duration_s=duration_s)
        try:
            results = self._folder.results(from_stdout=self._from_stdout)
        except ResultsUnusable as error:
            return failed("error", str(error), duration_s=duration_s)
        return outcome_of(results, self._folder.job, duration_s=duration_s)

    def _tidied(self, outcome: Outcome) -> Outcome:
        """With the logs' ends, if it failed; without the folder, if it is not kept."""
        message = outcome.failure.message + self._folder.logs() if outcome.failure else ""
        if self._keep == "always" or (self._keep == "failed" and outcome.failure):
            message += self._folder.whereabouts()
        else:
            self._folder.remove()
        if outcome.failure is None:
            return outcome
        return replace(outcome, failure=Failure(kind=outcome.failure.kind, message=message))


class Over:
    """What ended before it began."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def wait(self, timeout_s: float | None) -> Outcome:  # noqa: ARG002
        return self._outcome

    def cancel(self, why: str) -> None:
        pass
