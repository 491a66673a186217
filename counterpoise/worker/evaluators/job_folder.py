"""A folder of its own for each job of a command: the point goes in, results and logs come out."""

import json
import os
import re
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from counterpoise.wire.work import Job

PARAMS, PARAMS_TXT, RESULTS, STDOUT, STDERR = "params.json", "params.txt", "results", "stdout.txt", "stderr.txt"
FILES = {"params": PARAMS, "params_txt": PARAMS_TXT, "results": RESULTS}
_PLACEHOLDER = re.compile(r"\{(params|params_txt|results|x\.[A-Za-z0-9._-]+)\}")
_TAIL_BYTES = 2000
_MOST_BYTES = 1_000_000


class ResultsUnusable(Exception):
    """What a command left cannot be read as results."""


@dataclass(frozen=True, slots=True)
class JobFolder:
    path: Path
    job: Job

    @classmethod
    def make(cls, work_dir: Path, job: Job) -> "JobFolder":
        prefix = f"{job.study}-{job.objective}-{job.sample}-{job.attempt}-"
        work_dir.mkdir(parents=True, exist_ok=True)
        folder = cls(Path(tempfile.mkdtemp(prefix=prefix, dir=work_dir)), job)
        try:
            (folder.path / PARAMS).write_text(json.dumps(job.x))
            (folder.path / PARAMS_TXT).write_text("".join(f"{name} {value!r}\n" for name, value in job.x.items()))
        except OSError:  # a full disk has no use for half a folder
            folder.remove()
            raise
        return folder

    def fill_in(self, command: list[str]) -> list[str]:
        """The command with its placeholders replaced; other braces are its own affair."""
        return [_PLACEHOLDER.sub(lambda found: self._meaning(found[1]), part) for part in command]

    def _meaning(self, placeholder: str) -> str:
        if placeholder in FILES:
            return str(self.path / FILES[placeholder])
        name = placeholder.removeprefix("x.")
        if name not in self.job.x:
            raise LookupError(
                f"there is no variable {name!r} in study {self.job.study!r}, only {', '.join(self.job.x)}"
            )
        return repr(self.job.x[name])

    def environment(self) -> dict[str, str]:
        """The worker's, without what configures the worker itself: simulations print their environment into logs."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERPOISE_")}
        about = ("study", "sample", "objective", "attempt", "seed")
        return own | {f"COUNTERPOISE_{name.upper()}": str(getattr(self.job, name)) for name in about}

    def results(self, *, from_stdout: bool) -> object:
        """A number or a mapping: from the results file, else from the last line of standard output."""
        what = "the last line of standard output" if from_stdout else "the results file"
        try:
            text = self._last_line() if from_stdout else _tail(self.path / RESULTS, _MOST_BYTES)
        except FileNotFoundError:
            raise ResultsUnusable("the command left no results file") from None
        except OSError as error:
            raise ResultsUnusable(f"{what} cannot be read: {error.strerror}") from None
        try:
            return float(text)
        except ValueError:
            pass
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ResultsUnusable(f"{what} is neither a number nor JSON: {text.strip()[:200]!r}") from None

    def _last_line(self) -> str:
        lines = _tail(self.path / STDOUT, _MOST_BYTES).split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    def logs(self) -> str:
        """The ends of what the command printed."""
        parts = []
        for name in (STDOUT, STDERR):
            try:
                text = _tail(self.path / name, _TAIL_BYTES).strip()
            except OSError:
                continue
            if text:
                parts.append(f"\n--- end of {name} ---\n{text}")
        return "".join(parts)

    def whereabouts(self) -> str:
        return f"\nkept in {self.path} on {socket.gethostname()}"

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _tail(file: Path, most: int) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - most))
        return stream.read().decode(errors="replace")
