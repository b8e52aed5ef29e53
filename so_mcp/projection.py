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
from .events import BACKWARDS, LoggedEvent
from .route import Routed, route
from .world import Location, Room, Settings, Stay, World, advance
from .writes import Done, belief_row, listeners_of

Row = tuple[Any, ...]
Table = tuple[str, str | None]  # what kind of row, and of a belief: in whose mind
Tables = dict[Table, Counter[Row]]


class Retraction(NamedTuple):
    """For chains over whom an event no longer counts in one mind, since when (ms), and its step."""

    at: int
    step: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """A folded log: the world after it, what each event did, and what is void.

    ``steps``: of each agent, its own numbers of the events that reached it: in the order in which
    they were recorded, so that one recorded late is new to whoever asks since its last step.
    """

    world: World
    events: dict[int, Done]  # by seq, in the order of (at, seq)
    void: frozenset[int]
    steps: dict[str, dict[int, int]]  # agent, seq
    retractions: dict[tuple[str, int], tuple[Retraction, ...]]  # mind, seq of what is retracted
    places: dict[tuple[str, int, int], int]  # mind, seq, seq of the event whose content it is
    past: dict[int, tuple[LoggedEvent, Routed]]  # of `events`, what `route` asks


def project(log: Iterable[LoggedEvent], settings: Settings) -> Projection:
    """Fold a log that may be in any order.

    Raises `ConflictError` for one in which an event is impossible where it stands.
    """
    events = sorted(log, key=lambda event: event.order)
    void = voided(events)
    world = World(settings)
    projected: dict[int, Done] = {}
    past: dict[int, tuple[LoggedEvent, Routed]] = {}
    reached: dict[str, list[int]] = {}
    for event in events:
        if event.seq not in void:
            expanded = world.expanded(event)
            try:
                changes = advance(world, expanded)
            except ConflictError as error:
                raise ConflictError(f"event {event.seq} would be impossible: {error}") from None
            done = Done(expanded, changes, route(expanded, world, changes, past))
            projected[event.seq] = done
            past[event.seq] = expanded, done.routed
            for agent in done.reached():
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
    return Projection(
        world, projected, void, steps, _retractions(projected, steps), _places(projected, steps),
        past,
    )


def _retractions(
    events: dict[int, Done], steps: dict[str, dict[int, int]]
) -> dict[tuple[str, int], tuple[Retraction, ...]]:
    found: dict[tuple[str, int], tuple[Retraction, ...]] = {}
    for event, _, routed in events.values():
        if event.kind == "retract" and event.target in events:
            if events[event.target].event.order > event.order:
                continue
            for mind in routed.witnesses:
                key = mind, event.target
                retraction = Retraction(event.at, steps[mind][event.seq], routed.appeared)
                found[key] = (*found.get(key, ()), retraction)
    return found


# A belief from an event that came by another, such as a reading, competes in the first one's place:
# after what reached the mind before that, and before what did after it. Of events that share a
# moment the mind's own steps are the order, and between two of them there is room for these.
BETWEEN = 1_000_000


def _places(
    events: dict[int, Done], steps: dict[str, dict[int, int]]
) -> dict[tuple[str, int, int], int]:
    borrowed = {
        (belief.mind, seq, belief.of)
        for seq, done in events.items()
        for belief in done.routed.beliefs
        if belief.of is not None
    }
    together: dict[tuple[str, int, int], list[tuple[int, int]]] = {}
    for mind, seq, of in borrowed:
        at = events[of].event.at
        earlier = [
            step for other, step in steps[mind].items()
            if other < of and events[other].event.at == at
        ]
        together.setdefault((mind, at, max(earlier, default=0)), []).append((of, seq))
    return {
        (mind, seq, of): step * BETWEEN + number
        for (mind, _, step), pairs in together.items()
        for number, (of, seq) in enumerate(sorted(pairs), 1)
    }


def _list_as_recorded(world: World, events: Iterable[LoggedEvent]) -> None:
    """Put names in the order in which they were first recorded, as the graphs list them."""
    agents: dict[str, int] = {}
    rooms: dict[str, Room] = {}
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
    """The numbers of events that never happened, and of what was about one of these.

    An event is void by one that voids it and is not void itself.
    """
    backwards = [event for event in events if event.kind in BACKWARDS]
    void: set[int] = set()
    for event in sorted(backwards, key=lambda event: event.seq, reverse=True):
        if event.kind == "void" and event.seq not in void and event.target is not None:
            void.add(event.target)
    for event in sorted(backwards, key=lambda event: event.seq):
        if event.kind != "void" and event.target in void:
            void.add(event.seq)
    return frozenset(void)


def tables(projection: Projection, only: Iterable[int] | None = None) -> Tables:
    """What the graphs hold after a log, as rows to be compared; of events only these, if given."""
    world = projection.world
    found: Tables = {
        ("agent", None): Counter((name,) for name in world.agents),
        ("room", None): Counter((name, *room) for name, room in world.rooms.items()),
        ("entity", None): Counter((name,) for name in world.entities),
        ("void", None): Counter((seq,) for seq in projection.void),
        ("located", None): Counter(map(_located, world.locations.items())),
        ("truth", None): Counter((name, truth.seq) for name, truth in world.truths.items()),
        ("retracted", None): Counter((seq,) for seq in _retracted(projection.events)),
        ("chapter", None): Counter(_chapter(world)),
        ("stay", None): Counter(stays(projection)),
    }
    chosen = projection.events if only is None else sorted(set(only) & projection.events.keys())
    names = ("witnessed", "noticed", "told", "read")
    seen: dict[str, Counter[Row]] = {name: Counter() for name in names}
    for seq in chosen:
        done = projection.events[seq]
        for agent in done.routed.witnesses:
            seen["witnessed"][seq, agent, projection.steps[agent][seq]] += 1
        for agent in done.asides():
            step = projection.steps[agent][seq]
            seen["noticed"][seq, agent, step] += 1
            found.setdefault(("aside", agent), Counter())[aside(done, step)] += 1
        for listener, trusted in listeners_of(done.event, done.routed):
            seen["told"][seq, done.event.actor, listener, trusted] += 1
        for reader in readers(done):
            seen["read"][seq, reader] += 1
        for mind, row in beliefs(projection, seq):
            found.setdefault(("belief", mind), Counter())[row] += 1
    return {**found, **{(name, None): rows for name, rows in seen.items()}}


