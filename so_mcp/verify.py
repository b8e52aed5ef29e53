"""The database against a replay of the log, and the mending of what differs (property 3).

The log is the truth and everything else a projection of it, so folding it from the start must give
exactly what the world and the minds hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .database import Call, Database, Transaction
from .errors import UnknownNameError
from .events import LoggedEvent
from .log import log_calls, log_of
from .names import EPOCH, mind_key, new_epoch, shown, world_key
from .projection import (
    BELIEF,
    Projection,
    Tables,
    belief_key,
    in_order,
    project,
    replaced,
    tables,
)
from .projection import Row as BeliefRow
from .reading import counters_of, settings_of
from .recorder import Recorder
from .rewrite import difference, rewriting
from .world import Settings

_WORLD: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    # what verify compares: the query, its parameters, and the columns of a row
    "agent": ("world/agents", {}, ("name",)),
    "room": ("world/rooms", {}, ("name", "kind", "history", "reads")),
    "entity": ("world/entities", {}, ("name",)),
    "located": ("world/locations", {}, ("entity", "name", "is_room")),
    "truth": ("world/truths", {"entity": None}, ("entity", "seq")),
    "stay": ("world/stays", {"ended": 0},
             ("agent", "room", "since", "since_at", "until", "until_at", "away")),
    "told": ("world/told_by", {}, ("seq", "speaker", "listener", "trusted")),
    "read": ("world/readings", {}, ("seq", "agent")),
    "noticed": ("world/noticings", {}, ("seq", "agent", "step")),
    "witnessed": ("world/witnessed", {}, ("seq", "agent", "step")),
}
_COLUMNS = {**{table: columns for table, (_, _, columns) in _WORLD.items()},
            "chapter": ("place", "at", "since"), "void": ("seq",), "belief": BELIEF,
            "aside": ("step", "at", "agents", "room")}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as the log has it.

    ``what``: a belief, or something of the world such as who witnessed an event, is "lost" or
    "extra"; a belief is "closed" though no newer one covers it, so that reads miss it; or an event
    is "missing" from the log, which nothing can mend. ``agent`` is None for the world.
    """

    agent: str | None
    what: str
    of: str
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Found:
    """A scenario as it is at one moment."""

    log: list[LoggedEvent]
    settings: Settings
    tables: Tables
    closed: list[tuple[str, BeliefRow]]  # off the frontier, and nothing covers them


def verify(database: Database, scenario: str) -> list[Difference]:
    """Compare a scenario, at one moment, with a replay of its log; an empty list is all well."""
    found = _found(database, scenario)
    return list(_differences(found, project(found.log, found.settings)))


def repair(
    database: Database, scenario: str, recorder: Recorder, agent: str | None = None
) -> list[Difference]:
    """Make the scenario, or one agent's mind alone, what its log says; what differed before.

    One transaction. What is missing from the log itself cannot be mended, and is returned too.
    """

    def attempt(transaction: Transaction) -> list[Difference]:
        counters = dict.fromkeys(transaction.watch(), 0)
        found = _found(database, scenario)
        projection = project(found.log, found.settings)
        differences = [
            d for d in _differences(found, projection) if agent is None or d.agent == agent
        ]
        if not differences:
            transaction.unwatch()
            return []
        differs = difference(tables(projection), found.tables)
        for mind, row in found.closed:  # not opened one by one: the mind is made anew
            differs.extra.setdefault(("belief", mind), Counter([row]))
        if agent is not None:
            for side in differs:
                for table in [table for table in side if table[1] != agent]:
                    del side[table]
        writes = rewriting(scenario, differs, projection)
        counters |= counters_of(projection.world) | {EPOCH: new_epoch()}
        transaction.commit(counters, writes.calls, first=writes.first)
        return differences

    return recorder.retrying(attempt)


def _found(database: Database, scenario: str) -> _Found:
    key = world_key(scenario)
    agents: list[str] = []
    while True:  # until nobody was named between the two reads
        minds = [mind_key(scenario, agent) for agent in agents]
        settings, *answers = database.read_together([
            Call(key, "world/scenario", {}),
            *log_calls(scenario),
            *(Call(key, query, params) for query, params, _ in _WORLD.values()),
            *(Call(mind, "mind/contents", {}) for mind in minds),
            *(Call(mind, "mind/asides", {"since": 0}) for mind in minds),
        ])
        if not settings:
            raise UnknownNameError(f"scenario: there is none called {shown(scenario)} in this store.")
        log, answers = answers[:2], answers[2:]
        world = dict(zip(_WORLD, answers, strict=False))
        named = [name for event in log_of(log) for name in event.named_agents()]
        known = list(dict.fromkeys([*(row["name"] for row in world["agent"]), *named]))
        if known == agents:
            break
        agents = known
    [row] = settings
    found: Tables = {
        (table, None): Counter(tuple(r[name] for name in _WORLD[table][2]) for r in rows)
        for table, rows in world.items()
    }
    found["void", None] = Counter((r["seq"],) for r in log[1])
    chapter = (row["chapter"], row["chapter_at"], row["chapter_since"])
    found["chapter", None] = Counter([] if row["chapter"] is None else [chapter])
    closed = []
    held, noticed = answers[len(_WORLD):][:len(agents)], answers[len(_WORLD) + len(agents):]
    for agent, rows in zip(agents, noticed, strict=True):
        found["aside", agent] = Counter(
            (r["step"], r["at"], tuple(r["agents"]), r["room"]) for r in rows
        )
    for agent, rows in zip(agents, held, strict=True):
        found["belief", agent] = Counter(belief_key(r) for r in rows)
        closed += [(agent, belief_key(r)) for r in rows if not r["active"]]
    chosen = settings_of(row)
    return _Found(log_of(log), chosen, found, _wrongly(closed, found))


def _wrongly(
    closed: list[tuple[str, BeliefRow]], found: Tables
) -> list[tuple[str, BeliefRow]]:
    """Of the beliefs that are closed, those that no newer one covers."""
    frontier: dict[str, set[BeliefRow]] = {}
    for mind in {mind for mind, _ in closed}:
        rows = in_order(found["belief", mind])
        newer = replaced(rows)
        frontier[mind] = {row for row, by in zip(rows, newer, strict=True) if by is None}
    return [(mind, row) for mind, row in closed if row in frontier[mind]]


def _differences(found: _Found, projection: Projection) -> Iterator[Difference]:
    numbers = {event.seq for event in found.log}
    for seq in sorted(set(range(1, max(numbers, default=0) + 1)) - numbers):
        yield Difference(None, "missing", "event", {"seq": seq})
    expected = tables(projection)
    del expected["retracted", None]  # kept nowhere but in what is so
    differs = difference(expected, found.tables)
    for what, side in (("lost", differs.lost), ("extra", differs.extra)):
        for (table, mind), rows in side.items():
            for row in rows.elements():
                columns = dict(zip(_COLUMNS[table], row, strict=True))
                yield Difference(mind, what, table, columns)
    for mind, row in found.closed:
        yield Difference(mind, "closed", "belief", dict(zip(BELIEF, row, strict=True)))
