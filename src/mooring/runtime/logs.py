"""How this process logs: a constant sentence with fields, coloured for people and JSON for machines, on stderr."""

from __future__ import annotations

import logging
import sys

import structlog


def log_to_stderr(*, as_json: bool | None = None, level: int = logging.INFO) -> None:
    """Set logging up; without a wish, a terminal gets text and everything else JSON."""
    if as_json is None:
        as_json = not sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    shape: structlog.typing.Processor = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    if as_json:
        shape = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, shape],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
