"""The database against a replay of the log: the specification's property 3, as a check to run.

The log is the truth and a mind is a projection of it, so folding the log from the start through
the same pure functions must give exactly what the minds hold, and who witnessed what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .database import Call, Database, Row
from .errors import UnknownNameError
from .events import LoggedEvent
from .names import mind_key, shown, world_key
from .route import route
from .world import Settings, World, advance
from .writes import belief_row, logged_event


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as the log has it.

    ``what``: a belief (or, of the world, who witnessed an event) is "lost" or "extra"; a belief is
    "closed" though no newer one covers it, so that reads miss it; or an event is "missing" from
    the log. ``agent`` is None for the log itself.
    """

    agent: str | None
    what: str
    belief: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a log gives: the beliefs of every mind, and who witnessed what as which of its steps."""

    minds: dict[str, list[dict[str, Any]]]
    witnessed: list[dict[str, Any]]


def replay(events: list[LoggedEvent], settings: Settings) -> Replay:
    """Fold a log, in the order of (at, seq)."""
    world = World(settings)
    found = Replay({}, [])
    for event in events:
        changes = advance(world, event)
        found.minds.update({agent: [] for agent in changes.agents})
        routed = route(event, world, changes)
        for agent in routed.witnesses:
            world.agents[agent] += 1
            found.witnessed.append({"seq": event.seq, "agent": agent, "step": world.agents[agent]})
        for belief in routed.beliefs:
            step = world.agents[belief.mind]
            found.minds[belief.mind].append(belief_row(belief, event, step, routed.witnesses))
    return found


def verify(database: Database, scenario: str) -> list[Difference]:
    """Compare a scenario, at one moment, with a replay of its log; an empty list is all well."""
    key = world_key(scenario)
    agents = [row["name"] for row in database.read(key, "world/agents")]
    settings, rows, witnessed, *minds = database.read_together([
        Call(key, "world/scenario", {}),
        Call(key, "world/events", {"after": 0}),
        Call(key, "world/witnessed", {}),
        *(Call(mind_key(scenario, agent), "mind/contents", {}) for agent in agents),
    ])
    if not settings:
        raise UnknownNameError(f"scenario: there is none called {shown(scenario)} in this store.")
    chosen = Settings(settings[0]["policy"], settings[0]["rooms"])
    expected = replay([logged_event(row) for row in rows], chosen)
    held = dict(zip(agents, minds, strict=True))
    differences = [
        Difference(None, "missing", {"seq": seq})
        for seq in sorted(set(range(1, len(rows) + 1)) ^ {row["seq"] for row in rows})
    ]
    differences += _compared(None, expected.witnessed, witnessed)
    for agent in expected.minds | held:
        beliefs = held.get(agent, [])
        active = [row.pop("active") for row in beliefs]
        differences += _compared(agent, expected.minds.get(agent, []), beliefs)
        differences += [Difference(agent, "closed", row) for row in _hidden(beliefs, active)]
    return differences


def _hidden(beliefs: list[Row], active: list[bool]) -> Iterator[Row]:
    """Beliefs that were closed though no newer one covers them."""
    newest_first: dict[str, list[Row]] = {}
    for row in sorted(beliefs, key=lambda row: (row["at"], row["step"]), reverse=True):
        newest_first.setdefault(row["entity"], []).append(row)
    for row, on_frontier in zip(beliefs, active, strict=True):
        if not on_frontier and not any(_covers(n, row) for n in newest_first[row["entity"]]):
            yield row


def _compared(agent: str | None, expected: list[Row], found: list[Row]) -> Iterator[Difference]:
    for what, one, other in (("lost", expected, found), ("extra", found, expected)):
        left = Counter(map(_key, other))
        for row in one:
            if left[_key(row)]:
                left[_key(row)] -= 1
            else:
                yield Difference(agent, what, row)


def _key(row: Row) -> str:
    return repr(sorted(row.items()))


def _covers(newer: Row, older: Row) -> bool:
    """Whether a belief is newer than another and answers every chain that the other answers."""
    return (
        newer["entity"] == older["entity"]
        and (newer["at"], newer["step"]) > (older["at"], older["step"])
        and newer["min_depth"] <= older["min_depth"]
        and (newer["max_depth"] is None
             or (older["max_depth"] is not None and newer["max_depth"] >= older["max_depth"]))
        and set(older["members"]) <= set(newer["members"])
        and (newer["about"] == older["about"]
             or (newer["about"] is None and older["about"] in newer["members"]))
    )
