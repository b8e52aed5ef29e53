"""Common ground: how far the agents of a group share what they believe.

To depth 1 when all believe one known value, to depth 2 when besides all believe that all do, and so
on; *common* when every chain over the group, of every depth, gives that value (Fagin, Halpern,
Moses, Vardi, "Reasoning about Knowledge", 1995, chapter 2, for beliefs).

A group of n has n·(n-1)^(d-1) chains of depth d, and depths have no end. Each mind is read once
instead, for its scopes, and `gap` looks for the shortest chain that differs among few that stand
for all. Why they do:

1. Whether a belief covers a chain depends on the chain's depth, on whether all agents between its
   first and last are members, and on whether its last agent is a member or the one it is about.
   Call beliefs *open* to a chain when all agents between are their members, and two agents of one
   *kind* when the same beliefs have them as members and the same are about them. Then chains of one
   depth, to which the same beliefs are open and whose last agents are of one kind, are answered by
   the same belief: they are in one *state*.
2. They also go on alike. With one agent more, the last one so far comes to be between: open remains
   what has that kind as a member. What comes next may be anyone but the last: any other kind, and
   the same kind exactly if it has two agents. So one chain of each state, lengthened by one agent
   of each kind, reaches every state of the next depth (by induction, from the mind's owner alone).
3. Beyond every bound of a scope, depth itself makes no difference any more: a state that was
   reached there before leads nowhere new. There are finitely many, so the search ends, and when it
   ends without a gap there is none at any depth. It goes by depth, so the first gap is a shortest.

No fixed depth would do: when n messages each miss out another one of the group, what they say is
mutual to depth n - 1 only. Nor is there a fast way for every case (the shortest gap is a smallest
set that meets each of many sets), hence `MAX_STATES`; in practice a frontier has few circles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from .database import Call, Database, Row
from .errors import InvalidInputError
from .minds import chain_of
from .names import mind_key, shown, world_key

MAX_STATES = 50_000  # of one mind and entity: about a second

Mode = Literal["common", "mutual", "believed", "distributed"]
Chain = tuple[str, ...]
State = tuple[int, tuple[int, int]]  # open beliefs; member of these, these about it: sets of bits


@dataclass(frozen=True, slots=True)
class Ground:
    """What a group makes of one entity.

    ``depth``: every chain over the group to this depth agrees on one known value; None: of every
    depth; 0: they do not all believe the same. ``beliefs``: what each believes, in the order in
    which they were given; None is unknown. ``gap``: a shortest chain that differs and what it
    believes, where ``beliefs`` does not show it (depth 1 and more). ``truth``: what is so, if that
    is known. ``event``: one that would make it common if it was recorded now, as `Memory.record`
    takes it; None where it is common, or nobody can say which of several values is right.
    """

    entity: str
    depth: int | None
    beliefs: dict[str, str | None]
    gap: tuple[Chain, str | None] | None = None
    truth: str | None = None
    event: dict[str, Any] | None = None

    @property
    def mode(self) -> Mode:
        """How it is shared: a name for ``depth``."""
        if self.depth is None:
            return "common"
        return "mutual" if self.depth > 1 else "believed" if self.depth else "distributed"

    @property
    def value(self) -> str | None:
        """The value they share; None where they do not."""
        return None if self.depth == 0 else next(iter(self.beliefs.values()))


class ScopedBelief(NamedTuple):
    """One belief of a mind about one entity: a value, and the chains it holds for (its scope)."""

    value: str | None
    members: frozenset[str]
    min_depth: int = 1
    max_depth: int | None = None
    about: str | None = None
    retracted: tuple[frozenset[str], ...] = ()  # not for chains of only these

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """A row of mind/scopes."""
        return cls(
            row["value"], frozenset(row["members"]), row["min_depth"], row["max_depth"],
            row["about"], tuple(map(frozenset, row["retracted"])),
        )

    def covers(self, chain: Chain) -> bool:
        """The specification's "scope", as mind/belief has it, for a chain in this mind."""
        if len(chain) < self.min_depth or len(chain) > (self.max_depth or len(chain)):
            return False
        if any(circle.issuperset(chain[1:]) for circle in self.retracted):
            return False
        if self.about is None:
            return self.members.issuperset(chain[1:])
        return chain[1:][-1:] == (self.about,) and self.members.issuperset(chain[1:-1])

    def covers_all_of(self, other: ScopedBelief) -> bool:
        """Whether every chain that ``other`` covers is covered by this one."""
        if self.retracted:
            return False
        if other.min_depth < self.min_depth or not self.members.issuperset(other.members):
            return False
        if self.max_depth is not None and (other.max_depth or self.max_depth + 1) > self.max_depth:
            return False
        if self.about is None:
            return other.about is None or other.about in self.members
        return self.about == other.about


