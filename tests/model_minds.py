"""What events do to minds, for the reference model: a log in its order, replayed from scratch.

The titles in quotes are sections of the two texts that the model is written from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from model_rooms import Chapter, Order, Rooms

type Chain = tuple[str, ...]
"""``(a1, …, ak)``: a1 thinks a2 thinks … ak believes. No two neighbours are the same."""

Event = Mapping[str, Any]
Agents = frozenset[str]

ACTORS = ("agents", "by", "speaker")
ROLES = (*ACTORS, "listeners", "audience", "about", "distracted", "hidden", "noticed")
DECLARED = ("state", "say", "announce")
SAID = (*DECLARED, "tell", "report")
MOVED = ("enter", "exit", "away", "back")
NOBODY: Agents = frozenset()


class Entry(NamedTuple):
    """One value that reached a chain, or that was true."""

    order: Order  # where it competes
    known: int  # from when on it is known, in milliseconds
    value: str | None
    sources: frozenset[int]  # the events that it is from: retracting any of them takes it away


class Circle(NamedTuple):
    """Which chains an event changes in one mind: those that go on through these others only."""

    others: Agents
    shallowest: int = 1
    deepest: int | None = None
    about: str | None = None  # if given, the chains that lead through the others to this one


class Retraction(NamedTuple):
    """From ``at`` on an event stops counting, in the minds that took it in, for these others."""

    target: int
    at: int
    truly: Agents
    appeared: Agents


@dataclass
class Past:
    """An event that took place: what it gave, to whom, and whom its hearers trusted then."""

    order: Order
    kind: str  # of an edit: the kind of what it edits
    truly: Agents = NOBODY
    appeared: Agents = NOBODY
    delivered: Agents = NOBODY
    noticed: Agents = NOBODY
    actor: str | None = None
    room: str | None = None
    entity: str | None = None
    value: str | None = None
    text: str | None = None
    about: str | None = None
    chapter: Chapter | None = None
    origin: Past | None = None  # of a forward: what was said first
    edits: Past | None = None  # of an edit: what it edits, never an edit itself
    sources: frozenset[int] = frozenset()
    readers: set[str] = field(default_factory=set)  # who has read it so far

    @property
    def competes(self) -> Order:
        """Where its content competes: a forward's at what was said first."""
        return self.origin.order if self.origin else self.order


