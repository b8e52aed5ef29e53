"""The log folded: what it makes of the world and of every mind. Pure; without a database.

Specification of belief, "The writing rule": the log is the truth, and everything else is a
projection of it. Events are folded in the order of (at, seq), whenever they were recorded, and
those that were voided are left out: they never happened. So recording an event late, voiding one,
`verify` and `repair`, a log read from a file, and how things stood at an earlier step of the log
are all this one fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .errors import ConflictError
from .events import LoggedEvent
from .route import Routed, route
from .world import Changes, Location, RoomKind, Settings, Stay, World, advance
from .writes import belief_row, listeners_of

Row = tuple[Any, ...]
Table = tuple[str, str | None]  # what kind of row, and of a belief: in whose mind
Tables = dict[Table, Counter[Row]]


class Projected(NamedTuple):
    """One event, and what it did."""

    event: LoggedEvent
    changes: Changes
    routed: Routed


@dataclass(frozen=True, slots=True)
class Projection:
    """A folded log: the world after it, what each event did, and what is void.

    ``steps``: of each agent, its own numbers of the events that reached it: in the order in which
    they were recorded, so that one recorded late is new to whoever asks since its last step.
    """

    world: World
    events: dict[int, Projected]  # by seq, in the order of (at, seq)
    void: frozenset[int]
    steps: dict[str, dict[int, int]]  # agent, seq


def project(log: Iterable[LoggedEvent], settings: Settings) -> Projection:
    """Fold a log that may be in any order.

    Raises `ConflictError` for one in which an event is impossible where it stands.
    """
    events = sorted(log, key=lambda event: event.order)
    void = voided(events)
    world = World(settings)
    projected: dict[int, Projected] = {}
    reached: dict[str, list[int]] = {}
    for event in events:
        if event.seq not in void:
            try:
                changes = advance(world, event)
            except ConflictError as error:
                raise ConflictError(f"event {event.seq} would be impossible: {error}") from None
            projected[event.seq] = done = Projected(event, changes, route(event, world, changes))
            for agent in done.routed.witnesses:
                reached.setdefault(agent, []).append(event.seq)
    steps = {
        agent: {seq: step for step, seq in enumerate(sorted(numbers), 1)}
        for agent, numbers in reached.items()
    }
    _list_as_recorded(world, (done.event for done in projected.values()))
    world.agents = {agent: len(steps.get(agent, ())) for agent in world.agents}
    world.seq = max((event.seq for event in events), default=0)
    world.at = max((event.at for event in events), default=0)
    world.voids = len(void)
    return Projection(world, projected, void, steps)


def _list_as_recorded(world: World, events: Iterable[LoggedEvent]) -> None:
    """Put names in the order in which they were first recorded, as the graphs list them."""
    agents: dict[str, int] = {}
    rooms: dict[str, RoomKind] = {}
    entities: dict[str, None] = {}
    for event in sorted(events, key=lambda event: event.seq):
        agents.update(dict.fromkeys(event.named_agents(), 0))
        if event.room is not None:
            rooms[event.room] = world.rooms[event.room]
        for entity in (event.entity, event.located_in):
            if entity in world.entities:
                entities[entity] = None
    world.agents, world.rooms, world.entities = agents, rooms, entities


def voided(events: Iterable[LoggedEvent]) -> frozenset[int]:
    """The numbers of events that never happened: voided by an event that is not void itself."""
    void: set[int] = set()
    voids = (event for event in events if event.kind == "void")
    for event in sorted(voids, key=lambda event: event.seq, reverse=True):
        if event.seq not in void and event.target is not None:
            void.add(event.target)
    return frozenset(void)


def tables(projection: Projection, only: Iterable[int] | None = None) -> Tables:
    """What the graphs hold after a log, as rows to be compared; of events only these, if given."""
    world = projection.world
    found: Tables = {
        ("agent", None): Counter((name,) for name in world.agents),
        ("room", None): Counter(world.rooms.items()),
        ("entity", None): Counter((name,) for name in world.entities),
        ("void", None): Counter((seq,) for seq in projection.void),
        ("located", None): Counter(map(_located, world.locations.items())),
        ("truth", None): Counter((name, truth.seq) for name, truth in world.truths.items()),
        ("chapter", None): Counter(_chapter(world)),
        ("stay", None): Counter(stays(projection)),
    }
    chosen = projection.events if only is None else sorted(set(only) & projection.events.keys())
    witnessed, told = Counter[Row](), Counter[Row]()
    for seq in chosen:
        event, _, routed = projection.events[seq]
        for agent in routed.witnesses:
            witnessed[seq, agent, projection.steps[agent][seq]] += 1
        if event.kind == "tell":
            for listener, trusted in listeners_of(event, routed):
                told[seq, event.actor, listener, trusted] += 1
        for mind, row in beliefs(projection, seq):
            found.setdefault(("belief", mind), Counter())[row] += 1
    return {**found, ("witnessed", None): witnessed, ("told", None): told}


def beliefs(projection: Projection, seq: int) -> Iterator[tuple[str, Row]]:
    """What one event left in which mind, as rows."""
    event, _, routed = projection.events[seq]
    for belief in routed.beliefs:
        row = belief_row(belief, event, projection.steps[belief.mind][seq], routed.witnesses)
        yield belief.mind, belief_key(row)


def changed(before: Projection, after: Projection) -> set[int]:
    """The events that did something else in one projection than in the other, by number."""
    moved = {
        agent for agent in before.steps | after.steps
        if not _begins_with(after.steps.get(agent, {}), before.steps.get(agent, {}))
    }
    return {
        seq
        for seq in before.events | after.events
        if (old := before.events.get(seq)) is None
        or (new := after.events.get(seq)) is None
        or old.routed != new.routed
        or not moved.isdisjoint(new.routed.witnesses)
    }


def _begins_with(longer: dict[int, int], shorter: dict[int, int]) -> bool:
    return all(longer.get(seq) == step for seq, step in shorter.items())


def stays(projection: Projection) -> Iterator[Row]:
    """Everybody's times in rooms: those that ended, and those that last."""
    for _, changes, _ in projection.events.values():
        yield from map(stay_row, changes.left)
    for present in projection.world.present.values():
        yield from map(stay_row, present.values())


