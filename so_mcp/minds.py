"""How a mind is asked: the reading rule, by catalogue queries on one mind's graph.

The supervisor's tools and an agent's own use these same functions; they differ in the login that
the `Database` was made with, and in whose mind they may name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from .database import Call, Database, Row
from .errors import InvalidInputError
from .events import milliseconds
from .names import brief, mind_key, normal_name

MAX_CHAINS = 20_000
LONGEST_CHAIN = 1_000  # of a chain that is asked; what is answered names all of it
EVER = 2**53  # beyond every step and every moment
_STEPS = 2**31  # as milliseconds since 1970 it is 25 January 1970


@dataclass(frozen=True, slots=True)
class Held:
    """One belief as a mind holds it. ``value`` None: unknown, an answer of its own.

    ``at`` is in milliseconds since 1970; ``step`` is the mind's own number of the event it is
    from, or by which it learned of that one; ``witnesses`` are those who took part, as it appeared
    to this mind; ``through`` is who passed it on.
    """

    chain: tuple[str, ...]
    entity: str
    value: str | None
    at: int
    step: int
    via: str
    source: str | None
    room: str | None
    text: str | None
    witnesses: tuple[str, ...]
    through: str | None = None
    # Only where history is asked:
    place: int = 0  # among what it holds from one moment
    known: int = 0  # since when it was held, ms
    gone: tuple[int, int] | None = None  # since when it was retracted for this chain, ms, and step

    @property
    def order(self) -> tuple[int, int]:
        """Where it competes with what else the mind holds."""
        return self.at, self.place

    @classmethod
    def from_row(cls, chain: tuple[str, ...], entity: str, row: Row) -> Self:
        """A row of mind/belief or mind/beliefs."""
        return cls(
            chain, entity, row["value"], row["at"], row["step"], row["via"], row["source"],
            row["room"], row["text"], tuple(row["witnesses"]), row["through"], row.get("place", 0),
            row.get("known", 0), tuple(gone) if (gone := row.get("gone")) else None,
        )


class Since(NamedTuple):
    """From where on: what happened at or after ``at`` (ms) and has a number above ``step``."""

    at: int = 0
    step: int = 0


class Past(NamedTuple):
    """What a chain held of an entity until some point, and what was added since.

    In the order in which it was added: since a step of the mind, by step; since a time, by time.
    ``before`` is newest first: all that was retracted since, and the newest that was not.
    """

    before: list[Held]
    added: list[Held]
    by_step: bool

    def turn(self, at: int, step: int) -> tuple[int, int]:
        """Where something that happened then, and reached the mind in that step, comes in."""
        return (step, at) if self.by_step else (at, step)


class Aside(NamedTuple):
    """A talk that a mind's owner noticed and heard nothing of; ``step`` is its own number of it."""

    step: int
    at: int
    agents: tuple[str, ...]
    room: str | None


def chain_of(agents: str | Sequence[str]) -> tuple[str, ...]:
    """A chain, outermost first, with repeated neighbours collapsed (A>A is A)."""
    if isinstance(agents, str):
        agents = (agents,)
    if not isinstance(agents, Sequence) or not agents:
        raise InvalidInputError(
            f"chain: expected one or more agents, outermost first, got {agents!r}. "
            "Example: ['Billing', 'Maya'] asks what Billing thinks that Maya believes."
        )
    if len(agents) > LONGEST_CHAIN:
        raise InvalidInputError(
            f"chain: expected at most {LONGEST_CHAIN} agents, got {len(agents)}. Ask a shorter chain."
        )
    chain: list[str] = []
    for position, agent in enumerate(agents):
        name = normal_name(agent, f"chain[{position}]")
        if not chain or chain[-1] != name:
            chain.append(name)
    return tuple(chain)


def moment(as_of: int | str | None) -> int | None:
    """The argument ``as_of`` of every question: milliseconds, ISO 8601 text, or None for now."""
    return None if as_of is None else milliseconds(as_of, "as_of")