class Minds:
    """What was true and what every chain held, after these events.

    :param events: (seq, event) in the order of events, those that never happened left out; every
        ``event`` field that refers to another one holds its seq.
    """

    def __init__(
        self, events: Iterable[tuple[int, Event]], policy: str, rooms: Rooms, max_depth: int
    ) -> None:
        self.policy = policy
        self.rooms = rooms
        self.max_depth = max_depth
        self.agents: list[str] = []
        self.past: dict[int, Past] = {}
        self.beliefs: defaultdict[tuple[Chain, str], list[Entry]] = defaultdict(list)
        self.truths: defaultdict[str, list[Entry]] = defaultdict(list)
        self.retractions: list[Retraction] = []
        self._lies_in: dict[str, str] = {}  # the room where an entity lies openly
        for seq, event in events:
            self._happen(seq, event)

    # Asking: see "The reading rule", and "Edits, retractions, forwards"

    def believes(self, chain: Chain, entity: str, as_of: int | None = None) -> str | None:
        """Return the newest value of a chain, of those known by ``as_of`` and not retracted."""
        mind, others = chain[0], chain[1:]

        def counts(entry: Entry) -> bool:
            return not any(
                r.target in entry.sources and mind in r.truly and r.appeared.issuperset(others)
                for r in self._retracted(as_of)
            )

        return newest(filter(counts, self.beliefs.get((chain, entity), ())), as_of)

    def truth(self, entity: str, as_of: int | None = None) -> str | None:
        """Return the newest value that was set by an event not retracted."""
        retracted = {r.target for r in self._retracted(as_of)}
        entries = (e for e in self.truths.get(entity, ()) if not e.sources & retracted)
        return newest(entries, as_of)

    def _retracted(self, as_of: int | None) -> list[Retraction]:
        return [r for r in self.retractions if as_of is None or r.at <= as_of]

    def may_read(self, agent: str, past: Past) -> bool:
        """Tell whether an agent may read what was said: see "Reading", history."""
        if past.entity is None and past.text is None:
            return False
        if agent in past.delivered:
            return True
        if past.room is None or not self.rooms.is_in(agent, past.room):
            return False
        since, history = self.rooms.since(agent, past.room), self.rooms.known[past.room].history
        assert since is not None
        return history == "all" or (history == "since_join" and past.order > since)

    # Happening: agents are named, then presence changes, then minds do

    def _happen(self, seq: int, event: Event) -> None:
        for agent in named(event, ROLES):
            if agent not in self.agents and not agent.startswith("@"):
                self.agents.append(agent)
        self.rooms.found(event)
        past = self._past(seq, event)
        actors, distracted, hidden, noticed = (
            frozenset(self.rooms.members(named(event, roles)))
            for roles in (ACTORS, ["distracted"], ["hidden"], ["noticed"])
        )
        reached = self._move(past, event) if event["kind"] in MOVED else self._reached(past, event)
        past.appeared = reached - hidden
        past.truly = (reached - (distracted - actors)) | hidden
        past.delivered = reached | hidden
        if past.room is not None:
            past.delivered |= self.rooms.present(past.room)
        past.noticed = noticed - past.truly
        self.past[seq] = past
        match event["kind"]:
            case "enter":
                self._look(past)
            case "read":
                self._read(past, event)
            case "retract":
                at = past.order[0]
                self.retractions.append(Retraction(event["event"], at, past.truly, past.appeared))
            case _:
                self._say(past, event)

    def _past(self, seq: int, event: Event) -> Past:
        """Say what an event gives; an edit and a forward give what they are of."""
        order = (event["happened_at"], seq)
        past = Past(order, event["kind"], room=event.get("room"), sources=frozenset([seq]))
        past.actor = event.get("speaker") or event.get("by")
        past.chapter = self.rooms.chapter.copy() if self.rooms.chapter else None
        said = self.past[event["event"]] if event["kind"] in ("edit", "forward") else None
        if said is None:
            past.entity, past.value = event.get("entity"), event.get("value")
            past.text, past.about = event.get("text"), event.get("about")
            return past
        if event["kind"] == "edit":
            said = past.edits = said.edits or said
            past.kind = said.kind
        else:
            past.origin = said.origin or said
            past.sources |= said.sources
        past.entity, past.about = said.entity, said.about
        past.value = said.value if event.get("value") is None else event["value"]
        past.text = event.get("text") or said.text
        return past

    def _reached(self, past: Past, event: Event) -> Agents:
        """Gather whom an event reaches that moves nobody ("Words": reached)."""
        if event["kind"] == "announce" or event.get("everyone"):
            return frozenset(self.agents)
        roles = (*ACTORS, "listeners", "audience")
        reached = frozenset(self.rooms.members(named(event, roles)))
        if past.room is not None and not self.rooms.known[past.room].later:
            reached |= self.rooms.attentive(past.room)
        if event.get("receipt"):
            reached |= self._shows(event["event"]).truly
        return reached

    # Presence: see the rows enter and exit, and "Presence"

    def _move(self, past: Past, event: Event) -> Agents:
        """Move agents; those present (after an entrance, before the rest) and not away see it."""
        agents, rooms = self.rooms.members(event["agents"]), self.rooms
        if event["kind"] == "enter":
            rooms.enter(agents, event["room"], past.order)
            return rooms.attentive(event["room"]).union(agents)
        if past.room is not None:
            where = [past.room]
        else:
            where = rooms.of(agents, groups=event["kind"] != "exit")
        reached = frozenset(agents).union(*(rooms.attentive(room) for room in where))
        for agent in agents:
            for room in where:
                match event["kind"]:
                    case "exit":
                        rooms.leave(agent, room, past.order)
                    case "away":
                        rooms.step_away(agent, room)
                    case "back":
                        rooms.come_back(agent, room)
        return reached

    def _look(self, past: Past) -> None:
        """At an entrance to a place, what lies there openly is seen ("Attention")."""
        if past.room is not None and self.rooms.known[past.room].place:
            for entity, where in self._lies_in.items():
                value = self.truth(entity)
                if where == past.room and value is not None:
                    for mind in past.truly:
                        self._write(mind, Circle(past.appeared), entity, past, value, past.order)

    # Saying: see the rows state to report, "Attention", "Trust", and "Edits, retractions, forwards"

    def _say(self, past: Past, event: Event) -> None:
        """Set the truth, if it is a declaration, and change the mind of each who took it in."""
        if past.entity is None:
            return
        if past.kind in DECLARED:
            entry = Entry(past.order, past.order[0], past.value, past.sources)
            self.truths[past.entity].append(entry)
            if (located_in := event.get("located_in")) in self.rooms.known:
                self._lies_in[past.entity] = located_in
            elif located_in is not None:  # closed in a container
                self._lies_in.pop(past.entity, None)
        for mind in past.truly:
            for circle in self._circles(mind, past, past.appeared):
                self._give(mind, circle, past, past.order)

    def _circles(self, mind: str, past: Past, others: Agents) -> list[Circle]:
        """Say which chains of one who took an event in it changes, when these others appeared to.

        The circle of what was said is the last one; before it stands, for a forward, that of what
        was said first, which its audience heard.
        """
        speaks = mind == past.actor
        if past.kind in DECLARED:
            return [Circle(others)]
        first: list[Circle] = []
        if past.origin is not None and not speaks:
            first = [Circle(past.origin.appeared, about=past.about)]
        if past.about is not None:
            if speaks:
                return [Circle(others, 3, about=past.about)]
            believes = mind == past.about or self._trusts(mind, past)
            return [*first, Circle(others, 2, about=past.about)] if believes else []
        if self.policy == "credulous":
            return [*first, Circle(others, 2 if speaks else 1)]
        if speaks:
            return [Circle(others, 2, 2)]
        return [*first, Circle(others & {past.actor}, 1, 2)] if self._trusts(mind, past) else []

    def _trusts(self, listener: str, past: Past) -> bool:
        """Apply the policy: whether a listener believed the speaker then ("Trust")."""
        if self.policy == "credulous" or past.chapter is None or past.actor is None:
            return True
        return past.chapter.trusts(listener, past.actor)

    # Reading: see the row read, and "Reading"

    def _shows(self, target: int) -> Past:
        """Return what a reading now shows: what was said, or its newest edit so far."""
        said = self.past[target].edits or self.past[target]
        edits = [e for e in self.past.values() if e.edits is said]
        return max(edits, key=lambda e: e.order, default=said)

    def _read(self, past: Past, event: Event) -> None:
        """Give the readers what was said, as if they had been hidden there; then show it."""
        said = self._shows(event["event"])
        readers = frozenset(self.rooms.members(event["agents"]))
        if said.entity is not None:
            for mind in readers - said.truly:
                for circle in self._circles(mind, said, said.appeared - {mind}):
                    self._give(mind, circle, said, past.order)
            if event.get("receipt") or event.get("room") or event.get("audience"):
                shown = said.appeared if event.get("receipt") else past.appeared
                members = (shown & said.appeared) | readers
                knowing = said.truly | readers | said.readers
                for mind in past.truly & knowing:
                    for circle in self._circles(mind, said, said.appeared)[-1:]:
                        self._give(mind, circle._replace(others=members), said, past.order)
        said.readers |= readers

    # Writing chains out: see "Words", chain

    def _give(self, mind: str, circle: Circle, said: Past, known: Order) -> None:
        """Append what was said to the chains of a circle, where it competes, known from then on."""
        assert said.entity is not None
        self._write(mind, circle, said.entity, said, said.value, known)

    def _write(
        self, mind: str, circle: Circle, entity: str, past: Past, value: str | None, known: Order
    ) -> None:
        entry = Entry(past.competes, known[0], value, past.sources)
        deepest = min(self.max_depth, circle.deepest or self.max_depth)
        for depth in range(circle.shallowest, deepest + 1):
            for chain in chains_from(mind, circle.others, depth, circle.about):
                self.beliefs[chain, entity].append(entry)


