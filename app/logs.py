"""Structured logs: JSON lines for machines, coloured lines on a terminal; uvicorn's own go the same way."""

import logging
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog

from app.settings import Settings

# Local variables hold tokens and designs; they have no place in a log.
_WITHOUT_LOCALS = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def configure_logs(settings: Settings) -> None:
    pretty = settings.log_format == "pretty" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[Any] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if pretty
        else [structlog.processors.ExceptionRenderer(_WITHOUT_LOCALS), structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    logging.getLogger("alembic").setLevel("WARNING")  # "Will assume transactional DDL" helps nobody
    # Our own lines, one for every request, take the short way: none through the standard library's records.
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[settings.log_level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Forgiving())),
        cache_logger_on_first_use=False,
    )


class _Forgiving:
    """Standard error. A full disk or a reader that left must not end what is logged: a planner, the desk of asks."""

    def write(self, line: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(line)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
