"""The log as the world's graph holds it: what happened, and what never did."""

from __future__ import annotations

from collections.abc import Sequence

from .database import Call, Row
from .events import LoggedEvent
from .minds import EVER
from .names import world_key
from .writes import logged_event


def log_calls(scenario: str, after: int = 0, upto: int = EVER) -> list[Call]:
    """The reads that bring a part of the log. Sent together, each line of it is in one answer."""
    key, part = world_key(scenario), {"after": after, "upto": upto}
    return [Call(key, "world/events", part), Call(key, "world/voided", part)]


def log_of(answers: Sequence[list[Row]]) -> list[LoggedEvent]:
    """The log from the answers to `log_calls`, in the order of recording."""
    events = (logged_event(row) for rows in answers for row in rows)
    return sorted(events, key=lambda event: event.seq)
