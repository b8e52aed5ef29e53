"""Why somebody did not take an event in: who was where at that moment, and who has it otherwise.

The movements of a log are folded alone, by the same `world.advance` as all of it: they decide who
was in which room, who was away, and what a newcomer may read. SEMANTICS.md, "Attention" and
"Reading".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, cast

from .database import Call, Row
from .events import SPEAKING, EventKind, LoggedEvent
from .minds import EVER
from .names import world_key
from .seen import SeenEvent
from .wording import Had
from .world import Order, Room, World, advance

Why = Literal["absent", "noticed", "readable", "unread", "away", "distracted"]
SAID = (*SPEAKING, "edit", "forward")  # what can be delivered and read
_MOVING = ("enter", "exit", "away", "back")


class Spot(NamedTuple):
    """An event with its groups expanded; who was in its room, and whether away; is it read later."""

    event: LoggedEvent
    present: Mapping[str, bool]
    later: bool

    def reached(self, agent: str, witnesses: Iterable[str]) -> bool:
        """Whether it reached an agent, but for attention; ``witnesses`` truly took it in."""
        event = self.event
        if agent in event.actors:
            return True
        if event.everyone:  # every agent that was known by then
            return agent in event.distracted or agent in witnesses
        if event.audience:
            return agent in event.audience
        return not self.later and self.present.get(agent) is False

    def delivered(self, agent: str, witnesses: Iterable[str]) -> bool:
        """Whether it was delivered to an agent: it may read it, wherever it is now."""
        return (
            agent in self.present or agent in self.event.hidden or self.reached(agent, witnesses)
        )


class Whereabouts:
    """Who was where at some events, and is now: the movements of a log, folded."""

    def __init__(
        self, moves: Iterable[LoggedEvent], events: Iterable[LoggedEvent], rooms: Mapping[str, Room]
    ) -> None:
        """``rooms``: what they are; of others it is taken that nobody was ever there."""
        self._world = World(rooms=dict(rooms))
        self._entered: dict[tuple[str, str], Order] = {}  # agent, room: for the first time
        self.spots: dict[int, Spot] = {}
        asked = {event.seq: event for event in events}
        for event in sorted(({e.seq: e for e in moves} | asked).values(), key=lambda e: e.order):
            self._happen(event, asked=event.seq in asked)

    def _happen(self, event: LoggedEvent, *, asked: bool) -> None:
        world = self._world
        event = world.expanded(event)
        for stay in advance(world, event).entered:
            self._entered.setdefault((stay.agent, stay.room), event.order)
        if asked:
            stays = world.present.get(event.room or "", {})
            present = {agent: stay.away for agent, stay in stays.items()}
            later = event.room is not None and world.rooms[event.room].reads == "later"
            self.spots[event.seq] = Spot(event, present, later)

    def shows(self, agent: str, event: LoggedEvent) -> bool:
        """Whether the history of the event's room shows it to an agent, who is there now."""
        room = event.room or ""
        if agent not in self._world.present.get(room, {}):
            return False
        history = self._world.rooms[room].history
        return history == "all" or (
            history == "since_join" and event.order > self._entered[agent, room]
        )

    def may_read(self, agent: str, number: int, witnesses: Iterable[str]) -> bool:
        """Whether an agent may read what was said in an event: delivered, or shown by history."""
        spot = self.spots[number]
        return spot.delivered(agent, witnesses) or self.shows(agent, spot.event)


class Attention:
    """What the answers to `attention_call` say of who took what in, and why not."""

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self._moves = [
            LoggedEvent(row["seq"], row["at"], row["kind"], agents=tuple(row["agents"]),
                        room=row["room"])
            for row in rows if row["kind"] in _MOVING
        ]
        self._rooms = {row["room"]: Room(*row["spec"]) for row in rows if row["spec"][0] is not None}
        self._about = {row["seq"]: row for row in rows if row["kind"] not in _MOVING}

    def readers(self, number: int) -> list[str]:
        """Who read by an event; nobody by one that is no reading."""
        row = self._about.get(number)
        return [] if row is None else list(row["readers"])

    def otherwise(self, agent: str) -> dict[int, Had]:
        """The events that an agent has though it did not witness them, and how: read, or passed on.

        With what was read in the place of an earlier version goes that one.
        """
        found: dict[int, Had] = {}
        for row in self._about.values():
            passed = {row["seq"]} if agent in row["heard"] else set()
            if agent in row["readers"]:
                passed = self._versions(row["target"], (row["at"], row["seq"]))
                found.update((number, "has read") for number in passed)
            for number in (earlier for one in passed for earlier in self._passed_on(one)):
                found.setdefault(number, "was passed")
        return found

    def whys(self, asked: Iterable[tuple[str, SeenEvent]]) -> list[Why]:
        """Of each agent and event that it did not take in: why not."""
        asked = list(asked)
        events = {event.number: _logged(event) for _, event in asked}
        where = Whereabouts(self._moves, events.values(), self._rooms)
        return [_why(agent, event, where) for agent, event in asked]

    def _versions(self, target: int, before: Order) -> set[int]:
        """An event's versions until then: the newest is what one who reads it finds."""
        first = self._first(target)
        edits = {
            row["seq"] for row in self._about.values()
            if row["kind"] == "edit" and (row["at"], row["seq"]) < before
            and self._first(row["seq"]) == first
        }
        return {first, *edits}

    def _first(self, number: int) -> int:
        while (row := self._about.get(number)) is not None and row["kind"] == "edit":
            number = row["target"]
        return number

    def _passed_on(self, number: int) -> list[int]:
        """What a forward passes on, through other forwards; nothing for another event."""
        found = []
        while (row := self._about.get(number)) is not None and row["kind"] == "forward":
            number = row["target"]
            found.append(number)
        return found


def attention_call(scenario: str, as_of: int | None = None) -> Call:
    """What `Attention` is made of."""
    return Call(world_key(scenario), "world/attention", {"as_of": EVER if as_of is None else as_of})


def _why(agent: str, event: SeenEvent, where: Whereabouts) -> Why:
    spot = where.spots[event.number]
    if spot.reached(agent, event.witnesses):
        return "distracted"
    if event.kind in SAID:
        if agent in spot.present:
            return "unread" if spot.later else "away"
        if where.shows(agent, spot.event):
            return "readable"
    return "noticed" if agent in spot.event.noticed else "absent"


def _logged(event: SeenEvent) -> LoggedEvent:
    """What decides whom it reached: not what was said."""
    return LoggedEvent(
        event.number, event.at, cast("EventKind", event.kind),
        actor=event.actor, agents=event.agents, room=event.room, audience=event.audience,
        everyone=event.everyone, distracted=event.distracted, hidden=event.hidden,
        noticed=event.noticed,
    )
