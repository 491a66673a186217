"""The faults of a file: the first ones with their places, the others only counted, so
that a file with millions of them needs no more memory than its own text.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from counterpoise.wire.contradictions import MOST_FAULTS
from counterpoise.wire.problems import Fault
from counterpoise.wire.text import printable

# Some take long to make, and are not made for faults that are only counted.
Text = str | Callable[[], str]


@dataclass(slots=True)
class FaultList:
    listed: list[Fault] = field(default_factory=list)
    count: int = 0

    @property
    def is_full(self) -> bool:
        """Whether further faults are only counted."""
        return len(self.listed) >= MOST_FAULTS

    def add(
        self,
        row: int | None,
        pointer: Text,
        detail: Text,
        related_row: int | None = None,
    ) -> None:
        self.count += 1
        if self.is_full:
            return
        fault = Fault(
            pointer=printable(_text(pointer)),
            detail=printable(_text(detail)),
            row=row,
            related_row=related_row,
        )
        self.listed.append(fault)

    def __add__(self, other: "FaultList") -> "FaultList":
        """The faults of both, in the order of the file."""
        ordered = sorted(
            [*self.listed, *other.listed], key=lambda fault: fault.row or 0
        )
        return FaultList(ordered[:MOST_FAULTS], self.count + other.count)


def _text(text: Text) -> str:
    return text if isinstance(text, str) else text()
