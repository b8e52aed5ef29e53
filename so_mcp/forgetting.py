"""Forgetting: what was said, an entity or an agent is erased from a scenario (specification, `forget`).

The log is changed, which nothing else does: an event whose content is forgotten stays as one
without a value, so that what everyone holds of it is *unknown* and nothing older revives; a name
becomes an opaque one. The scenario is made anew from that log, its forks go, and so does what the
database keeps of old queries. Files that were written before (exports, backups) are their owner's.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from .database import Database
from .errors import StoreError, UnknownNameError
from .events import LoggedEvent
from .forks import keys_of_forks
from .log import log_calls, log_of
from .names import name_of, shown, world_key
from .progress import Progress, silent
from .rebuild import Log, Remade, Remaking
from .vocabulary import renamed
from .world import Aliases, World

What = Literal["agent", "entity", "event"]
_COMPACTING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a forgotten name still stands: in a field that was not to be forgotten with it."""

    event: int
    field: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was erased. ``stands_for``: the opaque name that an agent or an entity has now.

    ``events``: how many lines of the log hold less than before. ``mentions``: where the name still
    stands, in words or in other names. ``compacted``: whether the database's file on disk was
    written anew without it; where not, it is gone when the database next does so by itself.
    """

    what: What
    stands_for: str | None
    events: int
    mentions: tuple[Mention, ...]
    compacted: bool


def forget(
    database: Database,
    scenario: str,
    remaking: Remaking,
    what: What,
    name: str | int,
    progress: Progress = silent,
) -> Forgotten:
    """Erase an agent's name, all about an entity, or what one event said (its number or id).

    Raises `UnknownNameError` where there is none.
    """
    opaque = f"forgotten-{secrets.token_hex(4)}"
    changed: dict[int, LoggedEvent] = {}
    names: list[str] = []

    def prepare(world: World) -> Remade:
        names[:] = [] if what == "event" else _names(world, what, str(name))

        def log(events: Log) -> list[LoggedEvent]:
            new = _without(events, what, names[0] if names else name, opaque, names)
            pairs = zip(events, new, strict=True)
            changed.update({after.seq: after for before, after in pairs if before != after})
            return new

        def aliases(known: Aliases) -> Aliases:
            return {
                (kind, alias): of for (kind, alias), of in known.items()
                if kind != what or of not in (*names, opaque)
            }

        return Remade(log, aliases)

    graphs = _graphs(database, scenario)
    remaking.remake(prepare, progress)
    graphs += _graphs(database, scenario)
    # A server may keep what was asked of each graph in a stream beside it.
    keys = [*keys_of_forks(database, scenario), *(f"telemetry{{{graph}}}" for graph in graphs)]
    database.delete(keys)
    log = log_of(database.read_together(log_calls(scenario)))
    mentions = tuple(_mentions(log, names))
    return Forgotten(
        what, opaque if names else None, len(changed), mentions, _compacted(database)
    )


def _graphs(database: Database, scenario: str) -> list[str]:
    own = world_key(name_of(scenario)).removesuffix("world")
    return database.graphs(own)


def _names(world: World, what: What, name: str) -> list[str]:
    """What an agent or an entity is called, and its other names."""
    kind: Literal["agent", "entity"] = "agent" if what == "agent" else "entity"
    meant = world.aliases.get((kind, name), name)
    if meant not in world.names(kind):
        raise UnknownNameError(f"forget: no {kind} is called {shown(name)}. Nothing was changed.")
    others = [alias for (its, alias), of in world.aliases.items() if (its, of) == (kind, meant)]
    return [meant, *others]


def _without(
    events: Log, what: What, name: str | int, opaque: str, names: Iterable[str]
) -> list[LoggedEvent]:
    if what == "event":
        return _without_event(events, _number(events, name), opaque)
    if what == "entity":
        emptied = [replace(e, value=None, text=None) if e.entity == name else e for e in events]
        return renamed(emptied, "entity", str(name), opaque)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in names), re.IGNORECASE)

    def nameless(text: str | None) -> str | None:
        return None if text is None else pattern.sub(opaque, text)

    return [
        replace(e, value=nameless(e.value), text=nameless(e.text))
        for e in renamed(events, "agent", str(name), opaque)
    ]


def _without_event(events: Log, target: int, opaque: str) -> list[LoggedEvent]:
    """Without what an event said, and where that was said again: passed on, or kept by an edit."""
    found: list[LoggedEvent] = []
    emptied = {target}
    said = next(event.value for event in events if event.seq == target)
    for event in sorted(events, key=lambda event: event.seq):
        if event.seq == target:
            found.append(_tombstone(event, opaque))
            continue
        copies = event.kind == "forward" or (event.kind == "edit" and event.value == said)
        if copies and event.target in emptied:
            emptied.add(event.seq)
            found.append(replace(event, value=None))
        else:
            found.append(event)
    return found


def _tombstone(event: LoggedEvent, opaque: str) -> LoggedEvent:
    """An event that no longer says what; what it placed somewhere lies nobody knows where."""
    located = None if event.located_in is None else opaque
    return replace(event, value=None, text=None, located_in=located)


def _number(events: Log, name: str | int) -> int:
    for event in events:
        if name in (event.seq, event.id) and not isinstance(name, bool):
            return event.seq
    raise UnknownNameError(
        f"forget: no event has the {'number' if isinstance(name, int) else 'id'} {name!r:.80}. "
        "Nothing was changed. The timeline names them."
    )


def _mentions(log: Log, names: Iterable[str]) -> Iterator[Mention]:
    wanted = [name.casefold() for name in names]
    for event in log:
        for field in ("room", "entity", "located_in", "value", "text", "id", "actor", "about"):
            held = getattr(event, field)
            if held is not None and any(name in held.casefold() for name in wanted):
                yield Mention(event.seq, field)


def _compacted(database: Database) -> bool:
    """Write the append-only file anew, without what was deleted, and wait for it."""
    try:
        database.everywhere(("SLOWLOG", "RESET"), ("BGREWRITEAOF",))
        deadline = time.monotonic() + _COMPACTING_SECONDS
        while time.monotonic() < deadline:
            told = database.everywhere(("INFO", "persistence")).values()
            states = [
                dict(line.split(":", 1) for line in str(info).splitlines() if ":" in line)
                for info in told
            ]
            if all(state["aof_rewrite_in_progress"] == state["aof_rewrite_scheduled"] == "0"
                   for state in states):
                return all(
                    state["aof_enabled"] == "1" and state["aof_last_bgrewrite_status"] == "ok"
                    for state in states
                )
            time.sleep(0.02)
    except (StoreError, KeyError):  # a server may refuse it, or keep no such file
        return False
    return False
