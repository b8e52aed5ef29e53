"""What one event writes: the log, the world, and every mind it reaches, as calls of the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

from .cypher import Prepared, catalogue
from .database import Call, Row
from .events import LoggedEvent
from .names import mind_key, world_key
from .route import Belief, Routed
from .world import Changes, Location, Room, Stay, World

LINE = tuple(name for name in LoggedEvent.__slots__ if name != "aim")  # what the log keeps
SETTLE_EVERY = 32  # events; reads look at no more than this many beliefs beyond the frontier


class Done(NamedTuple):
    """One event, with its groups expanded, and what it did."""

    event: LoggedEvent
    changes: Changes
    routed: Routed

    def asides(self) -> list[str]:
        """Who saw others talk, and heard nothing."""
        return [name for name in self.event.noticed if name not in self.routed.witnesses]

    def reached(self) -> list[str]:
        """Whom it reached at all: who took it in, and who only noticed."""
        return [*self.routed.witnesses, *self.asides()]


def event_calls(
    scenario: str,
    event: LoggedEvent,
    done: Done,
    world: World,
    new_minds: Collection[str],
    believing: Iterable[Call] | None = None,
) -> list[Call]:
    """Everything that one event writes, world first: as it was logged, and what it did.

    ``world`` is as just after it; ``new_minds`` are the keys of graphs to make; ``believing`` what
    puts its beliefs into minds, where it is not only its own that it leaves.
    """
    _, changes, routed = done
    here = world_key(scenario)
    calls = [Call(here, "world/name_agent", {"name": name}) for name in changes.agents]
    calls += [Call(key, "mind/create", {}) for key in new_minds]
    calls += [room_call(here, "world/name_room", name, room) for name, room in changes.rooms]
    calls += [Call(here, "world/name_entity", {"name": name}) for name in changes.entities]
    witnesses = [[agent, world.agents[agent]] for agent in routed.witnesses]
    calls += log_calls(here, event, witnesses)
    if listeners_of(done.event, routed):
        calls.append(told_call(here, done.event, routed))
    calls += [leave_call(here, stay) for stay in changes.left]
    calls += [enter_call(here, stay) for stay in changes.entered]
    calls += [away_call(here, stay) for stay in changes.away]
    if changes.located is not None and event.entity is not None:
        calls.append(locate_call(here, event.entity, changes.located))
    if changes.chapter:
        calls.append(chapter_call(here, world))
    if routed.read is not None:
        rows = [[event.seq, reader] for reader in done.event.agents]
        calls.append(Call(here, "world/have_read", {"rows": rows}))
    calls += _believing(scenario, event, world, routed) if believing is None else believing
    for agent in done.asides():
        calls += aside_calls(scenario, done, agent, world.agents[agent])
    return calls + _settling(scenario, event, world, done.reached())


def _believing(
    scenario: str, event: LoggedEvent, world: World, routed: Routed
) -> Iterator[Call]:
    """The beliefs it leaves. Most minds get the same one, but for the mind's own step."""
    believe = catalogue()["mind/believe"]
    shared: dict[Belief, Prepared] = {}
    for belief in routed.beliefs:
        key = belief._replace(mind="")
        if key not in shared:
            row = belief_row(belief, event, 0, routed.appeared)
            shared[key] = believe.prepare(
                {name: row[name] for name in believe.declared if name != "step"}
            )
        step = {"step": world.agents[belief.mind]}
        yield Call(mind_key(scenario, belief.mind), believe.name, step, shared[key])


def listeners_of(event: LoggedEvent, routed: Routed) -> list[tuple[str, bool]]:
    """Of what one passes on to others: who heard it, and whether it believed the speaker."""
    if event.speaks_as not in ("tell", "forward") or event.entity is None:
        return []
    believers = {b.mind for b in routed.beliefs if b.scope.min_depth == 1}
    return [(a, a in believers) for a in routed.witnesses if a != event.actor]


def told_call(here: str, event: LoggedEvent, routed: Routed) -> Call:
    """The edges along which testimony was passed on; ``here`` is the world's graph."""
    return Call(here, "world/told", {
        "speaker": event.actor, "listeners": [list(row) for row in listeners_of(event, routed)],
        "seq": event.seq, "at": event.at, "entity": event.entity, "value": event.value,
        "public": event.everyone or not event.audience,
    })


def enter_call(here: str, stay: Stay) -> Call:
    """An agent is in a room from then on."""
    return Call(here, "world/enter", {
        "agent": stay.agent, "room": stay.room, "since": stay.since, "at": stay.since_at,
    })


