"""Objectives that are commands: each job has a folder and a supervised process of its
own.
"""

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
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, cast

from counterpoise.child_processes import END, KILL, supervise
from counterpoise.wire.codes import FailureKind
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.work import Failure, Job, ReportedFailure
from counterpoise.worker.evaluators.evaluator import (
    Evaluation,
    EvaluationResult,
    failed,
    result_of,
)
from counterpoise.worker.evaluators.job_folder import (
    FILES,
    STDERR,
    STDOUT,
    VARIABLE,
    JobFolder,
    ResultsUnreadable,
)

# EX_DATAERR and EX_TEMPFAIL of sysexits.h
EXIT_CODES: dict[int, ReportedFailure] = {
    65: FailureKind.INFEASIBLE,
    75: FailureKind.INFRASTRUCTURE,
}
GRACE_S = 5.0


class Keep(StrEnum):
    """Which folders to keep."""

    ALWAYS = "always"
    FAILED = "failed"
    NEVER = "never"


class CommandUnusable(Exception):
    """Raised before any job is taken."""


class CommandEvaluator:
    def __init__(
        self,
        command: Sequence[str],
        work_dir: Path,
        keep: Keep = Keep.FAILED,
        *,
        home: Path | None = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        """`home`: a folder whose modules `python -m` finds.

        `variables`: the names that the command may contain as {x.NAME}, if they are
        known beforehand.
        """
        self._command = list(command)
        self._work_dir = work_dir.absolute()
        self._keep = keep
        self._home = (home or Path.cwd()).absolute()
        self._variables = variables
        self._evaluations: dict[int, CommandEvaluation] = {}  # by slot

    def check(self) -> None:
        program, *arguments = self._command
        if (
            "/" in program
            and Path(program).is_file()
            and not os.access(program, os.X_OK)
        ):
            raise CommandUnusable(
                f"{program} is not executable; run: chmod +x {program}"
            )
        if shutil.which(program) is None:
            raise CommandUnusable(
                f"there is no command {program!r}; give its path, or a name that is in PATH"
            )
        self._check_placeholders(" ".join(arguments))
        try:
            self._work_dir.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._work_dir).close()
        except OSError as error:
            raise CommandUnusable(
                f"cannot write into {self._work_dir}: {error.strerror}; choose --work-dir"
            ) from error

    def _check_placeholders(self, arguments: str) -> None:
        for name in re.findall(r"\{([a-z_]+)\}", arguments):
            hint = did_you_mean(name, FILES)
            if name not in FILES and hint:
                raise CommandUnusable(f"there is no placeholder {name!r}{hint}")
        if self._variables is None:
            return
        for name in re.findall(VARIABLE, arguments):
            if name not in self._variables:
                hint = did_you_mean(name, self._variables)
                names = ", ".join(self._variables)
                raise CommandUnusable(
                    f"{{x.{name}}}: there is no variable {name!r}"
                    f"{hint or f'; there are {names}'}"
                )

    def start(self, slot: int, job: Job) -> Evaluation:
        try:
            folder = JobFolder.make(self._work_dir, job)
        except OSError as error:
            return _not_started(f"no folder for the job: {error}")
        try:
            process = supervise(
                folder.fill_in(self._command),
                stdout=folder.path / STDOUT,
                stderr=folder.path / STDERR,
                grace_s=GRACE_S,
                cwd=folder.path,
                env=folder.environment(self._home),
            )
        except (OSError, LookupError) as error:
            folder.remove()
            return _not_started(f"the command cannot be started: {error}")
        reads_stdout = not any("{results}" in part for part in self._command)
        evaluation = CommandEvaluation(
            process, folder, self._keep, reads_stdout=reads_stdout
        )
        self._evaluations[slot] = evaluation
        return evaluation

    def close(self) -> None:
        for evaluation in self._evaluations.values():
            evaluation.cancel("the worker ends", at_once=True)
        for evaluation in self._evaluations.values():
            evaluation.wait(None)


