"""What there is: a scenario as it stands now, and one mind as the graph that holds it.

For resources, which a person or a host reads whole; tools answer questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .database import Call, Database
from .names import mind_key, world_key


@dataclass(frozen=True, slots=True)
class Place:
    """A room, who is in it, and which entities lie openly there."""

    room: str
    kind: str
    agents: tuple[str, ...]
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """What is so of an entity (``value`` None: no longer known), since when (ms), by which event."""

    entity: str
    value: str | None
    since: int
    event: int


@dataclass(frozen=True, slots=True)
class State:
    """Who is where, and what is so. ``nowhere``: agents that are in no room."""

    rooms: tuple[Place, ...]
    nowhere: tuple[str, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class MindGraph:
    """The nodes and edges of one mind, as its graph in the database holds them.

    Nodes are numbered here, in the mind's own order. ``at`` and ``until`` are in milliseconds
    since 1970; what a belief does not have is left out.
    """

    nodes: tuple[dict[str, Any], ...]
    edges: tuple[dict[str, Any], ...]


def state(database: Database, scenario: str) -> State:
    """The scenario as it stands now, in one round trip; an empty one where nothing happened."""
    world = world_key(scenario)
    agents, rooms, presence, locations, truths = database.read_all(
        [
            Call(world, "world/agents", {}),
            Call(world, "world/rooms", {}),
            Call(world, "world/presence", {}),
            Call(world, "world/locations", {}),
            Call(world, "world/truths", {"entity": None}),
        ]
    )
    present = {row["agent"] for row in presence}
    return State(
        tuple(
            Place(
                room["name"],
                room["kind"],
                tuple(row["agent"] for row in presence if row["room"] == room["name"]),
                tuple(
                    row["entity"]
                    for row in locations
                    if row["is_room"] and row["name"] == room["name"]
                ),
            )
            for room in rooms
        ),
        tuple(row["name"] for row in agents if row["name"] not in present),
        tuple(Fact(row["entity"], row["value"], row["at"], row["seq"]) for row in truths),
    )


def mind_graph(database: Database, scenario: str, agent: str) -> MindGraph:
    """One mind, drawn: one read of it."""
    rows = database.read(mind_key(scenario, agent), "mind/graph")
    names = {row.pop("id"): f"belief {number}" for number, row in enumerate(rows, 1)}
    nodes, edges = [], []
    for name, row in zip(names.values(), rows, strict=True):
        replaced, active = row.pop("replaced"), row.pop("active")
        held = {key: value for key, value in row.items() if value is not None}
        nodes.append({"id": name, "labels": ["Belief", *["Active"] * active], **held})
        edges += [{"from": name, "type": "REPLACED", "to": names[older]} for older in replaced]
    return MindGraph(tuple(nodes), tuple(edges))
