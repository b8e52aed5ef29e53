"""Sentences: how answers read to a person, or to a model with a small context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .minds import Held
    from .questions import SeenEvent


def clock(at: int) -> str:
    """Milliseconds since 1970 as ISO 8601 text in UTC."""
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z").replace(".000Z", "Z")


def listed(names: Sequence[str]) -> str:
    """``A, B and C``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "nobody"


def quoted(value: str | None) -> str:
    """A value in quotes, or the word unknown."""
    return "unknown" if value is None else f"'{value}'"


def thinks(chain: Sequence[str]) -> str:
    """``Billing thinks Maya`` for the chain Billing, Maya."""
    return " thinks ".join(chain)


def belief(chain: Sequence[str], entity: str, value: str | None) -> str:
    """What a chain believes, without why."""
    if value is None:
        return f"{thinks(chain)} does not know {entity}"
    return f"{thinks(chain)} believes {entity} is {quoted(value)}"


def happened(event: SeenEvent) -> str:
    """One event as a clause: who did what, where."""
    where = f" in {event.room}" if event.room is not None else ""
    who = event.actor or "Somebody unnamed"
    value = quoted(event.value)
    match event.kind:
        case "enter":
            return f"it lay in plain sight on entering {event.room}"
        case "state" if event.value is None:
            return f"{who} made {event.entity} unknown{where}"
        case "state":
            return f"{who} set {event.entity} to {value}{where}"
        case "announce":
            return f"{who} announced {event.entity} to be {value}"
        case "tell" | "report":
            hearers = listed([name for name in event.witnesses if name != event.actor])
            whose = "" if event.about is None else f"{event.about} believes "
            return f"{who} told {hearers} that {whose}{event.entity} is {value}{where}"
        case _:
            return f"{who} said {event.entity} is {value}{where}"


def explanation(
    chain: Sequence[str],
    entity: str,
    held: Held | None,
    event: SeenEvent | None,
    missed: Mapping[str, Sequence[SeenEvent]],
) -> str:
    """One sentence that names the source, who witnessed it, and what was missed."""
    if held is None:
        reason = "no event that reached it says so"
    elif event is None:
        reason = f"by {held.via} at {clock(held.at)}"
    else:
        reason = f"event {event.number}, {happened(event)}, witnessed by {listed(event.witnesses)}"
    sentence = f"{belief(chain, entity, None if held is None else held.value)} ({reason})"
    gaps = [
        f"{agent} missed event {events[0].number}: {happened(events[0])}"
        for agent, events in missed.items()
    ]
    return "; ".join([sentence, *gaps]) + "."
