"""What one event writes: the log, the world, and every mind it reaches, as calls of the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any
from zlib import crc32

from .cypher import Prepared, catalogue
from .database import Call, Row
from .events import LoggedEvent
from .names import mind_key, world_key
from .route import Belief, Routed
from .world import Changes, Location, Stay, World

LINE = tuple(name for name in LoggedEvent.__slots__ if name != "aim")  # what the log keeps
SETTLE_EVERY = 32  # events; reads look at no more than this many beliefs beyond the frontier


def event_calls(
    scenario: str,
    event: LoggedEvent,
    world: World,
    changes: Changes,
    routed: Routed,
    new_minds: Collection[str],
) -> list[Call]:
    """Everything that one event writes, world first.

    ``world`` and ``routed`` are as just after it; ``new_minds`` are the keys of graphs to make.
    """
    here = world_key(scenario)
    calls = [Call(here, "world/name_agent", {"name": name}) for name in changes.agents]
    calls += [Call(key, "mind/create", {}) for key in new_minds]
    calls += [
        Call(here, "world/name_room", {"name": name, "kind": kind})
        for name, kind in changes.rooms
    ]
    calls += [Call(here, "world/name_entity", {"name": name}) for name in changes.entities]
    witnesses = [[agent, world.agents[agent]] for agent in routed.witnesses]
    calls.append(log_call(here, event, witnesses))
    if event.kind == "tell":
        calls.append(told_call(here, event, routed))
    calls += [leave_call(here, stay) for stay in changes.left]
    calls += [enter_call(here, stay) for stay in changes.entered]
    if changes.located is not None and event.entity is not None:
        calls.append(locate_call(here, event.entity, changes.located))
    if changes.chapter:
        calls.append(chapter_call(here, world))
    calls += _believing(scenario, event, world, routed)
    return calls + _settling(scenario, event, world, routed.witnesses)


def _believing(
    scenario: str, event: LoggedEvent, world: World, routed: Routed
) -> Iterator[Call]:
    """The beliefs it leaves. Most minds get the same one, but for the mind's own step."""
    believe = catalogue()["mind/believe"]
    shared: dict[Belief, Prepared] = {}
    for belief in routed.beliefs:
        key = belief._replace(mind="")
        if key not in shared:
            row = belief_row(belief, event, 0, routed.witnesses)
            del row["step"]
            shared[key] = believe.prepare(row)
        step = {"step": world.agents[belief.mind]}
        yield Call(mind_key(scenario, belief.mind), believe.name, step, shared[key])


def listeners_of(event: LoggedEvent, routed: Routed) -> list[tuple[str, bool]]:
    """Of testimony: who heard it, and whether it believed the speaker."""
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


def chapter_call(here: str, world: World) -> Call:
    """Where the current chapter plays; nowhere before the first."""
    at, since = (None, None) if world.chapter is None else world.chapter_since
    return Call(here, "world/begin_chapter", {"place": world.chapter, "at": at, "since": since})


def _settling(
    scenario: str, event: LoggedEvent, world: World, witnesses: tuple[str, ...]
) -> list[Call]:
    due = [
        call
        for agent in witnesses
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


def log_call(here: str, event: LoggedEvent, witnesses: list[list[Any]]) -> Call:
    """The event in the log; ``witnesses``: [agent, step of its mind] each."""
    params: dict[str, Any] = {name: getattr(event, name) for name in LINE}
    params["agents"] = list(event.agents)
    params["audience"] = list(event.audience)
    params["witnesses"] = witnesses
    query = "world/log_truth" if event.sets_truth else "world/log"
    return Call(here, query, params)


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
    }


def logged_event(row: Row) -> LoggedEvent:
    """An event as the log's queries return it."""
    return LoggedEvent(**{**row, "agents": tuple(row["agents"]), "audience": tuple(row["audience"])})
