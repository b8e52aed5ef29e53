"""Events of the log as answers name them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    ``of`` that one itself, but for void; of an edit ``edits`` is the kind of what was first said.
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
    target, edits, receipt, *lists = row.get("more") or [None] * 7
    audience, distracted, hidden, noticed = (tuple(names or ()) for names in lists)
    return SeenEvent(
        row["seq"], row["at"], row["kind"], row.get("actor"), row["room"], row.get("entity"),
        row.get("value"), row.get("text"), row.get("about"), tuple(row["witnesses"]),
        tuple(row["agents"]), row.get("everyone", False), target, edits, bool(receipt), audience,
        distracted, hidden, noticed,
    )


def with_targets(
    database: Database, scenario: str, events: Sequence[SeenEvent]
) -> list[SeenEvent]:
    """The events, those about an earlier one with that one: a round trip more where there are any."""
    wanted = targets_of(events)
    if not wanted:
        return list(events)
    rows = database.read(world_key(scenario), "world/seen", seqs=wanted)
    targets = {row["seq"]: seen_event(row) for row in rows}
    return [
        replace(event, of=targets.get(event.target or 0)) if event.kind in _ABOUT_ANOTHER else event
        for event in events
    ]


def targets_of(events: Iterable[SeenEvent]) -> list[int]:
    """The numbers of the earlier events that some are about."""
    return sorted({e.target for e in events if e.kind in _ABOUT_ANOTHER and e.target is not None})