def since_of(since: int | str | None) -> Since:
    """The argument ``since`` of every question: a step or a time; None is the beginning.

    An int below 2**31 is a step, as every answer names its own: a number of the log, or for an
    agent one of its own mind; what came *after* it counts. Text is ISO 8601 and a greater int
    milliseconds since 1970; what happened then or later counts.
    """
    if since is None:
        return Since()
    if type(since) is int and 0 <= since < _STEPS:
        return Since(step=since)
    try:
        return Since(at=milliseconds(since, "since"))
    except InvalidInputError:
        raise InvalidInputError(
            "since: expected a step as a number from 0, or a time such as 2026-11-29T10:00:00Z, "
            f"got {brief(since)}."
        ) from None


def ask(
    database: Database, scenario: str, chain: tuple[str, ...], entity: str, as_of: int | None = None
) -> Held | None:
    """The reading rule for one chain and entity: one read of one mind; None if nothing is held."""
    key = mind_key(scenario, chain[0])
    if as_of is not None:
        call = _beliefs_call(key, [chain], entity, as_of)
    else:
        rest, between, last, depth = _question(chain)
        params = {"entity": entity, "rest": rest, "between": between, "last": last, "depth": depth}
        call = Call(key, "mind/belief", params)
    [rows] = database.read_all([call])
    return Held.from_row(chain, entity, rows[0]) if rows else None


def ask_all(
    database: Database,
    scenario: str,
    chains: Sequence[tuple[str, ...]],
    entity: str | None = None,
    as_of: int | None = None,
) -> dict[tuple[tuple[str, ...], str], Held]:
    """Many chains at once, of one entity or all: one read a mind, all in one round trip."""
    by_mind = _by_mind(chains)
    calls = _beliefs_calls(scenario, by_mind, entity, as_of)
    return _held(by_mind, database.read_all(calls) if calls else [])


def ask_all_noticing(
    database: Database,
    scenario: str,
    chains: Sequence[tuple[str, ...]],
    entity: str | None = None,
    as_of: int | None = None,
) -> tuple[dict[tuple[tuple[str, ...], str], Held], list[Aside]]:
    """`ask_all` of one mind, and the talks that it noticed, oldest first: one round trip."""
    by_mind = _by_mind(chains)
    [mind] = by_mind
    asides = Call(mind_key(scenario, mind), "mind/asides", {"since": 0})
    *answers, rows = database.read_all([*_beliefs_calls(scenario, by_mind, entity, as_of), asides])
    noticed = [Aside(row["step"], row["at"], tuple(row["agents"]), row["room"]) for row in rows]
    return _held(by_mind, answers), [a for a in noticed if as_of is None or a.at <= as_of]


def ask_all_with(
    database: Database,
    scenario: str,
    chains: Sequence[tuple[str, ...]],
    entity: str | None,
    as_of: int | None,
    beside: Call,
) -> tuple[dict[tuple[tuple[str, ...], str], Held], list[Row]]:
    """`ask_all`, and another read beside it: all of one moment, whoever writes meanwhile.

    What minds believe is held against each other and against the world, so a supervisor's question
    must not see half an event. (An agent asks one mind, in one read.)
    """
    by_mind = _by_mind(chains)
    *answers, rows = database.read_together(
        [*_beliefs_calls(scenario, by_mind, entity, as_of), beside]
    )
    return _held(by_mind, answers), rows


def ask_values(
    database: Database,
    scenario: str,
    chains: Sequence[tuple[str, ...]],
    entity: str | None = None,
) -> dict[tuple[tuple[str, ...], str], str]:
    """`ask_all` for what is believed alone, now, where it is known: many times less to read."""
    by_mind = _by_mind(chains)
    calls = [
        Call(mind_key(scenario, mind), "mind/values",
             {"entity": entity, "chains": [_question(chain) for chain in asked]})
        for mind, asked in by_mind.items()
    ]
    answers = database.read_all(calls) if calls else []
    return {
        (asked[chain], row["entity"]): row["value"]
        for asked, rows in zip(by_mind.values(), answers, strict=True)
        for row in rows
        for chain in row["chains"]
    }


