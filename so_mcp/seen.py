"""Events of the log as answers name them."""

from __future__ import annotations

from dataclasses import dataclass

from .database import Row


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event of the log, as answers name it.

    ``number`` is its place in the order of recording, ``at`` in milliseconds since 1970;
    ``agents`` are those who moved.
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
    target: int | None = None  # void: the number of the event that never happened


def seen_event(row: Row) -> SeenEvent:
    """A row of a query on the world that returns events with their witnesses."""
    return SeenEvent(
        row["seq"], row["at"], row["kind"], row.get("actor"), row["room"], row.get("entity"),
        row.get("value"), row.get("text"), row.get("about"), tuple(row["witnesses"]),
        tuple(row["agents"]), row.get("everyone", False), row.get("target"),
    )