def readers(done: Done) -> tuple[str, ...]:
    """Of a reading that found something: who read."""
    return done.event.agents if done.routed.read is not None else ()


def aside(done: Done, step: int) -> Row:
    """What one who noticed that others talked keeps of it, as a row: step, at, who, where."""
    return step, done.event.at, done.routed.appeared, done.event.room


def beliefs(projection: Projection, seq: int) -> Iterator[tuple[str, Row]]:
    """What one event left in which mind, as rows."""
    event, _, routed = projection.events[seq]
    for belief in routed.beliefs:
        mind, of = belief.mind, seq if belief.of is None else belief.of
        source, _, first = projection.events[of]
        row = belief_row(belief, source, projection.steps[mind][seq], first.appeared)
        if of != seq:
            row |= {"known": event.at, "place": projection.places[mind, seq, of]}
        row["retracted"] = [
            [at, step, *members]
            for line in lineage(projection, seq)
            for at, step, members in projection.retractions.get((mind, line), ())
        ] or None
        yield mind, belief_key(row)


def lineage(projection: Projection, seq: int) -> Iterator[int]:
    """The events by whose retraction no longer counts what an event left: it, and what it passes on.

    Not what an edit edits: that was retracted, and this is what holds instead.
    """
    following: int | None = seq
    while following is not None and following in projection.events:
        yield following
        event, _, routed = projection.events[following]
        following = event.target if event.kind == "forward" else routed.read


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
        or not moved.isdisjoint(new.reached())
    } | _moved_or_retracted(before, after)


def _moved_or_retracted(before: Projection, after: Projection) -> set[int]:
    """Events that do the same, but whose beliefs compete elsewhere, or for fewer chains."""
    places = before.places.items() ^ after.places.items()
    of = {seq for (_, seq), _ in before.retractions.items() ^ after.retractions.items()}
    return {seq for (_, seq, _), _ in places} | {
        seq for seq in after.events if of and not of.isdisjoint(lineage(after, seq))
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
    return (
        stay.agent, stay.room, stay.since, stay.since_at, stay.until, stay.until_at, stay.away
    )


def belief_key(row: dict[str, Any]) -> Row:
    """A belief as a row: the fields of `belief_row` in `BELIEF`'s order, lists as tuples."""
    return tuple(_frozen(row[name]) for name in BELIEF)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value


def _thawed(value: Any) -> Any:
    return list(map(_thawed, value)) if type(value) is tuple else value


def belief_values(row: Row) -> list[Any]:
    """The same, as a parameter of a query."""
    return [_thawed(value) for value in row]


BELIEF = ("step", "at", "entity", "value", "members", "min_depth", "max_depth", "about", "via",
          "source", "room", "text", "witnesses", "known", "place", "through", "retracted")
_STEP, _AT, _ENTITY, _, _MEMBERS, _MIN, _MAX, _ABOUT = range(8)
PLAIN = BELIEF.index("known")  # what comes after it most beliefs do not have
_PLACE, _RETRACTED = BELIEF.index("place"), BELIEF.index("retracted")


def replaced(rows: Sequence[Row]) -> list[int | None]:
    """Of each belief of one mind, the index of the first newer one that covers all it covers.

    ``rows`` in the order of the mind, oldest first. None: it is on the frontier.
    """
    found: list[int | None] = [None] * len(rows)
    active: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        frontier = active.setdefault(row[_ENTITY], [])
        for older in frontier:
            if _order(row) > _order(rows[older]) and covers(row, rows[older]):
                found[older] = number
        active[row[_ENTITY]] = [*(i for i in frontier if found[i] is None), number]
    return found


def covers(newer: Row, older: Row) -> bool:
    """Whether a belief answers every chain that another of the same entity answers."""
    return (
        newer[_RETRACTED] is None
        and newer[_MIN] <= older[_MIN]
        and (newer[_MAX] is None or (older[_MAX] is not None and newer[_MAX] >= older[_MAX]))
        and set(older[_MEMBERS]) <= set(newer[_MEMBERS])
        and (newer[_ABOUT] == older[_ABOUT]
             or (newer[_ABOUT] is None and older[_ABOUT] in newer[_MEMBERS]))
    )


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Beliefs of one mind, oldest first."""
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[int, int]:
    return row[_AT], row[_PLACE] or row[_STEP] * BETWEEN


def _located(item: tuple[str, Location]) -> Row:
    entity, location = item
    return entity, location.name, location.is_room


def _retracted(events: dict[int, Done]) -> set[int]:
    targets = (done.event.target for done in events.values() if done.event.kind == "retract")
    return {seq for seq in targets if seq is not None and seq in events}


def _chapter(world: World) -> list[Row]:
    return [] if world.chapter is None else [(world.chapter, *world.chapter_since)]
