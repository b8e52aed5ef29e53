"""What happened, in order: the log, what somebody missed of it, and what it did to minds.

The supervisor's `timeline`, `missed` and `replay` read the world beside the minds; `what_changed`
reads one mind alone. Each is computed by catalogue queries when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .attention import Attention, Why, attention_call
from .database import Call, Database, Row
from .errors import InvalidInputError
from .minds import EVER, MAX_CHAINS, Held, Past, Since, ask_all_with, histories, people
from .names import world_key
from .seen import SeenEvent, seen_event, with_targets
from .world import Order

Chain = tuple[str, ...]
BEGINNING = Since()
RETRACTED = "retracted"  # how a change came that is no belief


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events of the log, newest last; ``total``: how many there are without the limit."""

    events: tuple[SeenEvent, ...]
    total: int


@dataclass(frozen=True, slots=True)
class MissedEvent:
    """An event that an agent did not take in; whoever did could tell it.

    ``knows``: it believes the value all the same, as of the time that was asked about. ``why``:
    "absent"; "noticed": it saw them talk; "readable": the history of a room it is in now shows it;
    "unread": it was delivered and not read; "away"; "distracted": it was there and attended not.
    """

    event: SeenEvent
    knows: bool
    why: Why


@dataclass(frozen=True, slots=True)
class Missed:
    """What an agent missed, newest first; ``total``: how much it is without the limit."""

    agent: str
    events: tuple[MissedEvent, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Change:
    """A chain came to believe something else: ``held``, in place of the value ``before``.

    None as value is unknown. Where what it held was retracted, ``held`` is what is left: its ``at``
    is when that happened, its ``via`` "retracted", and its ``step`` that of the retraction.
    """

    chain: Chain
    before: str | None
    held: Held


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a replay: who was in which room just after it, and which chains it changed."""

    event: SeenEvent
    where: dict[str, tuple[str, ...]]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """What happened to an entity and to what is believed of it, in order. ``cut``: not from the start.

    ``order``: 1 where so many saw it that what they think of each other was not followed.
    """

    entity: str
    steps: tuple[Step, ...]
    cut: bool
    order: Literal[1, 2] = 2


def checked_limit(limit: int) -> int:
    """The argument ``limit`` of every question here."""
    if limit < 1:
        raise InvalidInputError(f"limit: expected 1 or more, got {limit}.")
    return limit


def timeline(
    database: Database,
    scenario: str,
    entity: str | None = None,
    agent: str | None = None,
    since: Since = BEGINNING,
    as_of: int | None = None,
    limit: int = 20,
) -> Timeline:
    """The log, of one entity or all; with ``agent`` what that one witnessed. The newest are kept."""
    [rows] = database.read_all([_timeline(scenario, entity, agent, since, as_of, limit)])
    events = with_targets(database, scenario, [seen_event(row) for row in reversed(rows)])
    return Timeline(tuple(events), _total(rows))


def missed(
    database: Database,
    scenario: str,
    agent: str,
    since: Since = BEGINNING,
    entity: str | None = None,
    as_of: int | None = None,
    limit: int = 20,
) -> Missed:
    """What an agent did not take in, nor has otherwise, of what holds a value or words; and why."""
    [rows] = database.read_all([attention_call(scenario, as_of)])
    attention = Attention(rows)
    call = _timeline(scenario, entity, agent, since, as_of, limit, list(attention.otherwise(agent)))
    own, rows = ask_all_with(database, scenario, [(agent,)], entity, as_of, call)
    believed = {name: held.value for (_, name), held in own.items()}
    events = with_targets(database, scenario, [seen_event(row) for row in rows])
    whys = attention.whys((agent, event) for event in events)
    found = [
        MissedEvent(event, _knows(believed, event), why)
        for event, why in zip(events, whys, strict=True)
    ]
    return Missed(agent, tuple(found), _total(rows))


def replay(
    database: Database, scenario: str, entity: str, as_of: int | None = None, limit: int = 20
) -> Replay:
    """The newest ``limit`` events about an entity, and those by which it was seen since.

    Beliefs of order 1 and 2 are told apart by the mind's own step of each event, for those of one
    batch share a moment. Three round trips; a mind is read once.
    """
    [about] = database.read_all([_timeline(scenario, entity, None, Since(), as_of, limit)])
    if not about:
        return Replay(entity, (), cut=False)
    upto = EVER if as_of is None else as_of
    first, world = about[-1], world_key(scenario)
    entrances, stays = database.read_all([
        Call(world, "world/entrances", {
            "entity": entity, "at": first["at"], "after": first["seq"], "as_of": upto,
        }),
        Call(world, "world/stays", {"ended": first["at"]}),
    ])
    rows = sorted([*about, *entrances], key=lambda row: (row["at"], row["seq"]))
    asked = _followed(rows)
    order: Literal[1, 2] = 2
    if sum(len(chains) for chains, _ in asked.values()) > MAX_CHAINS:
        order, asked = 1, {agent: (chains[:1], since) for agent, (chains, since) in asked.items()}
    changes = _changes_at(rows, histories(database, scenario, asked, entity, as_of))
    events = with_targets(database, scenario, [seen_event(row) for row in rows])
    steps = [
        Step(event, _where(stays, event.order), tuple(changes[event.number]))
        for event in events
        if event.kind != "enter" or changes[event.number]
    ]
    return Replay(entity, tuple(steps), _total(about) > len(about), order)


def what_changed(
    database: Database, scenario: str, agent: str, since: Since = BEGINNING
) -> list[Change]:
    """What a mind came to believe, and to think that others believe, newest last: its own graph.

    What was voided was never there, and is not told.
    """
    others = people(database, scenario, agent)
    chains = [(agent,), *((agent, other) for other in others)]
    pasts = histories(database, scenario, {agent: (chains, since)})
    changes = [change for past in pasts.values() for change in _changes(past)]
    return sorted(changes, key=lambda c: (c.held.known, c.held.step, c.held.entity, c.chain))


def _timeline(
    scenario: str,
    entity: str | None,
    agent: str | None,
    since: Since,
    as_of: int | None,
    limit: int,
    otherwise: Sequence[int] | None = None,
) -> Call:
    """With ``otherwise``, what the agent has of another event, it asks what that one missed."""
    return Call(world_key(scenario), "world/timeline", {
        "entity": entity, "agent": agent, "missed": otherwise is not None,
        "otherwise": list(otherwise or ()),
        "after": since.step, "since": since.at, "as_of": EVER if as_of is None else as_of,
        "limit": limit,
    })


def _total(rows: list[Row]) -> int:
    return int(rows[0]["total"]) if rows else 0


def _knows(believed: dict[str, str | None], event: SeenEvent) -> bool:
    if event.entity is None or event.value is None or event.speaks_as == "report":
        return False
    return believed.get(event.entity) == event.value


def _followed(rows: list[Row]) -> dict[str, tuple[list[Chain], Since]]:
    """What to follow of each mind that witnessed an event: itself, and what it thinks of the others."""
    begins: dict[str, int] = {}
    others: dict[str, dict[str, None]] = {}
    for row in rows:
        reached = [*row["witnesses"], *filter(None, [seen_event(row).about])]
        for agent in row["witnesses"]:
            begins.setdefault(agent, row["at"])
            others.setdefault(agent, {}).update(dict.fromkeys(reached))
    return {
        agent: (
            [(agent,), *((agent, other) for other in others[agent] if other != agent)],
            Since(at=begin),
        )
        for agent, begin in begins.items()
    }


def _changes_at(
    rows: list[Row], pasts: dict[tuple[Chain, str], Past]
) -> dict[int, list[Change]]:
    """The changes that each event brought, by its number; shallow chains first."""
    numbers = {
        (agent, step): row["seq"]
        for row in rows
        for agent, step in zip(row["witnesses"], row["steps"], strict=True)
    }
    found: dict[int, list[Change]] = {row["seq"]: [] for row in rows}
    for change in (change for past in pasts.values() for change in _changes(past)):
        number = numbers.get((change.chain[0], change.held.step))
        if number is not None:  # None: recorded since the events were read
            found[number].append(change)
    for changes in found.values():
        changes.sort(key=lambda change: (len(change.chain), change.chain))
    return found


def _changes(past: Past) -> Iterable[Change]:
    """What was added, or retracted, changes what is held where it is newer: one may come late."""
    counting = list(past.before)
    before = _newest(counting)
    for held, went in _in_turn(past):
        (counting.remove if went else counting.append)(held)
        now = _newest(counting)
        value, old = (None if one is None else one.value for one in (now, before))
        if value != old:
            yield Change(held.chain, old, _gone(held, value) if went else held)
        before = now


def _newest(counting: Iterable[Held]) -> Held | None:
    return max(counting, key=lambda held: held.order, default=None)


def _gone(held: Held, left: str | None) -> Held:
    """A retraction of something, as a change to what is left."""
    at, step = held.gone or (held.at, held.step)
    return replace(
        held, value=left, at=at, known=at, step=step, via=RETRACTED, source=None, through=None,
        text=None,
    )


def _in_turn(past: Past) -> Iterator[tuple[Held, bool]]:
    """What came as it came, and between it what went (True); nothing goes before it has come."""
    turns = [(past.turn(held.known, held.step), False, held) for held in past.added]
    for held in (*past.before, *past.added):
        if held.gone is not None:
            came = past.turn(held.known, held.step) if held in past.added else (0, 0)
            turns.append((max(past.turn(*held.gone), came), True, held))
    turns.sort(key=lambda turn: turn[:2])
    return ((held, went) for _, went, held in turns)


def _where(stays: list[Row], order: Order) -> dict[str, tuple[str, ...]]:
    """Who was in each room just after an event; empty rooms are left out."""
    rooms: dict[str, list[str]] = {}
    for stay in stays:
        came = (stay["since_at"], stay["since"])
        if came <= order and (
            stay["until"] is None or (stay["until_at"], stay["until"]) > order
        ):
            rooms.setdefault(stay["room"], []).append(stay["agent"])
    return {room: tuple(sorted(agents)) for room, agents in sorted(rooms.items())}
