"""The message of a failure: what went wrong, then parts such as the ends of logs."""

PART = "\n--- "  # how a part begins


def part(title: str, text: str = "") -> str:
    """To be appended to a message."""
    return f"{PART}{title} ---" + (f"\n{text}" if text else "")


def summary(message: str) -> str:
    """The last line of what went wrong, before the parts that are appended to it."""
    wrong = message.partition(PART)[0].strip()
    lines = (wrong or message.strip()).splitlines()
    return lines[-1].strip() if lines else ""
