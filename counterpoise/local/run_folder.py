"""The folder of a local study: database, results that are not told yet, logs, and the
results for people.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from counterpoise.local.processes import RunFailed

DATABASE = "study.db"


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def jobs(self) -> Path:
        """Where each job of a command has a folder."""
        return self.path / "jobs"

    @property
    def functions(self) -> Path:
        return self.path / "functions"

    @property
    def worker_log(self) -> Path:
        return self.path / "workers.log"

    @property
    def database(self) -> Path:
        return self.path / DATABASE


@contextmanager
def locked(folder: Path) -> Iterator[RunFolder]:
    """Creates the folder; RunFailed if another run uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunFailed(
                f"a study is running in {folder} already; end it, or choose another"
                " folder"
            ) from None
        yield RunFolder(folder.resolve())


def move_aside(folder: Path) -> Path | None:
    """Rename the folder of an earlier run, if there is one; returns its new name."""
    if not folder.exists():
        return None
    with locked(folder):
        number = 1
        while (target := folder.with_name(f"{folder.name}.{number}")).exists():
            number += 1
        folder.rename(target)
    return target