def common_ground(
    database: Database,
    scenario: str,
    group: Sequence[str],
    entity: str | None = None,
    as_of: int | None = None,
) -> list[Ground]:
    """Each entity of which one of ``group`` believes something; see `Memory.common_ground`.

    The most shared come first. One read a mind and two of the world, all in one round trip.
    """
    world = world_key(scenario)
    truths = Call(world, "world/truths", {"entity": entity}) if as_of is None else (
        Call(world, "world/truths_as_of", {"entity": entity, "as_of": as_of})
    )
    reads = [_scopes(scenario, agent, group, entity, as_of) for agent in group]
    settings, so, *found = database.read_all([Call(world, "world/scenario", {}), truths, *reads])
    held = {agent: _by_entity(rows) for agent, rows in zip(group, found, strict=True)}
    truth = {row["entity"]: row["value"] for row in so}
    grounds = []
    for name in dict.fromkeys(name for beliefs in held.values() for name in beliefs):
        minds = {agent: held[agent].get(name, []) for agent in group}
        values = {agent: answer(beliefs, (agent,)) for agent, beliefs in minds.items()}
        if any(value is not None for value in values.values()):
            depth, differs = _agreement(minds, group, values)
            event = None
            if depth is not None and as_of is None:  # nothing can be recorded into the past
                event = _making_common(name, values, truth.get(name), settings[0]["policy"])
            grounds.append(Ground(name, depth, values, differs, truth.get(name), event))
    return sorted(grounds, key=_most_shared)


def common_ground_seen(
    database: Database, scenario: str, owner: str, person: str, entity: str | None = None
) -> list[Ground]:
    """What ``owner`` shares with ``person`` as it sees it; see `AgentView.common_ground`.

    Everything that it believes about the two is in chains that begin with it: that both believe a
    value in those of depth 1 and 2, that this is mutual to depth k in those to depth k + 1. One
    read of one mind.
    """
    group = tuple(dict.fromkeys((owner, person)))
    grounds = []
    [rows] = database.read_all([_scopes(scenario, owner, group, entity)])
    for name, beliefs in _by_entity(rows).items():
        values = {agent: answer(beliefs, chain_of((owner, agent))) for agent in group}
        if any(value is not None for value in values.values()):
            depth, differs = _agreement({owner: beliefs}, group, values)
            grounds.append(Ground(name, depth - 1 if depth else depth, values, differs))
    return sorted(grounds, key=_most_shared)


def answer(beliefs: Iterable[ScopedBelief], chain: Chain) -> str | None:
    """The reading rule: the newest belief that covers the chain. ``beliefs``: newest first."""
    return next((belief.value for belief in beliefs if belief.covers(chain)), None)


def gap(
    owner: str, group: Sequence[str], beliefs: Iterable[ScopedBelief], value: str | None
) -> Chain | None:
    """A shortest chain over ``group`` that begins with ``owner`` and does not believe ``value``.

    None: there is none, of any depth. ``beliefs`` are those of the owner's mind about one entity,
    newest first. Raises `InvalidInputError` beyond `MAX_STATES`. See the top of this module.
    """
    beliefs = frontier(beliefs, group)
    bound = max(max(belief.min_depth, belief.max_depth or 1) for belief in beliefs) if beliefs else 1
    # Which circles a chain stays in decides which beliefs cover it; and of which it is retracted.
    circles = [b.members for b in beliefs] + [c for b in beliefs for c in b.retracted]
    member_of = {
        a: sum(1 << place for place, circle in enumerate(circles) if a in circle) for a in group
    }
    kind_of = {
        a: (member_of[a], sum(1 << place for place, b in enumerate(beliefs) if b.about == a))
        for a in group
    }
    kinds: dict[tuple[int, int], list[str]] = {}
    for agent in group:
        kinds.setdefault(kind_of[agent], []).append(agent)

    # One chain of each state, and what is open to it.
    layer: list[tuple[Chain, int]] = [((owner,), (1 << len(circles)) - 1)]
    beyond: set[State] = set()  # reached beyond the bound
    states = 0
    while layer:
        reached: dict[State, tuple[Chain, int]] = {}
        for chain, still_open in layer:
            if answer(beliefs, chain) != value:
                return chain
            last = chain[-1]
            opened = still_open & member_of[last] if len(chain) > 1 else still_open
            for kind, alike in kinds.items():
                after = next((agent for agent in alike if agent != last), None)
                if after is not None and (opened, kind) not in beyond:
                    reached.setdefault((opened, kind), ((*chain, after), opened))
        layer = list(reached.values())
        if layer and len(layer[0][0]) > bound:
            beyond.update(reached)
        states += len(layer)
        if states > MAX_STATES:
            raise InvalidInputError(
                f"common ground: the circles in which {shown(owner)} shares one entity overlap in "
                f"more than {MAX_STATES} ways. Ask about fewer agents, or name another entity."
            )
    return None


