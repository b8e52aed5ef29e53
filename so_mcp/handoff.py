"""The smallest message from one agent to another, instead of the transcript.

What goes into it is read from the sender's own mind alone: what it believes, what it thinks the
receiver believes, what it thinks third parties believe and the receiver does not know that they
do. So the supervisor's `handoff_delta` and an agent's own share `delta`; the supervisor's adds
what needs the whole scenario: the transcript's tokens, the proof that nothing excluded gets
through, and the recording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched
from typing import TYPE_CHECKING, Any

from . import tokens
from .database import Database
from .errors import InvalidInputError, SecondOrderError, UnknownNameError
from .minds import EVER, MAX_CHAINS, Held, ask_all, moment, people
from .names import MAX_TEXT, folded, near_names, normal_name, shown, world_key
from .vocabulary import Names
from .wording import listed

if TYPE_CHECKING:
    from .memory import Memory

MAX_ITEMS = 100  # of one handoff, newest first; what is older follows when these are recorded
NOTHING = "Nothing to hand over."
_PROOF_DEPTH = 3

Believed = dict[tuple[tuple[str, ...], str], Held]  # by chain and entity


@dataclass(frozen=True, slots=True)
class Fact:
    """What the sender believes and thinks the receiver does not.

    ``how``, ``source`` and ``at`` (ms since 1970): how, from whom and when the sender has it.
    ``wrong``: as the sender sees it the receiver believes otherwise; else it has not heard.
    """

    entity: str
    value: str
    how: str
    source: str | None
    at: int
    wrong: bool

    @property
    def line(self) -> str:
        """What the receiver is told."""
        return f"{self.entity}: {_plain(self.value)}"

    def event(self, sender: str, receiver: str) -> dict[str, Any]:
        """The testimony by which it is passed on."""
        return _testimony("tell", sender, receiver, self) | {"text": self.line[:MAX_TEXT]}


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A third party that, as the sender sees it, is wrong, which the receiver does not know.

    ``how``, ``source`` and ``at`` are those of the sender's belief about it; ``actual`` is what
    the sender itself believes.
    """

    agent: str
    entity: str
    value: str
    how: str
    source: str | None
    at: int
    actual: Fact

    @property
    def line(self) -> str:
        """What the receiver is told."""
        return f"{_still([self.agent])} {self.clause}"

    @property
    def clause(self) -> str:
        """What they believe."""
        return f"{self.entity} is {_plain(self.value)}"

    def event(self, sender: str, receiver: str) -> dict[str, Any]:
        """The testimony about a mind by which it is passed on."""
        text = {"about": self.agent, "text": self.line[:MAX_TEXT]}
        return _testimony("report", sender, receiver, self) | text


Item = Fact | Mistaken


@dataclass(frozen=True, slots=True)
class Proof:
    """What was compared in the receiver's mind on a fork, before and after the handoff.

    ``withheld``: how many items were kept back, which is not for the receiver; ``chains``: how
    many were compared. A proof is only ever given when nothing had changed.
    """

    withheld: int
    compared: str
    chains: int
    unchanged: bool = True


