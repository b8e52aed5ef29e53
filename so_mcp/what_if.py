"""What would happen: events tried on a fork, and what everyone would believe afterwards.

The events go through the same engine as recorded ones do, so the answer is what recording gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import InvalidInputError
from .events import Event, check_events
from .minds import MAX_CHAINS, ask_values
from .names import world_key
from .progress import Progress, silent
from .questions import Questions

if TYPE_CHECKING:
    from .memory import Memory
    from .recorder import Record

MAX_DEPTH = 3
Chain = tuple[str, ...]


class Beliefs:
    """What chains of minds believe at one moment; the empty chain is what is so.

    So one rule judges every depth (specification, "Wrong, missing, no verdict"): a chain is right
    or wrong where both it and the rest of it are known.
    """

    def __init__(
        self, memory: Memory, chains: Sequence[Chain], entities: Sequence[str] | None = None
    ) -> None:
        """Read them: of each entity (None: all at once) every mind once, and the truth."""
        self.values: dict[tuple[Chain, str], str] = {}
        world = world_key(memory.scenario)
        for entity in [None] if entities is None else entities:
            for row in memory.database.read(world, "world/truths", entity=entity):
                if row["value"] is not None:
                    self.values[(), row["entity"]] = row["value"]
            self.values |= ask_values(memory.database, memory.scenario, chains, entity)

    def value(self, chain: Chain, entity: str) -> str | None:
        """What a chain believes; None when it is unknown."""
        return self.values.get((chain, entity))

    def verdict(self, chain: Chain, entity: str) -> Literal["wrong", "right"] | None:
        """Whether a chain is right; None where one side is unknown."""
        mine, actual = self.value(chain, entity), self.value(chain[1:], entity)
        if mine is None or actual is None:
            return None
        return "right" if mine == actual else "wrong"

    def wrong(self, depth: int) -> int:
        """How many of the chains that were read are wrong at a depth."""
        return sum(
            len(chain) == depth and self.verdict(chain, entity) == "wrong"
            for chain, entity in self.values
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A chain that would believe something else, or would become wrong or right as it is.

    None is unknown. ``actual`` is, afterwards, the truth at depth 1, and deeper what the rest of
    the chain really believes. ``becomes``: the verdict, where it was not that before.
    """

    chain: Chain
    entity: str
    before: str | None
    after: str | None
    actual: str | None
    becomes: Literal["wrong", "right"] | None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What recording would answer and change, by every chain to ``depth``.

    ``changes`` are in order: shallow first, and of one depth those that become wrong first.
    ``left_out``: why ``depth`` is less than was asked, as a sentence.
    """

    record: Record
    changes: tuple[Change, ...]
    depth: int
    left_out: str | None


def what_if(
    memory: Memory,
    events: Iterable[Event | Mapping[str, Any]],
    depth: int = 2,
    *,
    progress: Progress = silent,
) -> WhatIf:
    """Record ``events`` on a fork, and compare every chain to ``depth`` (1 to 3) of every entity.

    Compared less deep, and the answer says so, where there are too many agents for it. Raises
    `InvalidEventError` as recording does.
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise InvalidInputError(f"depth: expected 1 to {MAX_DEPTH}, got {depth}.")
    events = events if isinstance(events, Sequence) else list(events)  # they are gone through twice
    checked = check_events(events)  # before a fork is made for nothing
    progress(0, 4, "copying the scenario")
    with memory.fork() as fork:
        progress(1, 4, "reading what everyone believes")
        names = Questions(fork.database, fork.scenario).names()
        named = [name for event in checked for name in event.named_agents()]
        meant = [names.aliases.get(("agent", name), name) for name in named]
        everyone = list(dict.fromkeys([*names.agents, *meant]))
        compared = deepest(len(everyone), depth)
        chains = chains_to(compared, everyone)
        # What an event is about is all that it changes; but entering may show whatever lies there.
        about = {names.entity(event.entity) for event in checked if event.entity is not None}
        entities = None if any(event.kind == "enter" for event in checked) else sorted(about)
        before = Beliefs(fork, chains, entities)
        progress(2, 4, "recording the events on the copy")
        record = fork.record(events)
        progress(3, 4, "comparing what everyone believes")
        after = Beliefs(fork, chains, entities)
    left_out = None if compared == depth else (
        f"Not compared deeper than {compared}: there are {len(everyone)} agents."
    )
    return WhatIf(record, _changes(before, after), compared, left_out)


def chains_to(depth: int, agents: Sequence[str]) -> list[Chain]:
    """Every chain over ``agents`` from depth 1 to ``depth``, shallow first, neighbours distinct."""
    layer: list[Chain] = [(agent,) for agent in agents]
    chains = list(layer)
    for _ in range(depth - 1):
        layer = [(agent, *rest) for agent in agents for rest in layer if agent != rest[0]]
        chains += layer
    return chains


def deepest(agents: int, depth: int) -> int:
    """The largest depth, at most ``depth``, to which all chains over so many agents are read."""
    while depth > 1 and sum(agents * (agents - 1) ** k for k in range(depth)) > MAX_CHAINS:
        depth -= 1
    return depth


def _changes(before: Beliefs, after: Beliefs) -> tuple[Change, ...]:
    changes = []
    for chain, entity in {**before.values, **after.values}:
        if not chain:
            continue
        was, will_be = before.value(chain, entity), after.value(chain, entity)
        verdict = after.verdict(chain, entity)
        becomes = verdict if verdict != before.verdict(chain, entity) else None
        if was != will_be or becomes is not None:
            actual = after.value(chain[1:], entity)
            changes.append(Change(chain, entity, was, will_be, actual, becomes))
    urgency = {"wrong": 0, "right": 1, None: 2}
    return tuple(sorted(changes, key=lambda c: (len(c.chain), urgency[c.becomes])))