def histories(
    database: Database,
    scenario: str,
    asked: Mapping[str, tuple[Sequence[tuple[str, ...]], Since]],
    entity: str | None = None,
    as_of: int | None = None,
) -> dict[tuple[tuple[str, ...], str], Past]:
    """What was added to minds since a point of each: of every mind the chains, and from where on.

    One read a mind, all in one round trip. A chain to which nothing was added is left out.
    """
    calls = [
        Call(mind_key(scenario, mind), "mind/history", {
            "entity": entity, "chains": [_question(chain) for chain in chains],
            "since": since.at, "after": since.step, "as_of": EVER if as_of is None else as_of,
        })
        for mind, (chains, since) in asked.items()
    ]
    found: dict[tuple[tuple[str, ...], str], Past] = {}
    answers = database.read_all(calls) if calls else []
    for (chains, since), rows in zip(asked.values(), answers, strict=True):
        for row in rows:
            chain = chains[row["chain"]]
            held = Held.from_row(chain, row["entity"], row)
            past = found.setdefault((chain, row["entity"]), Past([], [], since.step > 0))
            (past.added if row["added"] else past.before).append(held)
    for past in found.values():
        past.added.sort(key=lambda held: past.turn(held.known, held.step))
        past.before.sort(key=lambda held: held.order, reverse=True)
    return found


def people(database: Database, scenario: str, mind: str) -> list[str]:
    """The other agents that a mind holds beliefs of or with."""
    rows = database.read(mind_key(scenario, mind), "mind/people")
    return [row["name"] for row in rows if row["name"] != mind]


def entities(database: Database, scenario: str, mind: str) -> list[str]:
    """Everything that a mind holds a belief about, its own or another's."""
    return [row["name"] for row in database.read(mind_key(scenario, mind), "mind/entities")]


def _beliefs_calls(
    scenario: str, by_mind: Mapping[str, list[tuple[str, ...]]], entity: str | None, as_of: int | None
) -> list[Call]:
    return [
        _beliefs_call(mind_key(scenario, mind), asked, entity, as_of)
        for mind, asked in by_mind.items()
    ]


def _held(
    by_mind: Mapping[str, list[tuple[str, ...]]], answers: Sequence[list[Row]]
) -> dict[tuple[tuple[str, ...], str], Held]:
    return {
        (asked[row["chain"]], row["entity"]): Held.from_row(asked[row["chain"]], row["entity"], row)
        for asked, rows in zip(by_mind.values(), answers, strict=True)
        for row in rows
    }


def refuse_too_many(chains: int) -> None:
    """Raise `InvalidInputError` for more chains than are read at once."""
    if chains > MAX_CHAINS:
        raise InvalidInputError(
            f"this asks {chains} chains, at most {MAX_CHAINS} are read at once. "
            "Ask a smaller depth, or name agents."
        )


def _by_mind(chains: Sequence[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    """Chains by the mind that each is asked of; refused when there are too many."""
    refuse_too_many(len(chains))
    by_mind: dict[str, list[tuple[str, ...]]] = {}
    for chain in chains:
        by_mind.setdefault(chain[0], []).append(chain)
    return by_mind


def _question(chain: tuple[str, ...]) -> list[Any]:
    rest = list(chain[1:])
    return [rest, rest[:-1], rest[-1] if rest else None, len(chain)]


def _beliefs_call(
    key: str, chains: Sequence[tuple[str, ...]], entity: str | None, as_of: int | None
) -> Call:
    params: dict[str, Any] = {"entity": entity, "chains": [_question(chain) for chain in chains]}
    if as_of is None:
        return Call(key, "mind/beliefs", params)
    return Call(key, "mind/beliefs_as_of", {**params, "as_of": as_of, "upto": EVER})