def stay_row(stay: Stay) -> Row:
    """One stay as a row."""
    return stay.agent, stay.room, stay.since, stay.since_at, stay.until, stay.until_at


def belief_key(row: dict[str, Any]) -> Row:
    """A belief as a row: the fields of `belief_row` in `BELIEF`'s order, lists as tuples."""
    return tuple(
        tuple(value) if type(value := row[name]) is list else value for name in BELIEF
    )


def belief_values(row: Row) -> list[Any]:
    """The same, as a parameter of a query."""
    return [list(value) if type(value) is tuple else value for value in row]


BELIEF = ("step", "at", "entity", "value", "members", "min_depth", "max_depth", "about", "via",
          "source", "room", "text", "witnesses")
_STEP, _AT, _ENTITY, _, _MEMBERS, _MIN, _MAX, _ABOUT = range(8)


def replaced(rows: Sequence[Row]) -> list[int | None]:
    """Of each belief of one mind, the index of the first newer one that covers all it covers.

    ``rows`` in the order of the mind, oldest first. None: it is on the frontier.
    """
    found: list[int | None] = [None] * len(rows)
    active: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        frontier = active.setdefault(row[_ENTITY], [])
        for older in frontier:
            if covers(row, rows[older]):
                found[older] = number
        active[row[_ENTITY]] = [*(i for i in frontier if found[i] is None), number]
    return found


def covers(newer: Row, older: Row) -> bool:
    """Whether a belief answers every chain that another of the same entity answers."""
    return (
        newer[_MIN] <= older[_MIN]
        and (newer[_MAX] is None or (older[_MAX] is not None and newer[_MAX] >= older[_MAX]))
        and set(older[_MEMBERS]) <= set(newer[_MEMBERS])
        and (newer[_ABOUT] == older[_ABOUT]
             or (newer[_ABOUT] is None and older[_ABOUT] in newer[_MEMBERS]))
    )


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Beliefs of one mind, oldest first."""
    return sorted(rows, key=lambda row: (row[_AT], row[_STEP]))


def _located(item: tuple[str, Location]) -> Row:
    entity, location = item
    return entity, location.name, location.is_room


def _chapter(world: World) -> list[Row]:
    return [] if world.chapter is None else [(world.chapter, *world.chapter_since)]
