"""The log of a worker: lines for people, or one JSON object per line."""

import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

from counterpoise.wire.text import visible


@dataclass(frozen=True, slots=True)
class WorkerLog:
    as_json: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        line = (
            _json_line(level, event, fields)
            if self.as_json
            else _text_line(level, event, fields)
        )
        with suppress(
            OSError, ValueError
        ):  # a full disk or a closed terminal must not stop the worker
            # In one call, because threads share the stream
            self.stream.write(line + "\n")
            self.stream.flush()


def _json_line(level: str, event: str, fields: dict[str, Any]) -> str:
    return json.dumps(
        {
            "event": event,
            **fields,
            "level": level,
            "timestamp": datetime.now(UTC).isoformat(),
        }
    )


def _text_line(level: str, event: str, fields: dict[str, Any]) -> str:
    mark = "! " if level == "warning" else ""
    line = f"{datetime.now():%H:%M:%S} {mark}{event}"
    if fields:
        pairs = [f"{name}={_format(value)}" for name, value in fields.items()]
        line += f"  {' '.join(pairs)}"
    return visible(line)


def _format(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
