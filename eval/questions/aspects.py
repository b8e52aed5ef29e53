"""What an answer can hang on: the same story, with one thing that it contains left out of account.

A question *hangs on* an aspect when a memory that ignored it would answer otherwise.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .story import Event


class Told(NamedTuple):
    """Settings and events: all that a model is given."""

    settings: dict[str, str]
    events: list[Event]


def _never(*kinds: str) -> Callable[[Told], Told]:
    """Events of these kinds do nothing; what refers to one still finds something by its number."""

    def inert(event: Event) -> Event:
        kept = {key: value for key, value in event.items() if key in ("id", "happened_at")}
        return {**kept, "kind": "state", "entity": "nothing", "value": "nothing"}

    return lambda told: told._replace(
        events=[inert(event) if event["kind"] in kinds else event for event in told.events]
    )


def _without(*fields: str, of: Sequence[str] = ()) -> Callable[[Told], Told]:
    """These fields of events are not looked at; ``of``: only of such kinds."""
    return lambda told: told._replace(events=[
        event if of and event["kind"] not in of
        else {key: value for key, value in event.items() if key not in fields}
        for event in told.events
    ])


def _credulous(told: Told) -> Told:
    return told._replace(settings={**told.settings, "policy": "credulous"})


def _at_once(told: Told) -> Told:
    told = _without("reads")(told)
    return told._replace(settings={**told.settings, "reads": "at_once"})


def _in_order(told: Told) -> Told:
    newest, events = 0, []
    for event in told.events:
        newest = max(newest, event["happened_at"])
        events.append({**event, "happened_at": newest})
    return told._replace(events=events)


ASPECTS: dict[str, Callable[[Told], Told]] = {
    "an acknowledgement": _without("room", "audience", of=["read"]),
    "receipt": _without("receipt"),
    "retract": _never("retract"),
    "report": _never("report"),
    "void": _never("void"),
    "away": _never("away", "back"),
    "in plain sight": _without("located_in"),
    "edit": _never("edit"),
    "read": _never("read"),
    "forward": _never("forward"),
    "hidden": _without("hidden"),
    "a late event": _in_order,
    "exit-order": _credulous,
    "distracted": _without("distracted"),
    "read later": _at_once,
}
"""By the name of what a story contains; those that the fewest answers hang on come first.

History and asides change no belief, so nothing that is asked here hangs on them.
"""
