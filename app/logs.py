"""Structured logs: JSON lines for programs, coloured lines on a terminal. Uvicorn logs
in the same format.
"""

import logging
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog

from app.settings import Settings

# Local variables hold tokens and designs: they must not be logged.
_EXCEPTIONS_AS_JSON = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def configure_logs(settings: Settings) -> None:
    level = settings.log_level.upper()
    add_context: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render = _renderers(settings)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=add_context,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *render,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.getLogger("alembic").setLevel("WARNING")
    # Our own lines, one for every request, bypass the standard library's log records,
    # which are slower.
    structlog.configure(
        processors=[*add_context, *render],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level]
        ),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=False,
    )


def first_line(error: Exception) -> str:
    """A one-line description for a log; the error's type if it has no message."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _renderers(settings: Settings) -> list[Any]:
    is_pretty = settings.log_format == "pretty" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )
    if is_pretty:
        return [
            structlog.dev.ConsoleRenderer(
                exception_formatter=structlog.dev.plain_traceback
            )
        ]
    return [
        structlog.processors.ExceptionRenderer(_EXCEPTIONS_AS_JSON),
        structlog.processors.JSONRenderer(),
    ]


class _StandardError:
    """Ignores write errors: a full disk or a closed pipe must not stop a planner or a
    server.
    """

    def write(self, line: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(line)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
