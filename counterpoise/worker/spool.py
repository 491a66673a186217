"""Results on disk before they are told: neither a server that is away nor a killed worker loses one.

Each process keeps a folder of its own below the spool and holds its lock while it lives. A folder whose lock is free
was left behind: whoever comes next adopts what is in it.
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
FOLDER = re.compile(r"\d+-[0-9a-f]{8}")  # of a process; other folders are somebody else's, and left alone


def default_spool(url: str) -> Path:
    """One per user and server."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    host = re.sub(r"[^A-Za-z0-9.-]", "_", urlsplit(url).netloc.rpartition("@")[2])
    name = f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    return Path(state).expanduser() / "counterpoise" / "spool" / name


class Spool:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._own = root / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock: int | None = None
        self._opening = threading.Lock()  # slots share the spool

    def keep(self, said: Tell) -> Path:
        """Durable when this returns; OSError if the disk cannot."""
        self._open()
        file = self._own / f"{said.job}-{said.lease}.json"
        _write(file, said.model_dump_json(exclude_none=True))
        return file

    def forget(self, file: Path) -> None:
        file.unlink(missing_ok=True)

    def refuse(self, file: Path | None, said: Tell, status: int, detail: str) -> Path:
        """Set aside, with the server's reason, what it will never take."""
        folder = self.root / REFUSED
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{said.job}-{said.lease}.json"
        told = said.model_dump(mode="json", exclude_none=True)
        _write(target, json.dumps({"status": status, "detail": detail, "tell": told}, indent=2))
        if file is not None:
            self.forget(file)
        return target

    def adopt(self) -> list[tuple[Path, Tell]]:
        """What processes that are gone have left behind; it is this one's from now on."""
        found: list[tuple[Path, Tell]] = []
        for folder in self._others():
            with contextlib.suppress(OSError):  # looked at again later; the others need not wait for it
                found += self._adopt_folder(folder)
        return found

    def close(self) -> None:
        """What is still in it waits for the next worker."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            if {file.name for file in self._own.iterdir()} == {LOCK}:
                (self._own / LOCK).unlink()
                self._own.rmdir()
        os.close(self._lock)
        self._lock = None

    def _open(self) -> None:
        with self._opening:
            if self._lock is not None:
                return
            draft = self.root / f".{self._own.name}"  # nobody adopts it before it is locked
            draft.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = _locked(draft)
            if lock is None:
                raise OSError(f"{draft} cannot be locked; is it on a file system without locks?")
            draft.rename(self._own)
            _sync(self.root)
            self._lock = lock

    def _others(self) -> list[Path]:
        try:
            return sorted(each for each in self.root.iterdir() if FOLDER.fullmatch(each.name) and each != self._own)
        except OSError:
            return []

    def _adopt_folder(self, folder: Path) -> Iterator[tuple[Path, Tell]]:
        lock = _locked(folder)
        if lock is None:  # its owner lives
            return
        try:
            self._open()
            for file in sorted(folder.glob("*-*.json")):
                try:
                    said = Tell.model_validate_json(file.read_bytes())
                except ValidationError:  # not ours, or of another version: for a person to look at
                    (self.root / REFUSED).mkdir(exist_ok=True)
                    file.rename(self.root / REFUSED / file.name)
                    continue
                file.rename(self._own / file.name)
                yield self._own / file.name, said
            _sync(self._own)
            for rest in (*folder.glob("*.draft"), folder / LOCK):
                rest.unlink()
            folder.rmdir()
        finally:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """The folder's lock, held until it is closed, which the end of a process does too; None if somebody has it."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:  # adopted in this moment
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
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
