"""What one event writes: the log, the world, and every mind it reaches, as calls of the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from zlib import crc32

from .cypher import Prepared, catalogue
from .database import Call, Row
from .events import LoggedEvent
from .names import mind_key, world_key
from .route import Belief, Routed
from .world import Changes, World

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
    calls.append(_log(here, event, world, routed.witnesses))
    if event.kind == "tell":
        calls.append(_told(here, event, routed))
    for stay in changes.left:
        calls.append(Call(here, "world/leave", {
            "agent": stay.agent, "room": stay.room, "since": stay.since,
            "since_at": stay.since_at, "until": stay.until, "at": stay.until_at,
        }))
    for stay in changes.entered:
        calls.append(Call(here, "world/enter", {
            "agent": stay.agent, "room": stay.room, "since": stay.since, "at": stay.since_at,
        }))
    if changes.located is not None:
        where = "room" if changes.located.is_room else "container"
        calls.append(Call(here, f"world/locate_in_{where}", {
            "entity": event.entity, "name": changes.located.name,
        }))
    if changes.chapter:
        calls.append(Call(here, "world/begin_chapter", {
            "place": world.chapter, "since": world.chapter_since,
        }))
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


def _told(here: str, event: LoggedEvent, routed: Routed) -> Call:
    believers = {b.mind for b in routed.beliefs if b.scope.min_depth == 1}
    listeners = [[a, a in believers] for a in routed.witnesses if a != event.actor]
    public = event.everyone or not event.audience
    return Call(here, "world/told", {
        "speaker": event.actor, "listeners": listeners, "seq": event.seq, "at": event.at,
        "entity": event.entity, "value": event.value, "public": public,
    })


def _settling(
    scenario: str, event: LoggedEvent, world: World, witnesses: tuple[str, ...]
) -> list[Call]:
    due = [
        Call(mind_key(scenario, agent), "mind/settle",
             {"since": world.agents[agent] - SETTLE_EVERY})
        for agent in witnesses
        # Each mind in its own turn: those who always witness together would all come due at once.
        if (world.agents[agent] + crc32(agent.encode())) % SETTLE_EVERY == 0
    ]
    if event.seq % SETTLE_EVERY == 0:
        since = {"since": event.seq - SETTLE_EVERY}
        due.append(Call(world_key(scenario), "world/settle", since))
    return due


def _log(
    here: str, event: LoggedEvent, world: World, witnesses: tuple[str, ...]
) -> Call:
    params: dict[str, Any] = {name: getattr(event, name) for name in LoggedEvent.__slots__}
    params["agents"] = list(event.agents)
    params["audience"] = list(event.audience)
    params["witnesses"] = [[agent, world.agents[agent]] for agent in witnesses]
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
