"""The scenarios of a store: which there are, playing a sample into one, and clearing one.

A scenario that is cleared is gone: its log, its minds, its counters and its forks. Logins stay:
they are for names, and read an empty mind until events reach it again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import scenarios
from .database import Call, Database, Transaction
from .errors import ConflictError, InvalidInputError
from .events import History, Reads
from .names import name_of, scenario_of, shown, world_key
from .reading import settings_of
from .recorder import Record, Recorder
from .wording import counted
from .world import Policy, RoomKind, World

if TYPE_CHECKING:
    from .memory import Memory

_LAST_PART = re.compile(r"(world|mind:[^:]*)$")


@dataclass(frozen=True, slots=True)
class Stored:
    """A scenario of the store, in numbers; ``newest_at`` in milliseconds since 1970."""

    name: str
    agents: int
    entities: int
    events: int
    newest_at: int | None
    policy: Policy
    rooms: RoomKind
    history: History
    reads: Reads
    strict: bool


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was deleted with a scenario, in numbers."""

    events: int
    agents: int
    entities: int
    forks: int

    def __str__(self) -> str:
        """In words."""
        parts = [
            counted(self.events, "event"), f"the minds of {counted(self.agents, 'agent')}",
            counted(self.entities, "entity", "entities"),
        ]
        if self.forks:
            parts.append(counted(self.forks, "fork"))
        return ", ".join(parts)


def stored(database: Database) -> list[Stored]:
    """Every scenario of the store, by name; forks are none."""
    names = sorted(filter(None, map(scenario_of, database.graphs())))
    found = database.read_all([_summary(name) for name in names]) if names else []
    # One that was cleared since it was listed has no row.
    return [Stored(name, **row) for name, rows in zip(names, found, strict=True) for row in rows]


def load(memory: Memory, sample: str) -> tuple[scenarios.Scenario, Record]:
    """Play a sample into a scenario in which nothing has happened, or nothing but that sample.

    Its ids make it harmless to do it twice, or again after it was cut off. Raises `ConflictError`
    where something else happened, or where the scenario is set otherwise than the sample needs.
    """
    story = scenarios.load(sample)
    ids = [event["id"] for event in story.events]
    by_id = Call(world_key(memory.scenario), "world/events_by_id", {"ids": ids})
    summary, found = memory.database.read_all([_summary(memory.scenario), by_id])
    for row in summary:
        if row["events"] > len(found) < len(ids):
            raise _in_the_way(memory.scenario, f"holds {counted(row['events'], 'event')}", sample)
        made_with, needed = settings_of(row), story.settings
        if made_with != needed:
            raise _in_the_way(
                memory.scenario, f"was made with {made_with}, and this needs {needed}", sample
            )
    return story, scenarios.play(memory, story)


def clear(memory: Memory, confirm: str, newest: int | None = None) -> Cleared:
    """Delete everything of a scenario; ``confirm`` is its name, or nothing is done.

    With ``newest`` only if nothing came after that event: it was saved up to there.

    Raises `InvalidInputError` that says what would be deleted, and by which call.
    """
    name, own = name_of(memory.scenario), world_key(memory.scenario).removesuffix("world")

    def attempt(transaction: Transaction, world: World) -> Cleared:
        graphs = memory.database.graphs(own)
        homes = {own, *(_LAST_PART.sub("", key) for key in graphs)}  # its own, and of its forks
        cleared = Cleared(world.seq, len(world.agents), len(world.entities), len(homes) - 1)
        if confirm != name:
            raise InvalidInputError(
                f"confirm: expected the name of the scenario, got {shown(confirm)}. Nothing was "
                f"deleted. It would delete {cleared}, and cannot be taken back. If that is meant, "
                f"call reset_scenario(confirm={json.dumps(name, ensure_ascii=False)})."
            )
        if newest not in (None, world.seq):
            raise ConflictError(
                f"scenario {shown(name)}: its newest event is {world.seq}, not {newest}: others "
                "recorded meanwhile. Nothing was deleted; begin again."
            )
        keys = [*graphs, *(f"{home}counters" for home in homes)]
        transaction.commit({}, [], first=[("DEL", key) for key in keys])
        return cleared

    return Recorder(memory.database, memory.scenario, {}).transact(attempt)


def _in_the_way(scenario: str, why: str, sample: str) -> ConflictError:
    name = name_of(scenario)
    return ConflictError(
        f"scenario {shown(name)} {why}. To have the sample {shown(sample)} here, call "
        f"reset_scenario(confirm={json.dumps(name, ensure_ascii=False)}) first, which deletes what "
        f"is here; or leave this as it is, and start a server with SO_SCENARIO={sample}."
    )


def _summary(scenario: str) -> Call:
    return Call(world_key(scenario), "world/summary", {})
