"""Which process of a worker this is.

A file below the spool, locked while the process lives, holds a number that it drew when
it started. A process that gets the lock of a name knows that the one before has ended,
and which one it was: the server gives that one's jobs to others at once, instead of
waiting for its leases to expire.
"""

import contextlib
import fcntl
import hashlib
import os
import uuid
from pathlib import Path

FOLDER = "names"


class ProcessIdentity:
    """`instance`: of this process. `previous`: of the process that had the name before
    and did not end in good order; `is_shared`: another process with this name lives.
    """

    def __init__(self, spool: Path, name: str) -> None:
        self.instance = uuid.uuid4().hex
        self.previous: str | None = None
        self.is_shared = False
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        self._file = spool / FOLDER / digest
        self._descriptor: int | None = None
        # Without a disk a worker works all the same: its old leases expire.
        with contextlib.suppress(OSError):
            self._open()

    def close(self) -> None:
        """The process has said goodbye: there is nothing to give up."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.is_shared = True
            os.close(descriptor)
            return
        self.previous = os.read(descriptor, 64).decode("ascii", "replace") or None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, self.instance.encode(), 0)
        os.fsync(descriptor)
        self._descriptor = descriptor