@dataclass(frozen=True, slots=True)
class Handoff:
    """What ``sender`` should tell ``receiver``: data, and ``text`` that can be acted on alone.

    ``tokens`` are those of the text, ``transcript_tokens`` those of the words that the sender
    witnessed, event by event with nothing between; both by `tokens.TOKENIZER`. ``left_out``:
    older items beyond `MAX_ITEMS`. Only from a `Memory`, and else None or empty:
    ``transcript_tokens``; ``proof``, where names were excluded; when it was recorded, the numbers
    of the events, and ``doubted``: lines that the receiver does not believe, by its policy.
    """

    sender: str
    receiver: str
    facts: tuple[Fact, ...]
    mistaken: tuple[Mistaken, ...]
    text: str
    tokens: int
    left_out: int = 0
    transcript_tokens: int | None = None
    proof: Proof | None = None
    recorded: tuple[int, ...] = ()
    doubted: tuple[str, ...] = ()

    @property
    def items(self) -> list[Item]:
        """Facts, then who is mistaken."""
        return [*self.facts, *self.mistaken]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The handoff as events: a fact is told, what a third party believes is reported."""
        return [item.event(self.sender, self.receiver) for item in self.items]


def delta(
    database: Database,
    scenario: str,
    sender: str,
    receiver: str,
    exclude: Sequence[str] = (),
    as_of: int | None = None,
    names: Sequence[str] | None = None,
) -> tuple[Handoff, int]:
    """The handoff by the sender's mind alone, and how many items ``exclude`` kept out of it.

    Kept out is what names an excluded name anywhere, also within a word: rather too much. It may
    hold ``names`` (None: those in the sender's mind); raises `UnknownNameError` for another, as
    a slip of the pen must not let through what was to be kept back.
    """
    _refuse_parties(sender, receiver, exclude)
    met = people(database, scenario, sender)
    others = [name for name in met if name != receiver]
    chains = [(sender,), (sender, receiver)]
    chains += [chain for t in others for chain in ((sender, t), (sender, receiver, t))]
    held = ask_all(database, scenario, chains, None, as_of)
    _refuse_unknown(exclude, {*met, *(entity for _, entity in held)} if names is None else names)
    dated = _items(held, sender, receiver, others)
    found = [item for _, item in sorted(dated, key=lambda pair: pair[0], reverse=True)]
    passed = [item for item in found if not _names(item, exclude)]
    kept = passed[:MAX_ITEMS]
    facts = tuple(item for item in kept if isinstance(item, Fact))
    mistaken = tuple(item for item in kept if isinstance(item, Mistaken))
    text = handoff_text(facts, mistaken)
    handoff = Handoff(
        sender, receiver, facts, mistaken, text, tokens.count(text), len(passed) - len(kept)
    )
    return handoff, len(found) - len(passed)


def handoff_text(facts: Sequence[Fact], mistaken: Sequence[Mistaken]) -> str:
    """A line a fact; then who is mistaken, those with the same mistakes in one line.

    Where the fact itself is not handed over, what is so stands beside the mistake.
    """
    lines = [f"- {fact.line}" for fact in facts]
    told = {fact.entity for fact in facts}
    holders: dict[str, list[str]] = {}
    for item in mistaken:
        known = "" if item.entity in told else f" (it is {_plain(item.actual.value)})"
        holders.setdefault(item.clause + known, []).append(item.agent)
    clauses: dict[tuple[str, ...], list[str]] = {}
    for clause, agents in holders.items():
        clauses.setdefault(tuple(agents), []).append(clause)
    lines += [f"- {_still(agents)} {'; '.join(same)}" for agents, same in clauses.items()]
    return "\n".join(lines) or NOTHING


def handoff_delta(
    memory: Memory,
    names: Names,
    sender: str,
    receiver: str,
    exclude: Sequence[str] = (),
    as_of: int | str | None = None,
    *,
    commit: bool = False,
) -> Handoff:
    """See `Memory.handoff_delta`; the names are normal, and the parties' canonical."""
    upto = moment(as_of)
    if commit and upto is not None:
        raise InvalidInputError(
            "commit: what is recorded is told now, and as_of asks about an earlier time. "
            "Leave one of them out."
        )
    entities = memory.entities() if exclude else []
    words = _every_word_for(exclude, names)
    known = [*names.agents, *entities, *(alias for _, alias in names.aliases)]
    handoff, withheld = delta(
        memory.database, memory.scenario, sender, receiver, words, upto, known
    )
    rows = memory.database.read(
        world_key(memory.scenario), "world/transcript",
        agent=sender, as_of=EVER if upto is None else upto,
    )
    transcript = sum(tokens.count(row["text"]) for row in rows)
    handoff = replace(handoff, transcript_tokens=transcript)
    if exclude:
        minds = [name for name in words if name in names.agents]
        things = [name for name in words if name in entities]
        handoff = replace(handoff, proof=prove(memory, handoff, minds, things, withheld))
    return _recorded(memory, handoff) if commit else handoff


def _every_word_for(exclude: Sequence[str], names: Names) -> list[str]:
    """The names, what they mean where they are aliases, and every alias of that."""
    meant = [name for alias in exclude
             for name in (alias, *(of for (_, one), of in names.aliases.items() if one == alias))]
    aliases = [alias for (_, alias), of in names.aliases.items() if of in meant]
    return list(dict.fromkeys([*meant, *aliases]))


def prove(
    memory: Memory,
    handoff: Handoff,
    agents: Sequence[str],
    entities: Sequence[str],
    withheld: int = 0,
) -> Proof:
    """Hand over on a fork and compare the receiver's mind before and after.

    Compared are the chains to depth 3 that lead through one of ``agents``, about anything, and
    every chain to depth 3 about one of ``entities``. Raises `SecondOrderError` if one is another
    afterwards, or if an item names one of them.
    """
    excluded = list(dict.fromkeys([*agents, *entities]))
    naming = [item for item in handoff.items if _names(item, excluded)]
    with memory.fork() as fork:
        # A chain through anybody else is unknown to this mind, before and after.
        others = {*people(fork.database, fork.scenario, handoff.receiver), handoff.sender, *agents,
                  *(item.agent for item in handoff.mistaken)} - {handoff.receiver}
        chains = _chains(handoff.receiver, sorted(others))
        through = [chain for chain in chains if not set(agents).isdisjoint(chain)]
        before = _compared(fork, chains, through, entities)
        fork.record(handoff.events)
        after = _compared(fork, chains, through, entities)
    if naming or before != after:
        raise SecondOrderError(
            f"exclude: the handoff would let {shown(handoff.receiver)} learn of "
            f"{', '.join(map(shown, excluded))}, so it is not given. Nothing was recorded; please "
            "report this, and exclude more names."
        )
    # The answer may be passed on as it is, so the proof does not say which names either.
    return Proof(
        withheld,
        f"{handoff.receiver}'s chains to depth {_PROOF_DEPTH} about excluded entities or through "
        "excluded agents",
        len({*through, *(chains if entities else [])}),
    )


def excluded_names(exclude: str | Iterable[str] | None) -> list[str]:
    """The argument ``exclude``, one name or several or None, as normal names."""
    names = [exclude] if isinstance(exclude, str) else exclude or ()
    return list(dict.fromkeys(normal_name(name, "exclude") for name in names))


def _refuse_parties(sender: str, receiver: str, exclude: Collection[str]) -> None:
    if sender == receiver:
        raise InvalidInputError(
            f"receiver: {shown(receiver)} is the sender; a handoff goes to another agent."
        )
    for name in (sender, receiver):
        if name in exclude:
            raise InvalidInputError(
                f"exclude: {shown(name)} is to give or get the handoff itself. Name the entities "
                "and third parties of which nothing may pass on."
            )


def _refuse_unknown(exclude: Iterable[str], names: Collection[str]) -> None:
    for name in exclude:
        if name not in names:
            near = near_names(name, names)
            hint = f" Did you mean {', '.join(map(shown, near))}?" if near else ""
            raise UnknownNameError(
                f"exclude: no agent or entity is known as {shown(name)}.{hint} Give names as they "
                "were recorded."
            )


def _items(
    held: Believed, sender: str, receiver: str, others: Sequence[str]
) -> Iterator[tuple[tuple[int, int], Item]]:
    """Every item with when it became news: (at, step) in the sender's mind."""
    for (chain, entity), own in held.items():
        if chain != (sender,) or own.value is None:
            continue
        theirs = held.get(((sender, receiver), entity))
        wrong = theirs is not None and theirs.value is not None
        fact = Fact(entity, own.value, own.via, own.source, own.at, wrong)
        since = (own.at, own.step)
        if theirs is None or theirs.value != own.value:
            yield since, fact
        for other in others:
            third = held.get(((sender, other), entity))
            if third is None or third.value is None or third.value == own.value:
                continue
            seen = held.get(((sender, receiver, other), entity))
            if seen is None or seen.value != third.value:
                mistaken = Mistaken(
                    other, entity, third.value, third.via, third.source, third.at, fact
                )
                yield max(since, (third.at, third.step)), mistaken


def _names(item: Item, exclude: Sequence[str]) -> bool:
    """Whether an item names an excluded name; what makes a third party wrong is part of it."""
    said = [item.entity, item.value, item.source]
    if isinstance(item, Mistaken):
        said += [item.agent, item.actual.value, item.actual.source]
    seen = [folded(text) for text in said if text is not None]
    return any(folded(name) in text for name in exclude for text in seen)


def _recorded(memory: Memory, handoff: Handoff) -> Handoff:
    """Record the handoff, and look what the receiver makes of it."""
    record = memory.record(handoff.events)
    receiver = handoff.receiver
    told: list[tuple[tuple[str, ...], Item]] = [((receiver,), fact) for fact in handoff.facts]
    told += [((receiver, item.agent), item) for item in handoff.mistaken]
    held = ask_all(memory.database, memory.scenario, list({chain for chain, _ in told}))
    believed = {key: belief.value for key, belief in held.items()}
    doubted = [
        item.line for chain, item in told if believed.get((chain, item.entity)) != item.value
    ]
    numbers = tuple(recorded.event.seq for recorded in record.events)
    return replace(handoff, recorded=numbers, doubted=tuple(doubted))


def _chains(first: str, others: Sequence[str]) -> list[tuple[str, ...]]:
    """Every chain to depth 3 that begins with ``first``."""
    pairs = [(first, other) for other in others]
    return [
        (first,), *pairs,
        *((*pair, last) for pair in pairs for last in (first, *others) if last != pair[1]),
    ]


def _compared(
    memory: Memory,
    chains: Sequence[tuple[str, ...]],
    through: Sequence[tuple[str, ...]],
    entities: Sequence[str],
) -> list[Believed]:
    """What the chains hold: all of them about ``entities``, and those ``through`` in full."""
    return [
        ask_all(memory.database, memory.scenario, part, about)
        for asked, about in (*((chains, entity) for entity in entities), (through, None))
        for part in batched(asked, MAX_CHAINS)
    ]


def _testimony(kind: str, sender: str, receiver: str, item: Item) -> dict[str, Any]:
    return {"kind": kind, "speaker": sender, "listeners": [receiver], "entity": item.entity,
            "value": item.value}


def _still(agents: Sequence[str]) -> str:
    return f"{listed(agents)} still {'believes' if len(agents) == 1 else 'believe'}"


def _plain(value: str) -> str:
    """A value as it stands in a line; in quotes and escaped where the line could be misread."""
    return value if value.isprintable() and ";" not in value else repr(value)