def leave_call(here: str, stay: Stay) -> Call:
    """A stay that is in the graph has ended."""
    return Call(here, "world/leave", {
        "agent": stay.agent, "room": stay.room, "since": stay.since,
        "since_at": stay.since_at, "until": stay.until, "at": stay.until_at,
    })


def locate_call(here: str, entity: str, location: Location) -> Call:
    """An entity lies there now, and nowhere else."""
    where = "room" if location.is_room else "container"
    return Call(here, f"world/locate_in_{where}", {"entity": entity, "name": location.name})


def away_call(here: str, stay: Stay) -> Call:
    """One who is in a room is away, or no longer."""
    return Call(here, "world/away", {"agent": stay.agent, "room": stay.room, "away": stay.away})


def room_call(here: str, query: str, name: str, room: Room) -> Call:
    """What a room is."""
    return Call(here, query, {"name": name, **room._asdict()})


def aside_calls(scenario: str, done: Done, agent: str, step: int) -> list[Call]:
    """One saw others talk: in the world, and in its own mind."""
    event = done.event
    return [
        Call(world_key(scenario), "world/notice", {"agent": agent, "seq": event.seq, "step": step}),
        Call(mind_key(scenario, agent), "mind/notice", {
            "step": step, "at": event.at, "agents": list(done.routed.appeared), "room": event.room,
        }),
    ]


def chapter_call(here: str, world: World) -> Call:
    """Where the current chapter plays; nowhere before the first."""
    at, since = (None, None) if world.chapter is None else world.chapter_since
    return Call(here, "world/begin_chapter", {"place": world.chapter, "at": at, "since": since})


def _settling(
    scenario: str, event: LoggedEvent, world: World, reached: Iterable[str]
) -> list[Call]:
    due = [
        call
        for agent in reached
        for call in settling(mind_key(scenario, agent), agent, [world.agents[agent]])
    ]
    if event.seq % SETTLE_EVERY == 0:
        since = {"since": event.seq - SETTLE_EVERY}
        due.append(Call(world_key(scenario), "world/settle", since))
    return due


def settling(key: str, agent: str, steps: Iterable[int]) -> list[Call]:
    """The closing of what is covered, where a mind's new steps make it due.

    Each mind in its own turn: those who always witness together would all come due at once.
    """
    return [
        Call(key, "mind/settle", {"since": step - SETTLE_EVERY})
        for step in steps
        if (step + crc32(agent.encode())) % SETTLE_EVERY == 0
    ]


_FEW = ("distracted", "hidden", "noticed", "receipt", "history", "reads", "edits")  # have these


def log_calls(
    here: str, event: LoggedEvent, witnesses: list[list[Any]], *, truth: bool = True
) -> list[Call]:
    """The event in the log; ``witnesses``: [agent, step of its mind] each.

    ``truth=False``: not among the newest that say what is so.
    """
    params: dict[str, Any] = {
        name: list(value) if type(value := getattr(event, name)) is tuple else value
        for name in LINE if name not in _FEW
    }
    params["witnesses"] = witnesses
    query = "world/log_truth" if event.sets_truth and truth else "world/log"
    few = {
        name: list(value) if type(value) is tuple else value
        for name in _FEW if (value := getattr(event, name))
    }
    calls = [Call(here, query, params)]
    if few:  # most events have none of it, and every parameter costs
        more = {**dict.fromkeys(_FEW), **few}
        calls.append(Call(here, "world/log_more", {"seq": event.seq, **more}))
    return calls


def belief_row(
    belief: Belief, event: LoggedEvent, step: int, witnesses: tuple[str, ...]
) -> dict[str, Any]:
    """A belief as the mind's graph holds it; ``step`` is the mind's own number of the event."""
    scope = belief.scope
    return {
        "entity": belief.entity,
        "value": belief.value,
        "members": list(scope.members),
        "min_depth": scope.min_depth,
        "max_depth": scope.max_depth,
        "about": scope.about,
        "at": event.at,
        "step": step,
        "via": belief.via,
        "source": event.actor,
        "room": event.room,
        "text": event.text,
        "witnesses": None if scope.members == witnesses else list(witnesses),
        "known": None,
        "place": None,
        "through": belief.through,
        "retracted": None,
    }


def logged_event(row: Row) -> LoggedEvent:
    """An event as the log's queries return it."""
    lists = ("agents", "audience", "distracted", "hidden", "noticed")
    return LoggedEvent(**{
        **row, **{name: tuple(row[name] or ()) for name in lists}, "receipt": bool(row["receipt"]),
    })
