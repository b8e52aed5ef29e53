"""Who is where, for the reference model: rooms, stays, groups, who is away, chapters.

The titles in quotes are sections of the two texts that the model is written from. Nothing here
knows of belief; events come in their order (at, seq), and each call changes what is so after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

type Order = tuple[int, int]
"""``(at, seq)`` of an event: the order of events."""

GROUP = "@"


class Room(NamedTuple):
    """What a room is, by the first event that names it or else by the scenario's setting."""

    place: bool
    history: str  # none, since_join or all: what a newcomer may read
    later: bool  # what is said here is delivered, and read later


class Chapter:
    """A stretch of the story in one place, with who left it ("Trust", exit-order)."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.comers: set[str] = set()  # who was ever in the place during this chapter
        self.left: dict[str, Order] = {}  # who has left and is not back in: when

    def trusts(self, listener: str, speaker: str) -> bool:
        """Tell whether the listener was never here, or has left and the speaker not before it."""
        if listener not in self.comers:
            return True
        if listener not in self.left:
            return False
        return speaker not in self.left or self.left[speaker] >= self.left[listener]

    def copy(self) -> Chapter:
        """Keep what it is now, for who reads later what is said now."""
        kept = Chapter(self.place)
        kept.comers, kept.left = set(self.comers), dict(self.left)
        return kept


class Rooms:
    """All rooms of a scenario and who is in them.

    :param rooms: what a room is where no event says it, ``channel`` or ``place``.
    :param history: what of it a newcomer may read, ``none``, ``since_join`` or ``all``.
    :param reads: whether what is said there is taken in ``at_once`` or read ``later``.
    """

    def __init__(self, rooms: str, history: str, reads: str) -> None:
        self.default = Room(rooms == "place", history, reads == "later")
        self.known: dict[str, Room] = {}
        self.chapter: Chapter | None = None
        self.stays: dict[tuple[str, str], list[list[Order | None]]] = {}
        self._away: set[tuple[str, str]] = set()

    def found(self, event: Mapping[str, Any]) -> None:
        """Make the room of an event known when it is new ("Reading": what a room is).

        :raises ValueError: for a group that is a place, and where it asks otherwise later.
        """
        name = event.get("room")
        if name is None:
            return
        place, history, reads = (event.get(key) for key in ("place", "history", "reads"))
        if place and name.startswith(GROUP):
            raise ValueError(f"{name}: a group is never a place")
        room = self.known.get(name)
        if room is None:
            room = self.default
            if name.startswith(GROUP):
                room = room._replace(place=False)
        asked = Room(
            room.place if place is None else bool(place),
            room.history if history is None else history,
            room.later if reads is None else reads == "later",
        )
        if self.known.setdefault(name, asked) != asked:
            raise ValueError(f"{name} is {self.known[name]}, not {asked}")

    # Asking

    def is_in(self, agent: str, room: str) -> bool:
        """Tell whether an agent is in a room, away or not."""
        stays = self.stays.get((agent, room))
        return bool(stays) and stays[-1][1] is None

    def present(self, room: str) -> frozenset[str]:
        """Gather who is in a room, away or not."""
        return frozenset(a for (a, name) in self.stays if name == room and self.is_in(a, room))

    def attentive(self, room: str) -> frozenset[str]:
        """Gather whom what happens in a room reaches: who is in it and not away."""
        return frozenset(a for a in self.present(room) if (a, room) not in self._away)

    def of(self, agents: Iterable[str], *, groups: bool) -> list[str]:
        """List the rooms that any of these agents is in, with their groups or without."""
        rooms = {room for (agent, room) in self.stays if agent in agents and self.is_in(agent, room)}
        return sorted(room for room in rooms if groups or not room.startswith(GROUP))

    def members(self, names: Iterable[str]) -> list[str]:
        """Put in each group's place its members now, away or not; agents stay as they are."""
        found: list[str] = []
        for name in names:
            found += sorted(self.present(name)) if name.startswith(GROUP) else [name]
        return found

    def since(self, agent: str, room: str) -> Order | None:
        """When an agent entered a room first, ``None`` if it never was in it."""
        stays = self.stays.get((agent, room))
        return stays[0][0] if stays else None

    # Moving: see "Presence", and the rows enter and exit

    def enter(self, agents: list[str], room: str, order: Order) -> None:
        """Move agents in, out of any other place; who was away there is back."""
        if self.known[room].place and agents:
            was_empty = not self.present(room)
            for agent in agents:
                for other in self.of([agent], groups=False):
                    if other != room and self.known[other].place:
                        self.leave(agent, other, order)
            if was_empty:
                self.chapter = Chapter(room)
            if self.chapter and self.chapter.place == room:
                for agent in agents:
                    self.chapter.comers.add(agent)
                    self.chapter.left.pop(agent, None)  # entering again cancels an exit
        for agent in agents:
            if not self.is_in(agent, room):
                self.stays.setdefault((agent, room), []).append([order, None])
            self._away.discard((agent, room))

    def leave(self, agent: str, room: str, order: Order) -> None:
        """Take an agent out of a room, if it is in it; note an exit from the chapter's place."""
        if self.is_in(agent, room):
            self.stays[agent, room][-1][1] = order
            self._away.discard((agent, room))
            if self.chapter and self.chapter.place == room:
                self.chapter.left[agent] = order

    def step_away(self, agent: str, room: str) -> None:
        """What happens in the room, if the agent is in it, no longer reaches it."""
        if self.is_in(agent, room):
            self._away.add((agent, room))

    def come_back(self, agent: str, room: str) -> None:
        """What happens in the room reaches the agent again."""
        self._away.discard((agent, room))
