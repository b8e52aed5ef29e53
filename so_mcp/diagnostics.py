"""What an operator can see of a process: ``SO_LOG``, one JSON object a line on standard error.

| level | what |
|---|---|
| ``error`` | what must not happen: a defect, of ours or of a library |
| ``warning`` (the default) | and a database that cannot be used |
| ``info`` | and the start, each tool call, each request over HTTP, the end and why |
| ``debug`` | and each round trip to the database, every other MCP request, arguments' names |

A line has ``time`` (UTC), ``level``, ``what``, and fields of its own; ``ms`` is milliseconds. Logs
outlive what they are about, and others read them: so no line holds a value, a name of an agent, a
room or an entity that a caller gave, a query's text, a password or a token. Of an unexpected
exception there is its class and where it was raised, not its words, which may quote any of these;
and of libraries warnings and errors alone, since their other lines hold whole messages.

A capture hook does none of this: it is silent.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .config import ServerAddress
from .errors import AccessError, NotGrantedError, SecondOrderError, StoreError

_log = logging.getLogger("so_mcp")
_FRAMES = 12  # of an exception, the innermost
_LONGEST = 500  # characters of a library's words
_OWN = "fields"
_ending = threading.Event()
_QUOTING = ("database", "transactions")  # modules whose errors may quote the database


def start(level: str) -> None:
    """Have everything that is logged, by whomever, written as lines of JSON from ``level`` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    quiet = level in ("warning", "error")
    logging.basicConfig(level=logging.ERROR if quiet else logging.WARNING, handlers=[handler], force=True)
    _log.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # standard error may be closed
    sys.excepthook = lambda _kind, error, _trace: crash(error)
    threading.excepthook = lambda args: crash(args.exc_value or args.exc_type())


def note(what: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Say that something happened."""
    if _log.isEnabledFor(level):
        _log.log(level, what, extra={_OWN: fields})


def ending() -> None:
    """What breaks off from now on is no news: the connection is being closed."""
    _ending.set()


def end(why: str, *, failed: bool = False) -> None:
    """Say that this process ends, and why."""
    note("end", level=logging.ERROR if failed else logging.INFO, why=why)


def crash(error: BaseException) -> None:
    """Say that something broke which must not: where, not in its words."""
    _log.error("crash", exc_info=error)


def debug(what: str, **fields: Any) -> None:
    """Say what only somebody wants to know who looks for something."""
    note(what, level=logging.DEBUG, **fields)


@contextmanager
def timed(what: str, *, level: int = logging.INFO, **fields: Any) -> Iterator[None]:
    """Say how long something took, and the class of the error that it ended in."""
    begun, failed = time.perf_counter(), {}
    try:
        yield
    except BaseException as error:
        failed = {"error": type(error).__name__}
        _unusable(error)
        raise
    finally:
        note(what, level=level, **fields, ms=milliseconds(begun), **failed)


def round_trip(commands: Iterable[tuple[str, ...]], begun: float) -> None:
    """Say what was sent to the database: which queries of the catalogue, how many, how long it took.

    ``begun``: `time.perf_counter` as it was sent.
    """
    if _log.isEnabledFor(logging.DEBUG):
        sent = [_named(command) for command in commands]
        debug("round trip", commands=len(sent), sent=list(dict.fromkeys(sent)), ms=milliseconds(begun))


def place_of(store: object) -> str:
    """A store's folder, or a server's host and port; never its login."""
    if isinstance(store, ServerAddress):
        return f"{store.host}:{store.port}"
    return str(getattr(store, "path", store))


def milliseconds(begun: float) -> float:
    """Since then, to a hundredth."""
    return round(1000 * (time.perf_counter() - begun), 2)


def _named(command: tuple[str, ...]) -> str:
    """The name of a query in the catalogue, or of a plain command; nothing that it is given."""
    if command[0] in ("GRAPH.QUERY", "GRAPH.RO_QUERY"):
        from .cypher import catalogue  # noqa: PLC0415 - whoever sends a query has it

        # Its parameters come before it, and may hold anything.
        for name, query in catalogue().items():
            if command[2].endswith(query.text):
                return name
    return command[0]


def _unusable(error: BaseException) -> None:
    """A database that cannot be used is its operator's business, in the error's own words.

    Not in those of the database itself, which may quote what was recorded.
    """
    if _ending.is_set() or not isinstance(error, AccessError | NotGrantedError | StoreError):
        return
    last = traceback.extract_tb(error.__traceback__)[-1:]
    quotes = type(error) is StoreError and any(Path(f.filename).stem in _QUOTING for f in last)
    why = "so-mcp doctor may say" if quotes else str(error)
    note("database", level=logging.WARNING, error=type(error).__name__, why=why)


class _Lines(logging.Formatter):
    """A record of any logger as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Text for one line, whatever the record holds."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": moment, "level": record.levelname.lower()}
        if record.name == _log.name:
            line |= {"what": record.getMessage(), **getattr(record, _OWN, {})}
        else:
            line |= {"what": "library", "logger": record.name, "said": _said(record)}
        if record.exc_info and record.exc_info[1] is not None:
            line |= _without_words(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, default=str)


def _without_words(error: BaseException) -> dict[str, Any]:
    """An exception's class and where it was raised; what we raise on purpose says why itself."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    found: dict[str, Any] = {
        "error": type(error).__name__,
        "raised": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if isinstance(error, BaseExceptionGroup):
        found["errors"] = [_without_words(inner) for inner in error.exceptions[:_FRAMES]]
    elif error.__cause__ is not None and not isinstance(error, SecondOrderError):
        found["because"] = _without_words(error.__cause__)
    return found


def _said(record: logging.LogRecord) -> str:
    """A library's words without what they are about: that may be anything that was said."""
    warned = record.name == "py.warnings"  # all of it is what that is about
    return str(record.getMessage() if warned else record.msg).partition("\n")[0][:_LONGEST]
