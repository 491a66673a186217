"""What a worker says while it works: lines for people, or one JSON object a line."""

import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO


@dataclass(frozen=True, slots=True)
class Log:
    as_json: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def info(self, event: str, **fields: Any) -> None:
        self._say("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._say("warning", event, fields)

    def _say(self, level: str, event: str, fields: dict[str, Any]) -> None:
        now = datetime.now(UTC)
        if self.as_json:
            line = json.dumps({"event": event, **fields, "level": level, "timestamp": now.isoformat()})
        else:
            words = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
            line = (
                f"{now.astimezone():%H:%M:%S} {'! ' if level == 'warning' else ''}{event}{'  ' if words else ''}{words}"
            )
        with suppress(OSError, ValueError):  # a full disk or a closed terminal must not stop the work
            self.stream.write(line + "\n")  # at once, as threads share it
            self.stream.flush()


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
