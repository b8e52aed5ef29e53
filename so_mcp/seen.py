"""Events of the log as answers name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .database import Database, Row
from .names import world_key

_ABOUT_ANOTHER = ("read", "edit", "retract", "forward")


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event of the log, as answers name it.

    ``number`` is its place in the order of recording, ``at`` in milliseconds since 1970;
    ``agents`` are those who moved or read; ``witnesses`` those who truly took it in. Of one about
    an earlier event (read, edit, retract, forward, void) ``target`` is that one's number and
    ``of`` that one itself, but for void; of a reading the version that was found, which is another
    where it had been edited. Of an edit ``edits`` is the kind of what was first said.
    """

    number: int
    at: int
    kind: str
    actor: str | None
    room: str | None
    entity: str | None
    value: str | None
    text: str | None
    about: str | None
    witnesses: tuple[str, ...]
    agents: tuple[str, ...] = ()
    everyone: bool = False
    target: int | None = None
    edits: str | None = None
    receipt: bool = False
    audience: tuple[str, ...] = ()
    distracted: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    of: SeenEvent | None = None

    @property
    def order(self) -> tuple[int, int]:
        """(at, number): the order of events."""
        return self.at, self.number

    @property
    def speaks_as(self) -> str:
        """Its kind, or that of what it edits."""
        return self.edits or self.kind


def seen_event(row: Row) -> SeenEvent:
    """A row of a query on the world that returns events with their witnesses."""
    about, target, edits, receipt, *lists = row.get("more") or [None] * 8
    audience, distracted, hidden, noticed = (tuple(names or ()) for names in lists)
    return SeenEvent(
        row["seq"], row["at"], row["kind"], row.get("actor"), row["room"], row.get("entity"),
        row.get("value"), row.get("text"), about, tuple(row["witnesses"]),
        tuple(row["agents"]), row.get("everyone", False), target, edits, bool(receipt), audience,
        distracted, hidden, noticed,
    )


def with_targets(
    database: Database, scenario: str, events: Sequence[SeenEvent]
) -> list[SeenEvent]:
    """The events, those about an earlier one with that one: a round trip more where there are any."""
    about = [event for event in events if event.kind in _ABOUT_ANOTHER]
    if not about:
        return list(events)
    wanted = sorted({event.target for event in about if event.target is not None})
    rows = database.read(world_key(scenario), "world/seen", seqs=wanted)
    seen = {event.number: event for event in map(seen_event, rows)}
    return [
        replace(event, of=_target(event, seen)) if event.kind in _ABOUT_ANOTHER else event
        for event in events
    ]


def _target(event: SeenEvent, seen: dict[int, SeenEvent]) -> SeenEvent | None:
    """The event that one is about; of a reading its newest edit by then."""
    target = seen.get(event.target or 0)
    if event.kind != "read" or target is None:
        return target
    first = _first(target, seen)
    edits = [
        edit for edit in seen.values()
        if edit.kind == "edit" and edit.order < event.order and _first(edit, seen) == first
    ]
    return max(edits, key=lambda edit: edit.order, default=target)


def _first(event: SeenEvent, seen: dict[int, SeenEvent]) -> int:
    """The number of what an edit edits in the end; of any other event its own."""
    while event.kind == "edit" and event.target in seen:
        event = seen[event.target]
    return event.target or 0 if event.kind == "edit" else event.number
