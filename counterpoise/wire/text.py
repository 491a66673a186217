"""Text for people: what the server and the command line both format."""

import re

MINUTE, HOUR, DAY = 60, 3600, 86_400
# Terminals act on control characters (C0, C1), and display text in another order after
# bidirectional overrides. In a regular expression of JSON Schema, too.
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]P^_X][^\x07\x1b]*(\x07|\x1b\\)"  # titles, clipboard
)
_CONTROL_EXCEPT_LINES = re.compile(rf"(?![\n\t])[{CONTROL}]")


def printable(text: str) -> str:
    """The text with what UTF-8 cannot encode replaced: JSON can hold half a surrogate
    pair, a response cannot.
    """
    return text.encode(errors="replace").decode()


def visible(text: str) -> str:
    """Text of another machine for a terminal or a table: without escape sequences, and
    with other control characters replaced. Lines and tabs stay.
    """
    lines = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    return _CONTROL_EXCEPT_LINES.sub("\ufffd", lines)


def visible_json(text: str) -> str:
    """JSON for a terminal, with the same content: control characters are escaped."""
    return _CONTROL_EXCEPT_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def format_span(seconds: float) -> str:
    """A duration in the unit that suits it: "0.02 ms", "0.4 s", "90 s", "5 min",
    "2.5 h", "3.1 days".
    """
    if seconds == 0:
        return "0 s"
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 1:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < 2 * DAY:
        return f"{seconds / HOUR:.1f} h"
    return f"{seconds / DAY:.1f} days"


def short_time(time: str) -> str:
    """An ISO time without fractions of a second."""
    return time.partition(".")[0].removesuffix("Z").replace("T", " ") + "Z"
