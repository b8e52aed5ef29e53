"""The log as the world's graph holds it: what happened, and what never did."""

from __future__ import annotations

from collections.abc import Sequence

from .database import Call, Conflict, Row, Transaction
from .events import LoggedEvent
from .minds import EVER
from .names import world_key
from .writes import logged_event


def log_calls(scenario: str, after: int = 0, upto: int = EVER) -> list[Call]:
    """The reads that bring a part of the log. Of one moment, each line of it is in one answer."""
    key, part = world_key(scenario), {"after": after, "upto": upto}
    return [Call(key, "world/events", part), Call(key, "world/voided", part)]


def log_of(answers: Sequence[list[Row]]) -> list[LoggedEvent]:
    """The log from the answers to `log_calls`, in the order of recording, each line once."""
    events = {row["seq"]: logged_event(row) for rows in answers for row in rows}
    return [events[seq] for seq in sorted(events)]


def log_as_of(transaction: Transaction, scenario: str, newest: int) -> list[LoggedEvent]:
    """The log up to the event ``newest``, which was the newest as the transaction began.

    Without a commit nothing says that it did not change while it was read. Raises `Conflict` where
    a line was in neither part, as a void was just moving it.
    """
    log = log_of(transaction.read_all(log_calls(scenario)))
    found = [event for event in log if event.seq <= newest]
    if len(found) < newest:
        raise Conflict
    return found
