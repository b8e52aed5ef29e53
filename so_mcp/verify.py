"""Every mind against a replay of the log: the specification's property 3, as a check to run.

The log is the truth and a mind is a projection of it, so folding the log from the start through
the same pure functions must give exactly what the minds hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .database import Call, Database
from .errors import UnknownNameError
from .events import LoggedEvent
from .names import mind_key, shown, world_key
from .recorder import belief_row, logged_event
from .route import route
from .world import Settings, World, advance


@dataclass(frozen=True, slots=True)
class Difference:
    """A belief that a mind holds and the log does not give ("extra"), or the reverse ("lost")."""

    agent: str
    what: str
    belief: dict[str, Any]


def replay(events: list[LoggedEvent], settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Fold a log, in the order of (at, seq), into the beliefs of every mind."""
    world = World(settings)
    minds: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        changes = advance(world, event)
        minds.update({agent: [] for agent in changes.agents})
        routed = route(event, world, changes)
        for agent in routed.witnesses:
            world.agents[agent] += 1
        for belief in routed.beliefs:
            step = world.agents[belief.mind]
            minds[belief.mind].append(belief_row(belief, event, step, routed.witnesses))
    return minds


def verify(database: Database, scenario: str) -> list[Difference]:
    """Compare the minds in the database with a replay of the log in it."""
    key = world_key(scenario)
    settings, rows = database.read_all(
        [Call(key, "world/scenario", {}), Call(key, "world/events", {"after": 0})]
    )
    if not settings:
        raise UnknownNameError(f"scenario: there is none called {shown(scenario)} in this store.")
    chosen = Settings(settings[0]["policy"], settings[0]["rooms"])
    expected = replay([logged_event(row) for row in rows], chosen)
    found = database.read_all(
        [Call(mind_key(scenario, agent), "mind/contents", {}) for agent in expected]
    )
    differences = []
    for (agent, beliefs), held in zip(expected.items(), found, strict=True):
        for what, one, other in (("lost", beliefs, held), ("extra", held, beliefs)):
            left = list(other)
            for belief in one:
                if belief in left:
                    left.remove(belief)
                else:
                    differences.append(Difference(agent, what, belief))
    return differences
