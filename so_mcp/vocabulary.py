"""Names in a scenario: what an alias means, which names are new, one name in place of another.

Nothing is ever merged by likeness. A name is case-sensitive text and means itself, unless somebody
said that it is another name for something (an *alias*). The log and the minds hold canonical names
only: an alias is replaced before an event is recorded. Pure functions; `naming` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from .errors import InvalidEventError, UnknownNameError
from .events import GROUP, LoggedEvent
from .names import near_names, shown
from .world import Aliases, Kind, World

KINDS: tuple[Kind, ...] = get_args(Kind)
NewNames = dict[tuple[Kind, str], str]  # the field of the event in which each stands


@dataclass(frozen=True, slots=True)
class Alias:
    """``name`` is another name for ``of``, an agent, a room or an entity."""

    name: str
    kind: Kind
    of: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every name of a scenario, in the order of naming; and whether it takes new ones."""

    strict: bool
    agents: tuple[str, ...]
    rooms: tuple[str, ...]
    entities: tuple[str, ...]
    aliases: tuple[Alias, ...]

    def by_kind(self) -> dict[Kind, dict[str, list[str]]]:
        """The names of each kind, each with its aliases."""
        lists = {"agent": self.agents, "room": self.rooms, "entity": self.entities}
        found: dict[Kind, dict[str, list[str]]] = {
            kind: {name: [] for name in lists[kind]} for kind in KINDS
        }
        for alias in self.aliases:
            found[alias.kind][alias.of].append(alias.name)
        return found


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a question may use: those of agents, and what aliases mean."""

    agents: Sequence[str]
    aliases: Mapping[tuple[Kind, str], str]

    def agent(self, name: str) -> str:
        """The agent that ``name`` means; raises `UnknownNameError` where there is none."""
        meant = self.aliases.get(("agent", name), name)
        if meant not in self.agents:
            near = near_names(name, [*self.agents, *aliases_of("agent", self.aliases)])
            hint = f"Did you mean {', '.join(map(shown, near))}?" if near else (
                f"Known are: {', '.join(map(shown, self.agents[:20])) or 'none yet'}."
            )
            raise UnknownNameError(f"agent: no event has named {shown(name)}. {hint}")
        return meant

    def known(self, names: Iterable[str]) -> list[str]:
        """The agents that names mean, in the order given."""
        return [self.agent(name) for name in names]

    def chain(self, names: Iterable[str]) -> tuple[str, ...]:
        """A chain of agents; two names for one, side by side, collapse like the same name twice."""
        chain: list[str] = []
        for name in map(self.agent, names):
            if not chain or chain[-1] != name:
                chain.append(name)
        return tuple(chain)

    def entity(self, name: str) -> str:
        """The entity that ``name`` means; of one that is not known, the name itself."""
        return self.aliases.get(("entity", name), name)


def aliases_of(kind: Kind, aliases: Iterable[tuple[Kind, str]]) -> list[str]:
    """The aliases of a kind."""
    return [name for its_kind, name in aliases if its_kind == kind]


def canonical(event: LoggedEvent, world: World) -> LoggedEvent:
    """The event with every alias in it replaced by the name that it means.

    Raises `InvalidEventError` for an entity that, so read, would lie inside itself.
    """
    if not world.aliases:
        return event
    inside = event.located_in
    in_room = inside == event.room or inside in world.rooms or ("room", inside) in world.aliases
    meant = _translated(event, lambda kind, name: world.aliases.get((kind, name), name), in_room)
    if meant.located_in is not None and meant.located_in == meant.entity:
        raise InvalidEventError(
            f"located_in: {shown(str(inside))} means {shown(meant.located_in)}, the entity itself. "
            "Name a room, or a container."
        )
    return meant


def new_names(event: LoggedEvent, world: World) -> NewNames:
    """The names that a canonical event would make."""
    speaks = "by" if event.kind == "state" else "speaker"
    hears = "listeners" if event.kind in ("tell", "report", "forward") else "audience"
    new: NewNames = {}
    for field, names in (
        (speaks, (event.actor,)), ("agents", event.agents), (hears, event.audience),
        ("about", (event.about,)), ("distracted", event.distracted), ("hidden", event.hidden),
        ("noticed", event.noticed),
    ):
        for name in names:
            if name is not None and name not in world.agents and not name.startswith(GROUP):
                new.setdefault(("agent", name), field)
    if event.room is not None and event.room not in world.rooms:
        new["room", event.room] = "room"
    if event.entity is not None and event.entity not in world.entities:
        new["entity", event.entity] = "entity"
    inside = event.located_in
    in_room = inside == event.room or inside in world.rooms
    if inside is not None and not in_room and inside not in world.entities:
        new["entity", inside] = "located_in"
    return new


def refuse_new(new: NewNames, world: World) -> None:
    """Raise `InvalidEventError` for the first new name: the vocabulary is strict."""
    (kind, name), field = next(iter(new.items()))
    near = near_to(name, kind, new, world)
    known = list(world.names(kind))
    hint = f"Did you mean {' or '.join(map(shown, near))}?" if near else (
        f"Known are: {', '.join(map(shown, known[:20])) or 'none yet'}."
    )
    raise InvalidEventError(
        f"{field}: {shown(name)} is no known {kind}, and the vocabulary is strict. {hint} "
        "Use a known name; or make this an alias of one; or switch strict off "
        "(vocabulary strict=false), record the event, and switch it on again."
    )


def near_to(name: str, kind: Kind, new: NewNames, world: World) -> list[str]:
    """The names and aliases known before that a new name may be a slip of."""
    known = [other for other in world.names(kind) if (kind, other) not in new]
    return near_names(name, known + aliases_of(kind, world.aliases))


def renamed(log: Iterable[LoggedEvent], kind: Kind, name: str, to: str) -> list[LoggedEvent]:
    """A log with one name in place of another. Values and words stay as they were."""
    rooms: set[str] = set()  # named before an event: what lies in one is in no container
    found = []
    for event in sorted(log, key=lambda event: event.order):
        if event.room is not None:
            rooms.add(event.room)
        found.append(_translated(
            event,
            lambda its_kind, its: to if (its_kind, its) == (kind, name) else its,
            event.located_in in rooms,
        ))
    return sorted(found, key=lambda event: event.seq)


def _translated(
    event: LoggedEvent, mean: Callable[[Kind, str], str], in_room: bool
) -> LoggedEvent:
    """The event in other names; ``in_room``: what it is located in is a room, not a container."""

    def one(kind: Kind, name: str | None) -> str | None:
        return None if name is None else mean(kind, name)

    def agents(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(mean("agent", name) for name in names))

    return replace(
        event,
        actor=one("agent", event.actor),
        agents=agents(event.agents),
        audience=agents(event.audience),
        distracted=agents(event.distracted),
        hidden=agents(event.hidden),
        noticed=agents(event.noticed),
        about=one("agent", event.about),
        room=one("room", event.room),
        entity=one("entity", event.entity),
        located_in=one("room" if in_room else "entity", event.located_in),
    )


def read_aliases(rows: Iterable[Mapping[str, str]]) -> Aliases:
    """The rows of world/aliases."""
    return {(row["kind"], row["alias"]): row["name"] for row in rows}  # type: ignore[misc]
