"""The supervisor's questions: what is so, who is wrong about whom, why, and who missed what.

Each is computed by catalogue queries when it is asked; nothing is remembered between calls.
"Wrong", "missing" and "no verdict" are those of the specification of belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from .database import Call, Database, Row
from .errors import InvalidInputError, UnknownNameError
from .minds import EVER, Held, ask, ask_all, chain_of, moment
from .names import near_names, normal_name, shown, world_key
from .wording import explanation

MISSED_AT_MOST = 5
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event of the log, as answers name it.

    ``number`` is its place in the order of recording, ``at`` in milliseconds since 1970.
    """

    number: int
    at: int
    kind: str
    actor: str | None
    room: str | None
    entity: str | None
    value: str | None
    text: str | None
    about: str | None
    witnesses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FalseBelief:
    """A chain that is wrong (or, ``verdict`` "missing", has exactly one side unknown).

    ``actual`` is the truth at depth 1, and deeper what the rest of the chain really believes;
    ``missed`` are the events that would have put it right, newest first.
    """

    chain: tuple[str, ...]
    entity: str
    believed: str | None
    actual: str | None
    verdict: Literal["wrong", "missing"]
    missed: tuple[SeenEvent, ...]


@dataclass(frozen=True, slots=True)
class Knowers:
    """Who knows what is so of an entity. ``unverified``: beliefs where no truth is recorded."""

    entity: str
    truth: str | None
    up_to_date: tuple[str, ...]
    out_of_date: dict[str, str] = field(default_factory=dict)
    unaware: tuple[str, ...] = ()
    unverified: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a chain believes what it believes. ``missed``: for each of its agents, what it missed."""

    chain: tuple[str, ...]
    entity: str
    value: str | None
    held: Held | None
    event: SeenEvent | None
    missed: dict[str, tuple[SeenEvent, ...]]
    sentence: str


class Questions:
    """Answers about one scenario, with a supervisor's login."""

    def __init__(self, database: Database, scenario: str) -> None:
        """Nothing is read until something is asked."""
        self._database = database
        self._scenario = scenario
        self._world = world_key(scenario)

    def agents(self) -> list[str]:
        """Every agent, in the order of naming."""
        return [row["name"] for row in self._database.read(self._world, "world/agents")]

    def entities(self) -> list[str]:
        """Every entity, in the order of naming."""
        return [row["name"] for row in self._database.read(self._world, "world/entities")]

    def held(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Held | None:
        """The belief of a chain; None when nothing is held. One read of one mind.

        Raises `UnknownNameError` when an agent of the chain was never named in the scenario.
        """
        names = chain_of(chain)
        entity = normal_name(entity, "entity")
        found = ask(self._database, self._scenario, names, entity, moment(as_of))
        if found is None:
            self.known_agents(names)  # a slip of the pen must not look like ignorance
        return found

    def truth(self, entity: str, as_of: int | str | None = None) -> str | None:
        """What is so; None when it is not known."""
        entity = normal_name(entity, "entity")
        return self._truths(entity, moment(as_of)).get(entity)

    def explain(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Explanation:
        """Value, source event and its witnesses, what each agent missed, and one sentence."""
        names = chain_of(chain)
        entity = normal_name(entity, "entity")
        upto = moment(as_of)
        held = self.held(names, entity, upto)
        event = self._sources([held])[0] if held is not None else None
        since = (-1, 0) if event is None else (event.at, event.number)
        agents = list(dict.fromkeys(names))
        found = self._missed([[entity, agent, None, *since, None, False] for agent in agents], upto)
        missed = {agent: events for agent, events in zip(agents, found, strict=True) if events}
        value = None if held is None else held.value
        sentence = explanation(names, entity, held, event, missed)
        return Explanation(names, entity, value, held, event, missed, sentence)

    def false_beliefs(
        self,
        depth: int | None = None,
        entity: str | None = None,
        agents: Sequence[str] | None = None,
        as_of: int | str | None = None,
        *,
        missing: bool = False,
    ) -> list[FalseBelief]:
        """Every wrong chain of exactly ``depth`` (None: depths 1 and 2), shallow first.

        ``agents`` limits whose minds are looked into, ``missing=True`` adds what is missing.
        A mind is read once, whatever the depth.
        """
        if depth is not None and not 1 <= depth <= MAX_DEPTH:
            raise InvalidInputError(f"depth: expected 1 to {MAX_DEPTH}, got {depth}.")
        entity = None if entity is None else normal_name(entity, "entity")
        upto = moment(as_of)
        everyone = self.agents()
        minds = everyone if agents is None else [normal_name(name, "agents") for name in agents]
        _refuse_unknown(minds, everyone)
        depths = (1, 2) if depth is None else (depth,)
        questions = [c for d in depths for c in _chains(minds, everyone, d)]
        actual = [chain[1:] for chain in questions if len(chain) > 1]
        held = ask_all(
            self._database, self._scenario, list(dict.fromkeys(questions + actual)), entity, upto
        )
        truths = self._truths(entity, upto) if 1 in depths else {}
        entities = sorted({name for _, name in held} | set(truths))
        wrong: list[tuple[FalseBelief, Held | None]] = []
        for chain in questions:
            for name in entities:
                mine = held.get((chain, name))
                believed = None if mine is None else mine.value
                if len(chain) == 1:
                    real = truths.get(name)
                    judged = name in truths and real is not None
                else:
                    other = held.get((chain[1:], name))
                    real = None if other is None else other.value
                    judged = True
                if judged and believed != real:
                    verdict: Literal["wrong", "missing"] = (
                        "missing" if believed is None or real is None else "wrong"
                    )
                    if verdict == "wrong" or missing:
                        found = FalseBelief(chain, name, believed, real, verdict, ())
                        wrong.append((found, mine))
        return self._with_missed(wrong, upto)

    def who_knows(self, entity: str, as_of: int | str | None = None) -> Knowers:
        """Who is up to date, who is out of date and believes what, who has not heard."""
        entity = normal_name(entity, "entity")
        upto = moment(as_of)
        everyone = self.agents()
        truth = self._truths(entity, upto).get(entity)
        held = ask_all(
            self._database, self._scenario, [(agent,) for agent in everyone], entity, upto
        )
        values = {chain[0]: belief.value for (chain, _), belief in held.items()}
        known = {agent: value for agent, value in values.items() if value is not None}
        return Knowers(
            entity,
            truth,
            tuple(a for a in everyone if truth is not None and known.get(a) == truth),
            {a: v for a, v in known.items() if truth is not None and v != truth},
            tuple(a for a in everyone if a not in known),
            known if truth is None else {},
        )

    def slip_of_an_entity(self, entity: str) -> str | None:
        """A hint when no event is about ``entity`` but some are about names near it."""
        known = self.entities()
        if entity in known:
            return None
        near = near_names(entity, known)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return f"No event of this scenario is about {shown(entity)}.{hint}"

    def known_agents(self, names: Sequence[str]) -> None:
        """Raise `UnknownNameError` for a name that no event of the scenario has named."""
        _refuse_unknown(names, self.agents())

    def _truths(self, entity: str | None, as_of: int | None) -> dict[str, str | None]:
        if as_of is None:
            rows = self._database.read(self._world, "world/truths", entity=entity)
        else:
            rows = self._database.read(
                self._world, "world/truths_as_of", entity=entity, as_of=as_of
            )
        return {row["entity"]: row["value"] for row in rows}

    def _sources(self, held: Sequence[Held]) -> list[SeenEvent | None]:
        if not held:
            return []
        wanted = [[belief.chain[0], belief.at, belief.step] for belief in held]
        rows = self._database.read(self._world, "world/sources", beliefs=wanted)
        found = {row["belief"]: _seen(row) for row in rows}
        return [found.get(index) for index in range(len(held))]

    def _missed(
        self, questions: list[list[Any]], as_of: int | None
    ) -> list[tuple[SeenEvent, ...]]:
        if not questions:
            return []
        params = {
            "questions": questions,
            "limit": MISSED_AT_MOST,
            "as_of": EVER if as_of is None else as_of,
        }
        [rows] = self._database.read_all([Call(self._world, "world/missed", params)])
        found: list[list[SeenEvent]] = [[] for _ in questions]
        for row in rows:
            found[row["question"]].append(_seen(row))
        return [tuple(events) for events in found]

    def _with_missed(
        self, wrong: list[tuple[FalseBelief, Held | None]], as_of: int | None
    ) -> list[FalseBelief]:
        sources = iter(self._sources([held for _, held in wrong if held is not None]))
        questions = []
        for belief, held in wrong:
            event = None if held is None else next(sources)
            since = (-1, 0) if event is None else (event.at, event.number)
            # Deeper than 1 only what the next agent did witness can have changed its mind; and
            # what it thinks of a third, a report can have changed.
            depth = len(belief.chain)
            witness = belief.chain[1] if depth > 1 else None
            questions.append(
                [belief.entity, belief.chain[0], witness, *since, belief.actual, depth > 2]
            )
        missed = self._missed(questions, as_of)
        return [
            FalseBelief(b.chain, b.entity, b.believed, b.actual, b.verdict, events)
            for (b, _), events in zip(wrong, missed, strict=True)
        ]


def _chains(minds: Sequence[str], everyone: Sequence[str], depth: int) -> list[tuple[str, ...]]:
    """Every chain of a depth that begins in one of ``minds``, neighbours distinct."""
    return [
        (first, *rest)
        for first in minds
        for rest in product(everyone, repeat=depth - 1)
        if all(a != b for a, b in zip((first, *rest), rest, strict=False))
    ]


def _refuse_unknown(names: Sequence[str], everyone: Sequence[str]) -> None:
    for name in names:
        if name not in everyone:
            near = near_names(name, everyone)
            hint = f"Did you mean {', '.join(map(shown, near))}?" if near else (
                f"Known are: {', '.join(map(shown, everyone[:20])) or 'none yet'}."
            )
            raise UnknownNameError(f"agent: no event has named {shown(name)}. {hint}")


def _seen(row: Row) -> SeenEvent:
    return SeenEvent(
        row["seq"], row["at"], row["kind"], row["actor"], row["room"], row["entity"],
        row["value"], row["text"], row["about"], tuple(row["witnesses"]),
    )