def frontier(beliefs: Iterable[ScopedBelief], group: Sequence[str]) -> list[ScopedBelief]:
    """The beliefs, newest first, that make a difference to some chain over ``group``.

    One that a newer one covers entirely is never the newest. And of beliefs that follow each other
    and say the same, one that another covers entirely may go: without it that other is reached.
    """
    kept: list[ScopedBelief] = []
    for belief in beliefs:
        if belief.about is not None and belief.about not in group:
            continue
        if any(newer.covers_all_of(belief) for newer in kept):
            continue
        alike = len(kept)
        while alike and kept[alike - 1].value == belief.value:
            alike -= 1
        kept[alike:] = [b for b in kept[alike:] if not belief.covers_all_of(b)] + [belief]
    return kept


def _agreement(
    minds: Mapping[str, list[ScopedBelief]], group: Sequence[str], values: Mapping[str, str | None]
) -> tuple[int | None, tuple[Chain, str | None] | None]:
    """Depth and gap of a `Ground`, over the chains that begin in these minds."""
    value, *others = dict.fromkeys(values.values())
    if others:
        return 0, None
    gaps = [gap(mind, group, beliefs, value) for mind, beliefs in minds.items()]
    shortest = min((chain for chain in gaps if chain is not None), key=len, default=None)
    if shortest is None:
        return None, None
    return len(shortest) - 1, (shortest, answer(minds[shortest[0]], shortest))


def _making_common(
    entity: str, values: Mapping[str, str | None], truth: str | None, policy: str
) -> dict[str, Any] | None:
    """One event after which the group shares what is so (or, if unknown, the one value there is).

    One of them who believes it says so to the others: by testimony, which changes no truth, where
    listeners believe it to every depth; else by a declaration. Where none believes what is so, it
    has to be shown to them.
    """
    known = [value for value in dict.fromkeys(values.values()) if value is not None]
    if truth is None and len(known) > 1:
        return None
    value = known[0] if truth is None else truth
    said = {"entity": entity, "value": value}
    speaker = next((agent for agent, believed in values.items() if believed == value), None)
    others = [agent for agent in values if agent != speaker]
    if speaker is None:
        return {"kind": "state", **said, "audience": others}
    if policy == "credulous":
        return {"kind": "tell", "speaker": speaker, "listeners": others, **said}
    return {"kind": "say", "speaker": speaker, "audience": others, **said}


def _most_shared(ground: Ground) -> tuple[bool, int, int, str]:
    """The order of answers: deepest first, then by how many believe the same, then by name."""
    held = [value for value in ground.beliefs.values() if value is not None]
    return (
        ground.depth is not None, -(ground.depth or 0), -max(map(held.count, held)), ground.entity
    )


def _scopes(
    scenario: str,
    mind: str,
    group: Sequence[str],
    entity: str | None,
    as_of: int | None = None,
) -> Call:
    params = {"entity": entity, "among": list(group)}
    key = mind_key(scenario, mind)
    if as_of is None:
        return Call(key, "mind/scopes", params)
    return Call(key, "mind/scopes_as_of", params | {"as_of": as_of})


def _by_entity(rows: Iterable[Row]) -> dict[str, list[ScopedBelief]]:
    found: dict[str, list[ScopedBelief]] = {}
    for row in rows:
        found.setdefault(row["entity"], []).append(ScopedBelief.from_row(row))
    return found
