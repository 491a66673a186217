"""Text for people: what the server and the command line both format."""

MINUTE, HOUR, DAY = 60, 3600, 86_400


def printable(text: str) -> str:
    """The text with what UTF-8 cannot encode replaced: JSON can hold half a surrogate
    pair, a response cannot.
    """
    return text.encode(errors="replace").decode()


def format_span(seconds: float) -> str:
    """A duration in the unit that suits it: "0.4 s", "90 s", "5 min", "2.5 h", "3.1
    days".
    """
    if seconds == 0:
        return "0 s"
    if seconds < 1:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < 2 * DAY:
        return f"{seconds / HOUR:.1f} h"
    return f"{seconds / DAY:.1f} days"
