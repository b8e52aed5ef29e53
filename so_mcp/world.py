"""The world an event happens in: who is where, what is true, what lies where. Pure data.

`advance` folds one event into it (truth, presence, chapters); what the event does to *minds* is
`route.route`. Neither knows of a database: the log folded from the start, and the world read
from the database, are the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

from .errors import ConflictError
from .events import LoggedEvent
from .names import shown

Policy = Literal["credulous", "exit-order"]
RoomKind = Literal["channel", "place"]
Kind = Literal["agent", "room", "entity"]  # of what a name names
Aliases = dict[tuple[Kind, str], str]  # what another name for something means
Order = tuple[int, int]  # in the order of events: (at, seq)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a scenario is set to when it is made; it never changes afterwards.

    ``policy`` says who believes what it is told; ``rooms`` what a new room is: a ``channel``
    (many at once) or a ``place`` (entering it leaves the place one was in).
    """

    policy: Policy = "credulous"
    rooms: RoomKind = "channel"


class Truth(NamedTuple):
    """What is so: the value (None: no longer known) by the newest event that set it."""

    value: str | None
    at: int
    seq: int


class Stay(NamedTuple):
    """One agent's time in one room, by the ``seq`` of the events: open-ended while it lasts."""

    agent: str
    room: str
    since: int
    until: int | None = None
    since_at: int = 0
    until_at: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """Where an entity lies: openly in a room, or inside a container (another entity), unseen."""

    name: str
    is_room: bool


@dataclass(slots=True)
class World:
    """Everything `advance` and `route` need to know of what came before an event."""

    settings: Settings = field(default_factory=Settings)
    agents: dict[str, int] = field(default_factory=dict)  # to how many events reached its mind
    rooms: dict[str, RoomKind] = field(default_factory=dict)
    entities: dict[str, None] = field(default_factory=dict)  # an ordered set
    present: dict[str, dict[str, Stay]] = field(default_factory=dict)  # room, agent
    truths: dict[str, Truth] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    chapter: str | None = None  # the place in which the current chapter plays
    chapter_since: Order = (0, 0)
    exits: dict[str, Order] = field(default_factory=dict)  # who left the chapter's place, and when
    aliases: Aliases = field(default_factory=dict)
    strict: bool = False  # whether an event may name only what is known
    seq: int = 0
    at: int = 0
    epoch: int = 0  # another number after every change that is not an event
    voids: int = 0  # how many events of the log are void

    def names(self, kind: Kind) -> dict[str, Any]:
        """What is known of a kind, in the order of naming."""
        known: dict[Kind, dict[str, Any]] = {
            "agent": self.agents, "room": self.rooms, "entity": self.entities
        }
        return known[kind]

    def copy(self) -> Self:
        """A world that can be changed without changing this one."""
        return replace(
            self,
            agents=dict(self.agents),
            rooms=dict(self.rooms),
            entities=dict(self.entities),
            present={room: dict(stays) for room, stays in self.present.items()},
            truths=dict(self.truths),
            locations=dict(self.locations),
            exits=dict(self.exits),
        )

    def in_room(self, room: str | None) -> tuple[str, ...]:
        """Those present in a room, in the order in which they came."""
        return tuple(self.present.get(room, ())) if room is not None else ()

    def rooms_of(self, agent: str) -> list[str]:
        """The rooms that an agent is in."""
        return [room for room, stays in self.present.items() if agent in stays]


@dataclass(slots=True)
class Changes:
    """What one event changed in the world: what has to be written besides the event itself."""

    agents: list[str] = field(default_factory=list)
    rooms: list[tuple[str, RoomKind]] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    entered: list[Stay] = field(default_factory=list)
    left: list[Stay] = field(default_factory=list)
    located: Location | None = None
    chapter: bool = False


def advance(world: World, event: LoggedEvent) -> Changes:
    """Fold ``event`` into ``world`` (in place) and say what changed.

    Raises `ConflictError` when a room is entered as a place but is known as a channel.
    """
    changes = name_all(world, event)
    if event.kind == "enter":
        _enter(world, event, changes)
    elif event.kind == "exit":
        for agent in event.agents:
            for room in [event.room] if event.room is not None else world.rooms_of(agent):
                _leave(world, agent, room, event, changes)
    elif event.sets_truth and event.entity is not None:
        world.truths[event.entity] = Truth(event.value, event.at, event.seq)
        if event.located_in is not None:
            is_room = event.located_in in world.rooms
            changes.located = world.locations[event.entity] = Location(event.located_in, is_room)
    world.seq, world.at = max(world.seq, event.seq), max(world.at, event.at)
    return changes


def name_all(world: World, event: LoggedEvent) -> Changes:
    """Make known what ``event`` names, and say what of it is new. Raises as `advance` does."""
    changes = Changes()
    for agent in event.named_agents():
        if agent not in world.agents:
            world.agents[agent] = 0
            changes.agents.append(agent)
    if event.room is not None:
        kind: RoomKind = "place" if event.place else world.settings.rooms
        known = world.rooms.setdefault(event.room, kind)
        if event.place and known != "place":
            raise ConflictError(
                f"room: {shown(event.room)} is a channel, and 'place': true was asked. A room "
                "stays what it was when first named: leave 'place' out, or use another room."
            )
        if event.room not in world.present:
            world.present[event.room] = {}
            changes.rooms.append((event.room, kind))
    container = event.located_in if event.located_in not in world.rooms else None
    for entity in (event.entity, container):
        if entity is not None and entity not in world.entities:
            world.entities[entity] = None
            changes.entities.append(entity)
    return changes


def _enter(world: World, event: LoggedEvent, changes: Changes) -> None:
    room = event.room
    assert room is not None  # noqa: S101 - check_events requires it
    if world.rooms[room] == "place":
        if not world.present[room]:
            world.chapter, world.chapter_since, world.exits = room, (event.at, event.seq), {}
            changes.chapter = True
        for agent in event.agents:
            for other in world.rooms_of(agent):
                if other != room and world.rooms[other] == "place":
                    _leave(world, agent, other, event, changes)
    for agent in event.agents:
        if agent not in world.present[room]:
            stay = Stay(agent, room, event.seq, since_at=event.at)
            world.present[room][agent] = stay
            changes.entered.append(stay)
            if room == world.chapter:
                world.exits.pop(agent, None)


def _leave(world: World, agent: str, room: str, event: LoggedEvent, changes: Changes) -> None:
    stay = world.present[room].pop(agent, None)
    if stay is not None:
        changes.left.append(stay._replace(until=event.seq, until_at=event.at))
        if room == world.chapter:
            world.exits[agent] = (event.at, event.seq)
