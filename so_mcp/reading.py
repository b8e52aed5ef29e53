"""Reading the world of a scenario, to write in it: who is where, what is so, what lies where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .database import Call, Conflict, Row, Transaction
from .errors import ConflictError
from .names import EPOCH, shown, world_key
from .vocabulary import read_aliases
from .world import Location, Room, Settings, Stay, Truth, World

SEQ, AT, VOIDS = "seq", "at", "voids"  # counters of a scenario; of a mind, MIND and its agent
MIND = "mind:"


def settings_of(row: Row) -> Settings:
    """The settings of a scenario, from a row of a query that returns them."""
    return Settings(row["policy"], row["rooms"], row["history"], row["reads"])


def counters_of(world: World) -> dict[str, int]:
    """What the counters of a scenario say of its world, but for the epoch; nothing is zero."""
    minds = {MIND + agent: steps for agent, steps in world.agents.items()}
    found = {SEQ: world.seq, AT: world.at, VOIDS: world.voids, **minds}
    return {name: number for name, number in found.items() if number or name == SEQ}


def read_world(
    transaction: Transaction, scenario: str, counters: Mapping[str, int], asked: Mapping[str, Any]
) -> World:
    """The world of a scenario, as it is while ``counters`` are, which are watched.

    Raises `Conflict` when it was changed while it was read, and `ConflictError` where it is set
    otherwise than ``asked``.
    """
    here = world_key(scenario)
    names = ("scenario", "agents", "rooms", "entities", "aliases", "presence", "departures",
             "locations")
    calls = [Call(here, f"world/{name}", {}) for name in names]
    calls.append(Call(here, "world/truths", {"entity": None}))
    made, agents, rooms, entities, aliases, presence, departures, locations, truths = (
        transaction.read_all(calls)
    )
    if not counters or transaction.watch() != counters:
        transaction.unwatch()
        raise Conflict  # it was changed while it was read, so the parts may not fit together
    [row] = made
    settings = settings_of(row)
    for what, wanted in asked.items():
        if getattr(settings, what) != wanted:
            raise ConflictError(
                f"scenario {shown(scenario)}: its {what} is "
                f"'{getattr(settings, what)}' since it was made, and '{wanted}' was asked for. "
                "Leave the settings out, or use a new name."
            )
    since = (row["chapter_at"] or 0, row["chapter_since"] or 0)
    world = World(settings, chapter=row["chapter"], chapter_since=since,
                  aliases=read_aliases(aliases), strict=row["strict"],
                  seq=counters[SEQ], at=counters.get(AT, 0), epoch=counters.get(EPOCH, 0),
                  voids=counters.get(VOIDS, 0))
    world.agents = {row["name"]: counters.get(MIND + row["name"], 0) for row in agents}
    world.rooms = {
        row["name"]: Room(row["kind"], row["history"], row["reads"]) for row in rooms
    }
    world.entities = {row["name"]: None for row in entities}
    world.present = {room: {} for room in world.rooms}
    for row in presence:
        stay = Stay(row["agent"], row["room"], row["since"], since_at=row["since_at"],
                    away=row["away"])
        world.present[stay.room][stay.agent] = stay
    for row in departures:
        if world.chapter is not None and row["agent"] not in world.present[world.chapter]:
            world.exits[row["agent"]] = (row["at"], row["until"])
    world.locations = {row["entity"]: Location(row["name"], row["is_room"]) for row in locations}
    world.truths = {row["entity"]: Truth(row["value"], row["at"], row["seq"]) for row in truths}
    return world
