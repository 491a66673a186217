"""Imports of known evaluations: a large file is sent in several requests, and all of
them are checked first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from counterpoise.client.connection import Connection
from counterpoise.client.evaluation_file import Part, split
from counterpoise.errors import Refused, RequestFailed
from counterpoise.wire.contradictions import MOST_FAULTS
from counterpoise.wire.problems import Fault, list_faults
from counterpoise.wire.views import Imported

# of a request: its transaction must be short, because other requests wait for it
MOST_BYTES = 262_144
FEWEST_BYTES = 1000
COUNTS = [name for name in Imported.model_fields if name != "dry_run"]
Progress = Callable[[int, int], object]  # requests that are done, and their total


def upload_evaluations(
    connection: Connection,
    path: str,
    variables: Sequence[str],
    content: bytes,
    *,
    evaluate: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    size = MOST_BYTES
    while True:
        upload = _Upload(
            connection, path, split(content, variables, size), evaluate, progress
        )
        try:
            if not dry_run and len(upload.parts) > 1:
                # Raises for every fault before anything is written
                upload.send(dry_run=True)
            return _total(upload.send(dry_run=dry_run), dry_run)
        except RequestFailed as error:
            if error.status != 413 or size < FEWEST_BYTES:
                raise
            size //= 4  # the size limit of the server is not known here


@dataclass(frozen=True, slots=True)
class _Upload:
    connection: Connection
    path: str
    parts: Sequence[Part]
    evaluate: bool
    progress: Progress | None

    def send(self, *, dry_run: bool) -> list[Imported]:
        """Send every part; raises Refused, with the faults of all parts, if one of them
        has faults.
        """
        imported: list[Imported] = []
        refused = _RefusedParts()
        for number, part in enumerate(self.parts, 1):
            try:
                imported.append(self._send_part(part, dry_run))
            except Refused as error:
                if not error.faults:
                    raise
                refused.add(part, error)
                if not dry_run:
                    break
            if self.progress is not None:
                self.progress(number, len(self.parts))
        if refused.first is not None:
            raise refused.in_file(refused.first)
        return imported

    def _send_part(self, part: Part, dry_run: bool) -> Imported:
        params = {
            "evaluate": str(self.evaluate).lower(),
            "dry_run": str(dry_run).lower(),
        }
        response = self.connection.request(
            "POST",
            self.path,
            part.content,
            params,
            idempotent=True,
            media_type=part.media_type,
        )
        try:
            return Imported.model_validate_json(response.content)
        except ValidationError:
            raise self.connection.unexpected(
                "the response to an import is not what this version expects"
            ) from None


@dataclass(slots=True)
class _RefusedParts:
    """The faults of all parts: the first ones in the order of the file, and how many
    there are.
    """

    first: Refused | None = None
    faults: list[Fault] = field(default_factory=list)
    count: int = 0

    def add(self, part: Part, refusal: Refused) -> None:
        self.first = self.first or refusal
        faults = [*self.faults, *map(part.in_file, refusal.faults)]
        # Every part has the same header, and the same faults of it
        different = {(fault.pointer, fault.detail): fault for fault in faults}
        known = refusal.problem.error_count if refusal.problem else None
        count_of_part = len(refusal.faults) if known is None else known
        self.count += count_of_part - (len(faults) - len(different))
        ordered = sorted(different.values(), key=lambda fault: fault.row or 0)
        self.faults = ordered[:MOST_FAULTS]

    def in_file(self, refusal: Refused) -> Refused:
        """A refusal with the faults of all parts."""
        count = "1 fault" if self.count == 1 else f"{self.count} faults"
        detail = f"{count}; nothing was imported{list_faults(self.faults, self.count)}"
        changes = {"errors": self.faults, "error_count": self.count}
        problem = refusal.problem and refusal.problem.model_copy(update=changes)
        return Refused(detail, refusal.status, problem)


def _total(parts: Sequence[Imported], dry_run: bool) -> Imported:
    sums = dict.fromkeys(COUNTS, 0)
    for part in parts:
        for name in COUNTS:
            sums[name] += getattr(part, name)
    return Imported(**sums, dry_run=dry_run)
