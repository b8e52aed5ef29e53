"""The supervisor's questions: what is so, who is wrong about whom, why, and who missed what.

Each is computed by catalogue queries when it is asked; nothing is remembered between calls.
"Wrong", "missing" and "no verdict" are those of the specification of belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import Any, Literal

from . import explaining
from .attention import Attention, attention_call
from .database import Call, Database, Row
from .errors import InvalidInputError
from .events import SETTING
from .explaining import PASSED_ON
from .minds import EVER, MAX_CHAINS, Held, ask, ask_all_with, chain_of, moment, refuse_too_many
from .names import near_names, normal_name, shown, world_key
from .seen import SeenEvent, seen_event, with_targets
from .testimony import Trail, trail_of
from .vocabulary import Names, aliases_of, read_aliases
from .wording import explanation

MISSED_AT_MOST = 5
_LOOKED_AT = 4 * MISSED_AT_MOST  # of which some have nothing to do with the question
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class FalseBelief:
    """A chain that is wrong (or, ``verdict`` "missing", has exactly one side unknown).

    ``actual`` is the truth at depth 1, and deeper what the rest of the chain really believes;
    ``missed`` are the events that would have put it right: those that made it
    so first, then newest first. ``inattentive``: the event it is from, where the next of the chain
    seemed to take that in and did not.
    """

    chain: tuple[str, ...]
    entity: str
    believed: str | None
    actual: str | None
    verdict: Literal["wrong", "missing"]
    missed: tuple[SeenEvent, ...]
    inattentive: SeenEvent | None = None


@dataclass(frozen=True, slots=True)
class Misjudged:
    """What ``agent`` thinks ``person`` ``believes``, and what it really does (``actual``).

    None is unknown: so far as the one knows the other is unaware, or it really is.
    """

    agent: str
    person: str
    believes: str | None
    actual: str | None


@dataclass(frozen=True, slots=True)
class Knowers:
    """Who knows what is so of an entity. ``unverified``: beliefs where no truth is recorded.

    ``misjudged``: who is wrong about whether, or what, another knows; None when there are so many
    agents that it is left out.
    """

    entity: str
    truth: str | None
    up_to_date: tuple[str, ...]
    out_of_date: dict[str, str] = field(default_factory=dict)
    unaware: tuple[str, ...] = ()
    unverified: dict[str, str] = field(default_factory=dict)
    misjudged: tuple[Misjudged, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a chain believes what it believes. ``missed``: for each of its agents, what it missed.

    ``trail``: for a belief that came by being told, who told whom, back to the source. ``clauses``
    of the sentence: who did not take what in, and why; what was taken in unseen, or retracted; who
    has spoken since.
    """

    chain: tuple[str, ...]
    entity: str
    value: str | None
    held: Held | None
    event: SeenEvent | None
    trail: Trail | None
    missed: dict[str, tuple[SeenEvent, ...]]
    sentence: str
    clauses: tuple[str, ...] = ()


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

    def names(self) -> Names:
        """Agents and aliases, in one round trip: what the names of a question mean."""
        agents, aliases = self._database.read_all(
            [Call(self._world, "world/agents", {}), Call(self._world, "world/aliases", {})]
        )
        return Names([row["name"] for row in agents], read_aliases(aliases))

    def held(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Held | None:
        """The belief of a chain; None when nothing is held. One read of one mind.

        Raises `UnknownNameError` when an agent of the chain was never named in the scenario.
        """
        _, _, found = self._asked(chain, entity, moment(as_of))
        return found

    def _asked(
        self, chain: str | Sequence[str], entity: str, as_of: int | None
    ) -> tuple[tuple[str, ...], str, Held | None]:
        """A chain and an entity by their canonical names, and what is held.

        Minds hold no aliases: whatever is found by the names as they were given is meant by them.
        """
        agents, entity = chain_of(chain), normal_name(entity, "entity")
        found = ask(self._database, self._scenario, agents, entity, as_of)
        if found is None:
            names = self.names()  # a slip of the pen must not look like ignorance
            meant = names.chain(agents), names.entity(entity)
            if meant != (agents, entity):
                return *meant, ask(self._database, self._scenario, *meant, as_of)
        return agents, entity, found

    def truth(self, entity: str, as_of: int | str | None = None) -> str | None:
        """What is so; None when it is not known."""
        entity, upto = normal_name(entity, "entity"), moment(as_of)
        found = self._truths(entity, upto)
        if not found and (meant := self.names().entity(entity)) != entity:
            entity, found = meant, self._truths(meant, upto)
        return found.get(entity)

    def explain(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Explanation:
        """Value, source event and its witnesses, who told whom, what each missed, one sentence."""
        upto = moment(as_of)
        names, entity, held = self._asked(chain, entity, upto)
        [event], attention = self._sources([held], upto)
        since = explaining.since(held, event)
        agents = list(dict.fromkeys(names))
        asked = [
            [entity, a, None, *since, None, False, list(attention.otherwise(a))] for a in agents
        ]
        missed, beside = self._missed(asked, upto, explaining.calls(
            self._scenario, names[0], entity, since, upto
        ))
        told = explaining.Told(names, held, event, attention, beside)
        found = {a: told.bears_on(a, events)[:MISSED_AT_MOST]
                 for a, events in zip(agents, missed, strict=True)}
        trail = None
        if held is not None and event is not None:
            trail = trail_of(self._database, self._scenario, held, event)
        value = None if held is None else held.value
        clauses = told.clauses(found)
        return Explanation(
            names, entity, value, held, event, trail, {a: e for a, e in found.items() if e},
            explanation(
                names, entity, held, event, trail, clauses, retracted=told.retracted is not None
            ),
            clauses,
        )

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
        names = self.names()
        everyone = names.agents
        minds = everyone if agents is None else list(dict.fromkeys(
            names.agent(normal_name(name, "agents")) for name in agents
        ))
        if agents is not None and not minds:
            raise InvalidInputError("agents: expected one or more, got none. Leave it out for all.")
        entity = None if entity is None else names.entity(entity)
        depths = (1, 2) if depth is None else (depth,)
        # Before they are made: of a hundred agents there are a hundred million of depth 4.
        refuse_too_many(sum(len(minds) * max(len(everyone) - 1, 0) ** (d - 1) for d in depths))
        questions = [c for d in depths for c in _chains(minds, everyone, d)]
        actual = [chain[1:] for chain in questions if len(chain) > 1]
        asked = list(dict.fromkeys(questions + actual))
        held, truths = self._held_and_true(asked, entity, upto)
        truths = truths if 1 in depths else {}
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
        """Who is up to date, out of date, unaware; and who is wrong about who is. One read a mind."""
        upto, names = moment(as_of), self.names()
        entity, everyone = names.entity(normal_name(entity, "entity")), names.agents
        judged = len(everyone) ** 2 <= MAX_CHAINS
        pairs = list(permutations(everyone, 2)) if judged else []
        asked = [*((agent,) for agent in everyone), *pairs]
        held, truths = self._held_and_true(asked, entity, upto)
        truth = truths.get(entity)
        values = {chain: belief.value for (chain, _), belief in held.items()}
        known = {a: value for a in everyone if (value := values.get((a,))) is not None}
        # Whoever holds nothing of it takes nobody for anything.
        holding = {chain[0] for chain, value in values.items() if value is not None}
        misjudged = (
            Misjudged(agent, person, values.get((agent, person)), known.get(person))
            for agent, person in pairs
            if agent in holding and values.get((agent, person)) != known.get(person)
        )
        return Knowers(
            entity,
            truth,
            tuple(a for a in everyone if truth is not None and known.get(a) == truth),
            {a: v for a, v in known.items() if truth is not None and v != truth},
            tuple(a for a in everyone if a not in known),
            known if truth is None else {},
            tuple(misjudged) if judged else None,
        )

    def slip_of_an_entity(self, entity: str) -> str | None:
        """A hint when no event is about ``entity`` but some are about names near it."""
        entities, aliases = self._database.read_all(
            [Call(self._world, "world/entities", {}), Call(self._world, "world/aliases", {})]
        )
        known = [row["name"] for row in entities]
        known += aliases_of("entity", read_aliases(aliases))
        if entity in known:
            return None
        near = near_names(entity, known)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return f"No event of this scenario is about {shown(entity)}.{hint}"

    def known_agents(self, names: Sequence[str]) -> list[str]:
        """The agents that ``names`` mean, in that order; raises `UnknownNameError` for a name of none."""
        return self.names().known(names)

    def _truths(self, entity: str | None, as_of: int | None) -> dict[str, str | None]:
        [rows] = self._database.read_all([self._truths_call(entity, as_of)])
        return {row["entity"]: row["value"] for row in rows}

    def _truths_call(self, entity: str | None, as_of: int | None) -> Call:
        if as_of is None:
            return Call(self._world, "world/truths", {"entity": entity})
        return Call(self._world, "world/truths_as_of", {"entity": entity, "as_of": as_of})

    def _held_and_true(
        self, chains: list[tuple[str, ...]], entity: str | None, as_of: int | None
    ) -> tuple[dict[tuple[tuple[str, ...], str], Held], dict[str, str | None]]:
        """What chains believe and what is so, of one moment."""
        truths = self._truths_call(entity, as_of)
        held, rows = ask_all_with(
            self._database, self._scenario, chains, entity, as_of, truths
        )
        return held, {row["entity"]: row["value"] for row in rows}

    def _sources(
        self, held: Sequence[Held | None], as_of: int | None
    ) -> tuple[list[SeenEvent | None], Attention]:
        """The events that beliefs came by; and what says who could take in what."""
        known = [belief for belief in held if belief is not None]
        plain = [b for b in known if b.via not in PASSED_ON]
        later = [b for b in known if b.via in PASSED_ON]
        at = [[b.chain[0], b.at, b.step] for b in plain]
        by_step = [[b.chain[0], b.step] for b in later]
        calls = [attention_call(self._scenario, as_of)]
        calls += [Call(self._world, "world/sources", {"beliefs": at})] if at else []
        calls += [Call(self._world, "world/sources_passed_on", {"beliefs": by_step})] if later else []
        movements, *answers = self._database.read_all(calls)
        found: dict[int, SeenEvent] = {}
        for beliefs, rows in zip(filter(None, [plain, later]), answers, strict=True):
            events = with_targets(self._database, self._scenario, [seen_event(row) for row in rows])
            found |= {
                id(beliefs[row["belief"]]): event for row, event in zip(rows, events, strict=True)
            }
        return [found.get(id(belief)) for belief in held], Attention(movements)

    def _missed(
        self, questions: list[list[Any]], as_of: int | None, beside: Sequence[Call] = ()
    ) -> tuple[list[list[SeenEvent]], list[list[SeenEvent]]]:
        """What was missed, for each question; and the events that other calls find, in one trip."""
        params = {
            "questions": questions,
            "limit": _LOOKED_AT,
            "as_of": EVER if as_of is None else as_of,
        }
        asked = [Call(self._world, "world/missed", params)] if questions else []
        answers = self._database.read_all([*asked, *beside])
        rows: list[Row] = [row for answer in answers for row in answer]
        seen = with_targets(self._database, self._scenario, [seen_event(row) for row in rows])
        events = iter(seen)
        found: list[list[SeenEvent]] = [[] for _ in questions]
        for row in answers[0] if asked else ():
            found[row["question"]].append(next(events))
        others = [[next(events) for _ in answer] for answer in answers[len(asked):]]
        return [sorted(part, key=_rank) for part in found], others

    def _with_missed(
        self, wrong: list[tuple[FalseBelief, Held | None]], as_of: int | None
    ) -> list[FalseBelief]:
        if not wrong:
            return []
        sources, attention = self._sources([held for _, held in wrong], as_of)
        questions = []
        for (belief, held), event in zip(wrong, sources, strict=True):
            # Deeper than 1 only what the next agent did witness can have changed its mind; and
            # what it thinks of a third, a report can have changed.
            mind, *rest = belief.chain
            questions.append([
                belief.entity, mind, rest[0] if rest else None, *explaining.since(held, event),
                belief.actual, len(rest) > 1, list(attention.otherwise(mind)),
            ])
        missed, _ = self._missed(questions, as_of)
        return [
            replace(
                belief,
                missed=explaining.bearing(belief.chain, belief.chain[0], events, attention)
                [:MISSED_AT_MOST],
                inattentive=explaining.inattentive(belief.chain, held, event, attention),
            )
            for (belief, held), event, events in zip(wrong, sources, missed, strict=True)
        ]


def _rank(event: SeenEvent) -> int:
    """What made it so explains best; its edit, that somebody read it, hearsay of it come after."""
    if event.speaks_as in SETTING:
        return 0 if event.edits is None else 1
    return 2 if event.kind == "read" else 3


def _chains(minds: Sequence[str], everyone: Sequence[str], depth: int) -> list[tuple[str, ...]]:
    """Every chain of a depth that begins in one of ``minds``, neighbours distinct."""
    return [
        (first, *rest)
        for first in minds
        for rest in product(everyone, repeat=depth - 1)
        if all(a != b for a, b in zip((first, *rest), rest, strict=False))
    ]
