"""Results on disk until they are told: neither an unavailable server nor a killed
worker loses one.

Each process has a folder of its own below the spool, and locks it while it lives. A
folder without a locked lock was left by a process that has ended: the next process
adopts its results.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from counterpoise.wire.work import Tell

REFUSED = "refused"
LOCK = "lock"
FOLDER = re.compile(r"\d+-[0-9a-f]{8}")  # of a process; other folders are not touched


def default_spool(url: str) -> Path:
    """One per user and server."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    host = re.sub(r"[^A-Za-z0-9.-]", "_", urlsplit(url).netloc.rpartition("@")[2])
    name = f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    return Path(state).expanduser() / "counterpoise" / "spool" / name


class Spool:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock: int | None = None
        self._opening = threading.Lock()  # threads share the spool

    def save(self, tell: Tell) -> Path:
        """Durable when this returns; OSError if the disk fails."""
        self._open()
        file = self._folder / f"{tell.job}-{tell.lease}.json"
        _write(file, tell.model_dump_json(exclude_none=True))
        return file

    def remove(self, file: Path) -> None:
        file.unlink(missing_ok=True)

    def set_aside(
        self, file: Path | None, tell: Tell, status: int, detail: str
    ) -> Path:
        """Keep a result that the server never accepts, with the reason; returns the new
        file.
        """
        folder = self.root / REFUSED
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{tell.job}-{tell.lease}.json"
        refusal = {
            "status": status,
            "detail": detail,
            "tell": tell.model_dump(mode="json", exclude_none=True),
        }
        _write(target, json.dumps(refusal, indent=2))
        if file is not None:
            self.remove(file)
        return target

    def adopt(self) -> list[tuple[Path, Tell]]:
        """Take over the results of processes that have ended."""
        adopted: list[tuple[Path, Tell]] = []
        for folder in self._other_folders():
            with contextlib.suppress(
                OSError
            ):  # tried again later; the other folders need not wait for it
                adopted += self._adopt_folder(folder)
        return adopted

    def close(self) -> None:
        """Results that are left wait for the next worker."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            if {file.name for file in self._folder.iterdir()} == {LOCK}:
                (self._folder / LOCK).unlink()
                self._folder.rmdir()
        os.close(self._lock)
        self._lock = None

    def _open(self) -> None:
        with self._opening:
            if self._lock is not None:
                return
            # No other process adopts it before it is locked
            draft = self.root / f".{self._folder.name}"
            draft.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = _try_to_lock(draft)
            if lock is None:
                raise OSError(
                    f"{draft} cannot be locked; is it on a file system without locks?"
                )
            draft.rename(self._folder)
            _sync(self.root)
            self._lock = lock

    def _other_folders(self) -> list[Path]:
        try:
            folders = sorted(self.root.iterdir())
        except OSError:
            return []
        return [
            folder
            for folder in folders
            if FOLDER.fullmatch(folder.name) and folder != self._folder
        ]

    def _adopt_folder(self, folder: Path) -> Iterator[tuple[Path, Tell]]:
        lock = _try_to_lock(folder)
        if lock is None:  # its process lives
            return
        try:
            self._open()
            for file in sorted(folder.glob("*-*.json")):
                if file.is_symlink() or not file.is_file():
                    continue  # no result of a worker; a pipe would block
                try:
                    tell = Tell.model_validate_json(file.read_bytes())
                except (
                    ValidationError
                ):  # of another version, or not a result: kept for a person
                    (self.root / REFUSED).mkdir(exist_ok=True)
                    file.rename(self.root / REFUSED / file.name)
                    continue
                file.rename(self._folder / file.name)
                yield self._folder / file.name, tell
            _sync(self._folder)
            for rest in (*folder.glob("*.draft"), folder / LOCK):
                rest.unlink()
            folder.rmdir()
        finally:
            os.close(lock)


def _try_to_lock(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock until it is closed or the process ends;
    None if it is locked.
    """
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:  # adopted by another process just now
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _write(file: Path, text: str) -> None:
    draft = file.with_suffix(".draft")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
        _sync(file.parent)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """A rename survives a power cut once its folder is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
