"""The cursor of a timeline: where the next page begins, and which attempts hold slots
there, so that slots are the same on all pages.
"""

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from itertools import chain

from app.errors import CursorInvalid

LARGEST_DECODED = 1_000_000
LARGEST_NUMBER = 2**62


@dataclass(frozen=True, slots=True)
class TimelineCursor:
    time: float
    after: int  # the last attempt of the page before
    # Attempts that hold slots, with the number of the slot
    held: tuple[tuple[int, int], ...]


def encode(cursor: TimelineCursor) -> str:
    document = json.dumps(
        [cursor.time, cursor.after, *chain.from_iterable(cursor.held)]
    )
    packed = zlib.compress(document.encode())
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str) -> TimelineCursor:
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        document = zlib.decompressobj().decompress(packed, LARGEST_DECODED)
        time, after, *flat = json.loads(document)
        held = tuple(zip(flat[::2], flat[1::2], strict=True))
        numbers = [after, *flat]
        is_valid = isinstance(time, float) and all(_is_number(each) for each in numbers)
    except (ValueError, TypeError, binascii.Error, zlib.error, RecursionError):
        is_valid = False
    if not is_valid:
        raise CursorInvalid(
            "this is not a cursor of a timeline; use `next` of the previous page, or no cursor"
        )
    return TimelineCursor(time, after, held)


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < LARGEST_NUMBER
