"""A scenario's log as a file, and back: JSON, a line an event, in the order of recording.

The first line says what it is, with the settings and aliases; the last how many events there are,
with a hash of all before it, so that a file that was cut off is noticed. Minds are not in it: they
follow from the log. Reading it back gives an equal scenario.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .database import Call, Database, Row, Transaction
from .errors import ConflictError, InvalidInputError, StoreError, UnknownNameError
from .events import BACKWARDS, LAST_MILLISECOND, LoggedEvent
from .log import log_calls, log_of
from .names import (
    EPOCH,
    checked_text,
    counters_key,
    name_of,
    new_epoch,
    normal_name,
    shown,
    world_key,
)
from .progress import Progress, silent
from .reading import settings_of
from .rebuild import alias_calls, built, moves
from .recorder import Recorder
from .vocabulary import KINDS, read_aliases
from .world import SETTINGS, Aliases, Settings, World
from .writes import LINE

KIND, FORMAT = "so-mcp log", 1
_PAGE = 1_000  # events
_DEFAULTS = {
    field.name: None if field.default is MISSING else field.default for field in fields(LoggedEvent)
}


@dataclass(frozen=True, slots=True)
class LogFile:
    """What a file held."""

    scenario: str
    settings: Settings
    strict: bool
    aliases: Aliases
    events: list[LoggedEvent]


def export(database: Database, scenario: str, progress: Progress = silent) -> Iterator[str]:
    """The lines of a scenario's file, read a page at a time: its log as it is when this begins.

    Raises `UnknownNameError` where there is no such scenario, and `StoreError` if it was changed
    by anything but events meanwhile (a name, something forgotten): what was written then is no
    whole file, and is refused by `read`.
    """
    counters = ("HMGET", counters_key(scenario), "seq", EPOCH)
    newest, epoch = database.command(*counters)
    if newest is None:
        raise UnknownNameError(f"scenario: there is none called {shown(scenario)} in this store.")
    total, digest = int(newest), hashlib.sha256()
    lines = _lines(database, scenario, total, progress)
    for line in lines:
        digest.update(line.encode())
        yield line
    if database.command(*counters)[1] != epoch:
        raise StoreError(
            f"scenario {shown(scenario)}: something was renamed, forgotten or repaired while it "
            "was written out. Nothing is lost; export it again."
        )
    yield _json({"end": KIND, "events": total, "sha256": digest.hexdigest()})


def _lines(
    database: Database, scenario: str, total: int, progress: Progress
) -> Iterator[str]:
    key = world_key(scenario)
    [settings], aliases = database.read_all(
        [Call(key, "world/scenario", {}), Call(key, "world/aliases", {})]
    )
    yield _json({
        "is": KIND, "format": FORMAT, "scenario": name_of(scenario),
        **asdict(settings_of(settings)), "strict": settings["strict"],
        "aliases": [[row["kind"], row["alias"], row["name"]] for row in aliases],
    })
    for after in range(0, total, _PAGE):
        progress(after, total, "writing the log")
        upto = min(after + _PAGE, total)
        page = log_of(database.read_together(log_calls(scenario, after, upto)))
        if len(page) != upto - after:
            raise StoreError(
                f"scenario {shown(scenario)}: of the events {after + 1} to {upto} only {len(page)} "
                "are in its log. Run: so-mcp verify"
            )
        yield from map(_line, page)


def _line(event: LoggedEvent) -> str:
    return _json({
        name: value for name in LINE
        if (value := getattr(event, name)) != _DEFAULTS[name] or name in ("seq", "at", "kind")
    })


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def read(lines: Iterable[str]) -> LogFile:
    """What the lines of a file hold; raises `InvalidInputError` for the first that is wrong."""
    digest = hashlib.sha256()
    head: Row | None = None
    events: list[LoggedEvent] = []
    for number, line in enumerate(lines, 1):
        row = _row(line, number)
        if "end" in row:
            _check_end(row, len(events), digest.hexdigest(), number)
            break
        digest.update(line.encode())
        if head is None:
            head = _head(row)
        else:
            events.append(_event(line, number, len(events) + 1))
    else:
        raise InvalidInputError(
            f"the file ends after {len(events)} events without its last line: it was cut off, or is "
            "none that so-mcp export wrote. Nothing was written; export it again."
        )
    if head is None:
        raise _wrong(1, "expected the line that says what the file is", "the end")
    known = {event.seq for event in events}
    for event in events:
        if event.kind in BACKWARDS and (event.target not in known or event.target == event.seq):
            raise _wrong(event.seq + 1, "expected the number of another event", event.target, "target")
    aliases = read_aliases({"kind": k, "alias": a, "name": n} for k, a, n in head["aliases"])
    settings = Settings(**{name: head[name] for name in SETTINGS})
    return LogFile(head["scenario"], settings, head["strict"], aliases, events)


def import_log(
    database: Database, scenario: str, recorder: Recorder, file: LogFile,
    progress: Progress = silent,
) -> int:
    """Make the scenario what a file holds; how many events that is.

    Raises `ConflictError` where anything has happened in it. It is there whole or not at all.
    """
    _refuse_to_overwrite(recorder, scenario)
    with built(database, scenario, file.events, file.settings, progress=progress) as fork:

        def attempt(transaction: Transaction, world: World) -> None:
            if world.seq:
                transaction.unwatch()
                raise _in_the_way(scenario, world)
            calls = alias_calls(scenario, file.aliases)
            if file.strict:
                calls.append(Call(world_key(scenario), "world/strict", {"strict": True}))
            first = moves(database, scenario, fork, world)
            transaction.commit({EPOCH: new_epoch()}, calls, first=first)

        recorder.transact(attempt)
    return len(file.events)


def _refuse_to_overwrite(recorder: Recorder, scenario: str) -> None:
    def attempt(transaction: Transaction, world: World) -> None:
        transaction.unwatch()
        if world.seq:
            raise _in_the_way(scenario, world)

    recorder.transact(attempt)


def _in_the_way(scenario: str, world: World) -> ConflictError:
    return ConflictError(
        f"scenario {shown(scenario)} holds {world.seq} events, and a file is read only into one in "
        "which nothing has happened. Nothing was written; name another with --scenario."
    )


def _row(line: str, number: int) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(number, f"expected JSON ({error})", line) from None
    if not isinstance(row, dict):
        raise _wrong(number, "expected a JSON object", line)
    return row


def _head(row: Row) -> Row:
    kinds = {"scenario": str, "strict": bool, "aliases": list}
    if row.get("is") != KIND or row.get("format") != FORMAT:
        raise _wrong(1, f'expected "is": "{KIND}" and "format": {FORMAT}',
                     {name: row.get(name) for name in ("is", "format")})
    for name, kind in kinds.items():
        if type(row.get(name)) is not kind:
            raise _wrong(1, f"expected {kind.__name__}", row.get(name), name)
    normal_name(row["scenario"], "line 1: scenario")
    for name, allowed in SETTINGS.items():
        if row.get(name) not in allowed:
            raise _wrong(1, f"expected {' or '.join(allowed)}", row.get(name), name)
    for alias in row["aliases"]:
        fits = isinstance(alias, list) and len(alias) == 3 and alias[0] in KINDS
        if not fits or not all(isinstance(part, str) for part in alias):
            raise _wrong(1, 'expected ["agent", "another name", "name"]', alias, "aliases")
        normal_name(alias[1], "line 1: aliases")
    return row


_event_of = cache(lambda: TypeAdapter(LoggedEvent))  # it takes a moment to make
# What each kind cannot do without; a value may have been forgotten.
_NEEDED = {
    "enter": ("agents", "room"), "exit": ("agents",), "state": ("entity",), "say": ("actor",),
    "tell": ("actor", "entity"), "report": ("actor", "about", "entity"),
    "announce": ("actor", "entity"), "void": ("target",), "away": ("agents",), "back": ("agents",),
    "read": ("agents", "target"), "edit": ("actor", "target", "edits"),
    "retract": ("actor", "target"), "forward": ("actor", "target"),
}


def _event(line: str, number: int, seq: int) -> LoggedEvent:
    try:
        event = _event_of().validate_json(line, strict=True, extra="forbid")
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise _wrong(number, problem["msg"], problem["input"], place) from None
    _check(event, number, seq)
    for field in ("actor", "about", "entity", "located_in", "id"):
        _check_name(getattr(event, field), f"line {number}: {field}")
    _check_name(event.room, f"line {number}: room", group=True)
    for field in ("agents", "audience", "distracted", "hidden", "noticed"):
        for name in getattr(event, field):
            _check_name(name, f"line {number}: {field}", group=True)
    for field in ("value", "text"):
        if (text := getattr(event, field)) is not None:
            checked_text(text, f"line {number}: {field}")
    return event


def _check(event: LoggedEvent, number: int, seq: int) -> None:
    """What the fold takes for granted."""
    if event.seq != seq:
        raise _wrong(number, f"expected {seq}, the next number", event.seq, "seq")
    if not 0 <= event.at <= LAST_MILLISECOND:
        raise _wrong(number, "expected milliseconds since 1970", event.at, "at")
    if event.aim is not None:
        raise _wrong(number, "expected no such field", event.aim, "aim")
    for field in _NEEDED[event.kind]:
        if getattr(event, field) in (None, ()):
            raise _wrong(number, f"expected it in an event of kind {event.kind}", None, field)


def _check_name(name: str | None, what: str, *, group: bool = False) -> None:
    if name is not None and normal_name(name, what, group=group) != name:
        raise InvalidInputError(f"{what}: expected it in Unicode's form NFC, got {shown(name)}.")


def _check_end(row: Row, events: int, digest: str, number: int) -> None:
    if row.get("events") != events:
        raise _wrong(number, f"expected the number of events before it, {events}", row.get("events"),
                     "events")
    if row.get("sha256") != digest:
        raise _wrong(number, "expected the hash of what stands before it: the file was changed or "
                     "damaged since it was written", row.get("sha256"), "sha256")


def _wrong(number: int, expected: str, got: object, field: str | None = None) -> InvalidInputError:
    where = f"line {number}" if field is None else f"line {number}: {field}"
    return InvalidInputError(f"{where}: {expected}; got {got!r:.60}. Nothing was written.")