def resolve(command: Sequence[str], home: Path | None = None) -> list[str]:
    """The command for use in other folders: names of files of `home` (this folder)
    become absolute.
    """
    folder = (home or Path.cwd()).absolute()
    program, *arguments = command
    resolved = [
        str(folder / part) if _is_file(folder / part) else part for part in arguments
    ]
    return [str(folder / program) if "/" in program else program, *resolved]


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # too long for a name, for example a script after `sh -c`
        return False


class CommandEvaluation:
    """A running command."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        folder: JobFolder,
        keep: Keep,
        *,
        reads_stdout: bool,
    ) -> None:
        self._process = process
        self._folder = folder
        self._keep = keep
        self._reads_stdout = reads_stdout
        self._cancel_reason = ""
        self._result: EvaluationResult | None = None
        # Wait and cancel are called from different threads
        self._lock = threading.Lock()

    def wait(self, timeout_s: float | None) -> EvaluationResult | None:
        if self._result is None and self._is_over(timeout_s):
            with self._lock:
                report, _ = self._process.communicate()
                self._result = self._tidied(self._read(json.loads(report or "{}")))
        return self._result

    def cancel(self, reason: str, *, at_once: bool = False) -> None:
        with self._lock:
            if self._result is None:
                self._cancel_reason = self._cancel_reason or reason
                with suppress(BrokenPipeError):  # it has just ended
                    os.write(
                        cast(IO[bytes], self._process.stdin).fileno(),
                        KILL if at_once else END,
                    )

    def _is_over(self, timeout_s: float | None) -> bool:
        poll = select.poll()
        poll.register(cast(IO[bytes], self._process.stdout), select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))

    def _read(self, report: dict[str, Any]) -> EvaluationResult:
        """The result, from the supervisor's report and the results of the command."""
        if "code" not in report:
            reason = report.get("cannot_start", "its supervisor was killed")
            return failed(
                FailureKind.INFRASTRUCTURE, f"the command cannot be run: {reason}"
            )
        code, duration_s = report["code"], report["duration_s"]
        if report["ended"]:
            message = f"ended before it was finished: {self._cancel_reason}"
            return failed(FailureKind.ERROR, message, duration_s=duration_s)
        if code != 0:
            how = (
                f"ended with exit code {code}"
                if code > 0
                else f"died of signal {-code}"
            )
            kind = EXIT_CODES.get(code, FailureKind.ERROR)
            last_line = self._folder.last_error_line()
            reason = f": {last_line}" if last_line else ""
            message = f"the command {how}{reason}"
            return failed(kind, message, duration_s=duration_s)
        try:
            results = self._folder.results(from_stdout=self._reads_stdout)
        except ResultsUnreadable as error:
            return failed(FailureKind.ERROR, str(error), duration_s=duration_s)
        return result_of(results, self._folder.job, duration_s=duration_s)

    def _tidied(self, result: EvaluationResult) -> EvaluationResult:
        """With the end of the logs, if it failed.

        Removes the folder if it is not to be kept.
        """
        failure = result.failure
        message = failure.message + self._folder.logs() if failure else ""
        if self._keep is Keep.ALWAYS or (self._keep is Keep.FAILED and failure):
            message += self._folder.location()
        else:
            self._folder.remove()
        if failure is None:
            return result
        return replace(result, failure=Failure(kind=failure.kind, message=message))


class _FinishedEvaluation:
    """An evaluation that has its result already."""

    def __init__(self, result: EvaluationResult) -> None:
        self._result = result

    def wait(self, timeout_s: float | None) -> EvaluationResult:  # noqa: ARG002
        return self._result

    def cancel(self, reason: str) -> None:
        pass


def _not_started(message: str) -> Evaluation:
    return _FinishedEvaluation(failed(FailureKind.INFRASTRUCTURE, message))
