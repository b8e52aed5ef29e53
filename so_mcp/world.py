"""The world an event happens in: who is where, what is true, what lies where. Pure data.

`advance` folds one event into it (truth, presence, chapters); what the event does to *minds* is
`route.route`. Neither knows of a database: the log folded from the start, and the world read
from the database, are the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self, get_args

from .errors import ConflictError
from .events import GROUP, History, LoggedEvent, Reads
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
    (many at once) or a ``place`` (entering it leaves the place one was in); ``history`` what of a
    new room a newcomer may read; ``reads`` whether being in it is taking in what is said there.
    """

    policy: Policy = "credulous"
    rooms: RoomKind = "channel"
    history: History = "since_join"
    reads: Reads = "at_once"


SETTINGS: dict[str, tuple[str, ...]] = {  # and what each may be
    "policy": get_args(Policy), "rooms": get_args(RoomKind), "history": get_args(History),
    "reads": get_args(Reads),
}


class Room(NamedTuple):
    """What a room is since an event first named it."""

    kind: RoomKind
    history: History = "since_join"
    reads: Reads = "at_once"


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
    away: bool = False


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
    rooms: dict[str, Room] = field(default_factory=dict)
    entities: dict[str, None] = field(default_factory=dict)  # an ordered set
    present: dict[str, dict[str, Stay]] = field(default_factory=dict)  # room, agent
    truths: dict[str, Truth] = field(default_factory=dict)
    said: dict[str, list[Truth]] = field(default_factory=dict)  # every truth so far; only in a fold
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
            said={entity: list(truths) for entity, truths in self.said.items()},
            locations=dict(self.locations),
            exits=dict(self.exits),
        )

    def in_room(self, room: str | None) -> tuple[str, ...]:
        """Those in a room whom what happens there reaches, in the order in which they came."""
        stays = self.present.get(room, {}) if room is not None else {}
        return tuple(agent for agent, stay in stays.items() if not stay.away)

    def expanded(self, event: LoggedEvent) -> LoggedEvent:
        """The event with every group in it replaced by those who are in it now, away or not.

        An audience of nobody is still one: a group that is empty stays in it.
        """
        lists = (event.agents, event.audience, event.distracted, event.hidden, event.noticed)
        if not any(name.startswith(GROUP) for names in lists for name in names):
            return event
        agents, audience, distracted, hidden, noticed = map(self._members, lists)
        return replace(event, agents=agents, audience=audience or event.audience, distracted=distracted,
                       hidden=hidden, noticed=noticed)

    def _members(self, names: tuple[str, ...]) -> tuple[str, ...]:
        found: list[str] = []
        for name in names:
            found += self.present.get(name, ()) if name.startswith(GROUP) else (name,)
        return tuple(dict.fromkeys(found))

    def rooms_of(self, agent: str) -> list[str]:
        """The rooms that an agent is in."""
        return [room for room, stays in self.present.items() if agent in stays]


@dataclass(slots=True)
class Changes:
    """What one event changed in the world: what has to be written besides the event itself."""

    agents: list[str] = field(default_factory=list)
    rooms: list[tuple[str, Room]] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    entered: list[Stay] = field(default_factory=list)
    left: list[Stay] = field(default_factory=list)
    away: list[Stay] = field(default_factory=list)  # who is away now, or no longer
    located: Location | None = None
    chapter: bool = False


def advance(world: World, event: LoggedEvent) -> Changes:
    """Fold ``event``, in which no group stands, into ``world`` (in place) and say what changed.

    Raises `ConflictError` for a room that is asked to be what it is not.
    """
    changes = name_all(world, event)
    if event.kind == "enter":
        _enter(world, event, changes)
    elif event.kind == "exit":
        for agent, room in _moved(world, event):
            _leave(world, agent, room, event, changes)
    elif event.kind in ("away", "back"):
        for agent, room in _moved(world, event):
            _absent(world, agent, room, changes, away=event.kind == "away")
    elif event.kind == "retract":
        _retract(world, event)
    elif event.sets_truth and event.entity is not None:
        truth = world.truths[event.entity] = Truth(event.value, event.at, event.seq)
        world.said.setdefault(event.entity, []).append(truth)
        if event.located_in is not None:
            is_room = event.located_in in world.rooms
            changes.located = world.locations[event.entity] = Location(event.located_in, is_room)
    world.seq, world.at = max(world.seq, event.seq), max(world.at, event.at)
    return changes


