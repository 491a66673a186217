"""The folder of a command's job: the point as files, and the results and logs that the
command writes.
"""

import json
import os
import re
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from counterpoise.wire.coordinates import coordinate_text
from counterpoise.wire.failure_message import part
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.environment import inherited_environment

PARAMS, PARAMS_TXT, RESULTS, STDOUT, STDERR = (
    "params.json",
    "params.txt",
    "results",
    "stdout.txt",
    "stderr.txt",
)
FILES = {"params": PARAMS, "params_txt": PARAMS_TXT, "results": RESULTS}
VARIABLE = re.compile(r"\{x\.([^{}\s]+)\}")
_PLACEHOLDER = re.compile(r"\{(params|params_txt|results|x\.[^{}\s]+)\}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
JOB_VARIABLES = ("study", "sample", "objective", "attempt", "seed")
_TAIL_BYTES = 2000
_LAST_LINE = 200  # characters
_MOST_BYTES = 1_000_000


class ResultsUnreadable(Exception):
    """The command wrote no results, or none that can be read."""


@dataclass(frozen=True, slots=True)
class JobFolder:
    path: Path
    job: Job

    @classmethod
    def make(cls, work_dir: Path, job: Job) -> "JobFolder":
        # Names come from the server, and must not lead out of the folder
        study, objective = (
            _NOT_IN_NAMES.sub("_", n) for n in (job.study, job.objective)
        )
        prefix = f"{study}-{objective}-{job.sample}-{job.attempt}-"
        work_dir.mkdir(parents=True, exist_ok=True)
        folder = cls(Path(tempfile.mkdtemp(prefix=prefix, dir=work_dir)), job)
        try:
            (folder.path / PARAMS).write_text(json.dumps(job.x))
            lines = [
                f"{name} {coordinate_text(value)}\n" for name, value in job.x.items()
            ]
            (folder.path / PARAMS_TXT).write_text("".join(lines))
        except OSError:  # for example a full disk
            folder.remove()
            raise
        return folder

    def fill_in(self, command: list[str]) -> list[str]:
        """The command with its placeholders replaced; other braces stay as they are."""
        return [_PLACEHOLDER.sub(self._value, part) for part in command]

    def _value(self, match: re.Match[str]) -> str:
        placeholder = match[1]
        if placeholder in FILES:
            return str(self.path / FILES[placeholder])
        name = placeholder.removeprefix("x.")
        if name not in self.job.x:
            names = ", ".join(self.job.x)
            raise LookupError(
                f"there is no variable {name!r} in study {self.job.study!r}, only {names}"
            )
        return coordinate_text(self.job.x[name])

    def environment(self, home: Path) -> dict[str, str]:
        """The worker's, without its own settings, and what the job is.

        `python -m` finds modules of `home`, although the command runs elsewhere.
        """
        inherited = inherited_environment()
        job = {
            f"COUNTERPOISE_{name.upper()}": str(getattr(self.job, name))
            for name in JOB_VARIABLES
        }
        job["COUNTERPOISE_ALSO"] = ",".join(self.job.also)
        path = inherited.get("PYTHONPATH")
        modules = f"{path}{os.pathsep}{home}" if path else str(home)
        return inherited | job | {"PYTHONPATH": modules}

    def results(self, *, from_stdout: bool) -> object:
        """A number or a mapping, from the results file or from the last line of
        standard output.
        """
        source = (
            "the last line of standard output" if from_stdout else "the results file"
        )
        try:
            text = (
                self._last_line()
                if from_stdout
                else _tail(self.path / RESULTS, _MOST_BYTES)
            )
        except FileNotFoundError:
            raise ResultsUnreadable("the command wrote no results file") from None
        except OSError as error:
            raise ResultsUnreadable(
                f"{source} cannot be read: {error.strerror}"
            ) from None
        try:
            return float(text)
        except ValueError:
            pass
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ResultsUnreadable(
                f"{source} is neither a number nor JSON: {text.strip()[:200]!r}"
            ) from None

    def _last_line(self) -> str:
        lines = _tail(self.path / STDOUT, _MOST_BYTES).split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    def last_error_line(self) -> str:
        """Of standard error, else of standard output; empty if there is none."""
        for name in (STDERR, STDOUT):
            try:
                lines = _tail(self.path / name, _TAIL_BYTES).strip().splitlines()
            except OSError:
                continue
            if lines:
                return lines[-1].strip()[:_LAST_LINE]
        return ""

    def logs(self) -> str:
        """The ends of standard output and standard error."""
        parts = []
        for name in (STDOUT, STDERR):
            try:
                text = _tail(self.path / name, _TAIL_BYTES).strip()
            except OSError:
                continue
            if text:
                parts.append(part(f"end of {name}", text))
        return "".join(parts)

    def location(self) -> str:
        return part(f"kept in {self.path} on {socket.gethostname()}")

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _tail(file: Path, size: int) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - size))
        return stream.read().decode(errors="replace")
