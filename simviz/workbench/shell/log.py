"""The log of a server: one line an event, as text or as JSON."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PLAIN = re.compile(r"[A-Za-z0-9_.:/+-]+")
#: Innermost places of an error that are written.
_PLACES = 6


class LineFormatter(logging.Formatter):
    """What happened, with its details, in one line of ASCII."""

    # Details are the one argument of a record, a mapping. Of an error its kind and places are
    # written and never its message, which may quote what a visitor uploaded; for the same reason
    # other loggers than those of simviz are left alone.

    def __init__(self, *, is_json: bool = False) -> None:
        super().__init__()
        self.is_json = is_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = record.getMessage()
        details: dict[str, Any] = dict(record.args) if isinstance(record.args, Mapping) else {}
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])[-_PLACES:]
            details["error"] = record.exc_info[0].__name__
            details["at"] = " ".join(f"{Path(f.filename).name}:{f.lineno}" for f in frames)
        if self.is_json:
            line = {"time": at, "level": record.levelname.lower(), "event": text, **details}
            return json.dumps(line, default=str)
        pairs = " ".join(f"{name}={_value(value)}" for name, value in details.items())
        plain = text.encode("unicode_escape").decode()
        return f"{at} {record.levelname.lower()} {plain} {pairs}".rstrip()


def _value(value: object) -> str:
    word = f"{value:.6g}" if isinstance(value, float) else str(value)
    return word if _PLAIN.fullmatch(word) else json.dumps(word)


class _Stderr(logging.Handler):
    """Writes to what standard error is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def start(*, is_json: bool) -> None:
    """Write what the loggers of simviz say to standard error from now on."""
    logger = logging.getLogger("simviz")
    logger.handlers = [one for one in logger.handlers if not isinstance(one, _Stderr)]
    handler = _Stderr()
    handler.setFormatter(LineFormatter(is_json=is_json))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