def _moved(world: World, event: LoggedEvent) -> list[tuple[str, str]]:
    """Who an exit or an absence is of, and in which room: without one, every one that it is in.

    Leaving them all leaves no group: who goes home stays in the team. Being away is being away.
    """
    if event.room is not None:
        return [(agent, event.room) for agent in event.agents]
    return [
        (agent, room)
        for agent in event.agents
        for room in world.rooms_of(agent)
        if event.kind != "exit" or not room.startswith(GROUP)
    ]


def _absent(world: World, agent: str, room: str, changes: Changes, *, away: bool) -> None:
    stay = world.present[room].get(agent)
    if stay is not None and stay.away != away:
        world.present[room][agent] = now = stay._replace(away=away)
        changes.away.append(now)


def _retract(world: World, event: LoggedEvent) -> None:
    """What is so falls back to the newest event that said so and was not retracted."""
    for entity, said in world.said.items():
        kept = [truth for truth in said if truth.seq != event.target]
        if len(kept) < len(said):
            world.said[entity] = kept
            if kept:
                world.truths[entity] = kept[-1]
            else:
                world.truths.pop(entity, None)


def name_all(world: World, event: LoggedEvent) -> Changes:
    """Make known what ``event`` names, and say what of it is new. Raises as `advance` does."""
    changes = Changes()
    for agent in event.named_agents():
        if agent not in world.agents:
            world.agents[agent] = 0
            changes.agents.append(agent)
    if event.room is not None:
        _name_room(world, event.room, event, changes)
    container = event.located_in if event.located_in not in world.rooms else None
    for entity in (event.entity, container):
        if entity is not None and entity not in world.entities:
            world.entities[entity] = None
            changes.entities.append(entity)
    return changes


_KINDS: dict[bool, RoomKind] = {True: "place", False: "channel"}


def _name_room(world: World, name: str, event: LoggedEvent, changes: Changes) -> None:
    """A room is what the first event that names it says, or else the scenario's settings."""
    settings = world.settings
    if name not in world.rooms:
        kind = settings.rooms if event.place is None else _KINDS[event.place]
        if name.startswith(GROUP):
            kind = "channel"
        world.rooms[name] = Room(
            kind, event.history or settings.history, event.reads or settings.reads
        )
    room = world.rooms[name]
    for field_name, asked, is_now in (
        ("place", None if event.place is None else _KINDS[event.place], room.kind),
        ("history", event.history, room.history),
        ("reads", event.reads, room.reads),
    ):
        if asked not in (None, is_now):
            what = f"'{field_name}': '{asked}'"
            if field_name == "place":
                what = f"'place': {str(event.place).lower()}"
            raise ConflictError(
                f"room: {shown(name)} is {_said_of_a_room(field_name, is_now)}, and {what} was "
                f"asked. A room stays what it was when first named: leave '{field_name}' out, or "
                "use another room."
            )
    if name not in world.present:
        world.present[name] = {}
        changes.rooms.append((name, room))


def _said_of_a_room(field_name: str, value: str) -> str:
    return f"a {value}" if field_name == "place" else f"one with '{field_name}': '{value}'"


def _enter(world: World, event: LoggedEvent, changes: Changes) -> None:
    room = event.room
    assert room is not None  # noqa: S101 - check_events requires it
    if world.rooms[room].kind == "place":
        if event.agents and not world.present[room]:
            world.chapter, world.chapter_since, world.exits = room, (event.at, event.seq), {}
            changes.chapter = True
        for agent in event.agents:
            for other in world.rooms_of(agent):
                if other != room and world.rooms[other].kind == "place":
                    _leave(world, agent, other, event, changes)
    for agent in event.agents:
        if agent not in world.present[room]:
            stay = Stay(agent, room, event.seq, since_at=event.at)
            world.present[room][agent] = stay
            changes.entered.append(stay)
            if room == world.chapter:
                world.exits.pop(agent, None)
        else:
            _absent(world, agent, room, changes, away=False)


def _leave(world: World, agent: str, room: str, event: LoggedEvent, changes: Changes) -> None:
    stay = world.present[room].pop(agent, None)
    if stay is not None:
        changes.left.append(stay._replace(until=event.seq, until_at=event.at, away=False))
        if room == world.chapter:
            world.exits[agent] = (event.at, event.seq)