def named(event: Event, roles: Iterable[str]) -> list[str]:
    """List the agents and groups that an event names in these roles, in their order."""
    names: list[str] = []
    for role in roles:
        who = event.get(role) or []
        names += [who] if isinstance(who, str) else who
    return names


def newest(entries: Iterable[Entry], as_of: int | None) -> str | None:
    """Return the value that is newest in the order (at, seq), among those known by ``as_of``."""
    known = (entry for entry in entries if as_of is None or entry.known <= as_of)
    latest = max(known, key=lambda entry: entry.order, default=None)
    return latest.value if latest else None


@lru_cache(maxsize=256)
def chains(agents: Agents, depth: int) -> tuple[Chain, ...]:
    """List the chains of exactly this depth over these agents: n·(n-1)^(depth-1) of them."""
    if depth == 1:
        return tuple((agent,) for agent in sorted(agents))
    return tuple(
        (agent, *rest) for rest in chains(agents, depth - 1) for agent in sorted(agents - {rest[0]})
    )


@lru_cache(maxsize=4096)
def chains_from(mind: str, others: Agents, depth: int, about: str | None) -> tuple[Chain, ...]:
    """List the chains of this depth in one mind that go on through others only, or to ``about``."""
    return tuple(_chains_from(mind, others, depth, about))


def _chains_from(mind: str, others: Agents, depth: int, about: str | None) -> Iterator[Chain]:
    if about is not None:
        if depth == 2 and mind != about:
            yield (mind, about)
        elif depth > 2:
            for chain in chains_from(mind, others, depth - 1, None):
                if chain[-1] != about:
                    yield (*chain, about)
    elif depth == 1:
        yield (mind,)
    else:
        for chain in chains_from(mind, others, depth - 1, None):
            for last in sorted(others - {chain[-1]}):
                yield (*chain, last)
