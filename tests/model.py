"""A brute-force reference model of belief, for the property tests.

Written from the specification of belief ("Who learns what: the semantics of the engine"; the titles
in quotes below are its sections) and from nothing else: it imports nothing of the engine, only the
standard library.

It has no scopes to compare. Every chain of agents is written out, down to ``max_depth``; an event
appends its value to each chain that it changes, and to no other; a belief is the newest value that
a chain holds.

Covered: the kinds enter, exit, state, say, announce, tell and report; the policies credulous and
exit-order; places and channels. Not covered yet: read, retract, forget, groups, distracted, hidden.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

type Chain = tuple[str, ...]
"""``(a1, …, ak)``: a1 thinks a2 thinks … ak believes. No two neighbours are the same."""

Event = Mapping[str, Any]

ACTORS = ("agents", "by", "speaker")
ROLES = (*ACTORS, "listeners", "audience", "about")
POLICIES = ("credulous", "exit-order")
ROOMS = ("channel", "place")


class Entry(NamedTuple):
    """One value that reached a chain, or that was true; it compares in the order (at, seq)."""

    at: int
    seq: int
    value: str | None


class Chapter:
    """A stretch of the story in one place, with who left it ("Trust", exit-order)."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.comers: set[str] = set()  # who was ever in the place during this chapter
        self.left: dict[str, int] = {}  # who has left and is not back in: the seq of the exit

    def trusts(self, listener: str, speaker: str) -> bool:
        """Tell whether the listener was never here, or has left and the speaker not before it."""
        if listener not in self.comers:
            return True
        if listener not in self.left:
            return False
        return speaker not in self.left or self.left[speaker] >= self.left[listener]


class Model:
    """One scenario: its log is recorded event by event, then any mind can be asked.

    :param policy: what listeners make of testimony, ``credulous`` or ``exit-order`` ("Trust").
    :param rooms: what a room is unless it is declared a place, ``channel`` or ``place`` ("Words").
    :param max_depth: the longest chain that is written out, and so that can be asked.
    """

    def __init__(
        self, policy: str = "credulous", rooms: str = "channel", max_depth: int = 5
    ) -> None:
        if policy not in POLICIES or rooms not in ROOMS:
            raise ValueError(f"policy is one of {POLICIES} and rooms of {ROOMS}: {policy}, {rooms}")
        self.policy = policy
        self.rooms = rooms
        self.max_depth = max_depth
        self.agents: list[str] = []
        self._present: dict[str, set[str]] = {}  # of every room known so far
        self._places: set[str] = set()
        self._lies_in: dict[str, str] = {}  # the room where an entity lies openly
        self._chapter: Chapter | None = None
        self._truth: defaultdict[str, list[Entry]] = defaultdict(list)
        self._beliefs: defaultdict[tuple[Chain, str], list[Entry]] = defaultdict(list)
        self._witnesses: list[frozenset[str]] = []
        self._at = 0

    # Asking: see "The reading rule"

    def believes(
        self, chain: Sequence[str] | str, entity: str, as_of: int | None = None
    ) -> str | None:
        """Return what a chain believes: the newest value that reached it, ``None`` if unknown.

        :param chain: agents, outermost first, or ``"A>B>C"``; repeated neighbours collapse.
        :param as_of: the last instant that counts, in milliseconds; all of the log by default.
        :raises ValueError: for a chain of nobody, and for one deeper than ``max_depth``.
        """
        names = [name.strip() for name in chain.split(">")] if isinstance(chain, str) else chain
        collapsed = collapse(names)
        if not 1 <= len(collapsed) <= self.max_depth:
            raise ValueError(f"a chain has 1 to {self.max_depth} agents, not {len(collapsed)}")
        return newest(self._beliefs.get((collapsed, entity), ()), as_of)

    def truth(self, entity: str, as_of: int | None = None) -> str | None:
        """Return what is true of an entity, ``None`` if nothing is."""
        return newest(self._truth.get(entity, ()), as_of)

    def witnesses(self) -> list[frozenset[str]]:
        """Return, event by event, the agents that it reached: who witnessed or heard it."""
        return list(self._witnesses)

    # Recording: see "The writing rule"

    def record(self, event: Event) -> None:
        """Append one valid event: agents are named, then presence changes, then minds do.

        Events come in the order of recording, so ``seq`` is their number, and ``happened_at``
        (integer milliseconds) never decreases: what is appended is the newest.

        :raises ValueError: for a kind that the model does not cover.
        """
        self._at = event["happened_at"]
        for agent in named(event, ROLES):
            if agent not in self.agents:
                self.agents.append(agent)
        self._found(event)
        match event["kind"]:
            case "enter":
                reached = self._enter(event)
            case "exit":
                reached = self._exit(event)
            case "state" | "say" | "announce":
                reached = self._declare(event)
            case "tell":
                reached = self._tell(event)
            case "report":
                reached = self._report(event)
            case kind:
                raise ValueError(f"the model knows no event of kind {kind!r}")
        self._witnesses.append(frozenset(reached))

    @property
    def _seq(self) -> int:
        """The number of the event that is being recorded."""
        return len(self._witnesses)

    def _found(self, event: Event) -> None:
        """Make the room of an event known, as a place or a channel, when it is new."""
        room = event.get("room")
        if room is not None and room not in self._present:
            self._present[room] = set()
            if event.get("place") or self.rooms == "place":
                self._places.add(room)

    def _audience(self, event: Event) -> set[str]:
        """Gather who takes an event in: its actors, wherever they are, and all whom it is for.

        "The actor of an event always witnesses it"; announce and everyone are for "agents named so
        far", those whom this event names included; a room is for those in it at the event.
        """
        if event["kind"] == "announce" or event.get("everyone"):
            return set(self.agents)
        audience = set(named(event, (*ACTORS, "listeners", "audience")))
        if (room := event.get("room")) is not None:
            audience |= self._present[room]
        return audience

    # Presence: see "Words", room, and the rows enter and exit

    def _enter(self, event: Event) -> set[str]:
        """Move agents in, out of any other place; all present see what lies there openly."""
        room = event["room"]
        if room in self._places:
            was_empty = not self._present[room]
            for agent in event["agents"]:
                for other in self._places - {room}:
                    self._leave(agent, other)
            if was_empty:
                self._chapter = Chapter(room)
            if self._chapter and self._chapter.place == room:
                for agent in event["agents"]:
                    self._chapter.comers.add(agent)
                    self._chapter.left.pop(agent, None)  # entering again cancels an exit
        self._present[room].update(event["agents"])
        present = set(self._present[room])
        if room in self._places:
            for entity, where in self._lies_in.items():
                value = self.truth(entity)
                if where == room and value is not None:
                    self._write(self._chains(present), entity, value)
        return present

    def _exit(self, event: Event) -> set[str]:
        """Move agents out of one room or of all; no mind changes.

        Those present just before the event witness it, in each room that it is about.
        """
        agents = set(event["agents"])
        if (room := event.get("room")) is not None:
            rooms = [room]
        else:
            rooms = [name for name, present in self._present.items() if present & agents]
        reached = agents.union(*(self._present[name] for name in rooms))
        for name in rooms:
            for agent in agents:
                self._leave(agent, name)
        return reached

    def _leave(self, agent: str, room: str) -> None:
        """Take an agent out of a room, if it is in it; note an exit from the chapter's place."""
        if agent in self._present[room]:
            self._present[room].remove(agent)
            if self._chapter and self._chapter.place == room:
                self._chapter.left[agent] = self._seq

    # What is the case: see the rows state, say and announce

    def _declare(self, event: Event) -> set[str]:
        """Set the truth and every chain of the witnesses; a say of text alone sets nothing."""
        audience = self._audience(event)
        if (entity := event.get("entity")) is not None:
            value = event.get("value")
            self._locate(entity, event.get("located_in"))
            self._truth[entity].append(Entry(self._at, self._seq, value))
            self._write(self._chains(audience), entity, value)
        return audience

    def _locate(self, entity: str, located_in: str | None) -> None:
        """Lay an entity openly in a room, or closed in a container; ``None``: where it was."""
        if located_in in self._present:
            self._lies_in[entity] = located_in
        elif located_in is not None:
            self._lies_in.pop(entity, None)

    # Testimony: see the rows tell and report, and "Trust"

    def _tell(self, event: Event) -> set[str]:
        """Tell the listeners something, perhaps a lie.

        Credulous: every chain of the audience changes but the speaker's own belief. Exit-order: the
        speaker thinks that each listener believes it; of the listeners' minds only those of
        believers change, in what they believe and what they think that the speaker does.
        """
        speaker, audience = event["speaker"], self._audience(event)
        changed: Iterable[Chain]
        if self.policy == "credulous":
            changed = (chain for chain in self._chains(audience) if chain != (speaker,))
        else:
            listeners = audience - {speaker}
            changed = [(speaker, listener) for listener in listeners]
            for listener in listeners:
                if self._believes_speaker(listener, speaker):
                    changed += [(listener,), (listener, speaker)]
        self._write(changed, event["entity"], event["value"])
        return audience

    def _report(self, event: Event) -> set[str]:
        """Tell the listeners what another one believes, and so never what is the case.

        Of the chains that lead through the audience to the one reported on, there change: in a
        listener's mind all, if it believes the speaker; in the speaker's, who knew, what the others
        now think; in the mind of the one reported on, if it hears it, what they now think of it.
        """
        speaker, about, audience = event["speaker"], event["about"], self._audience(event)

        def changes(chain: Chain) -> bool:
            mind, between, last = chain[0], chain[1:-1], chain[-1]
            if len(chain) < 2 or last != about or not audience.issuperset((mind, *between)):
                return False
            if mind == speaker:
                return len(chain) >= 3
            return mind == about or self._believes_speaker(mind, speaker)

        chains = self._chains(audience | {about})
        self._write(filter(changes, chains), event["entity"], event["value"])
        return audience

    def _believes_speaker(self, listener: str, speaker: str) -> bool:
        """Apply the policy: whether a listener believes a speaker at this event ("Trust")."""
        if self.policy == "credulous" or self._chapter is None:
            return True
        return self._chapter.trusts(listener, speaker)

    # Chains: see "Words", chain

    def _chains(self, agents: Iterable[str]) -> Iterator[Chain]:
        """Enumerate every chain of these agents that is written out."""
        circle = frozenset(agents)
        for depth in range(1, self.max_depth + 1):
            yield from chains(circle, depth)

    def _write(self, changed: Iterable[Chain], entity: str, value: str | None) -> None:
        """Append the event's value to each chain that it changes."""
        entry = Entry(self._at, self._seq, value)
        for chain in changed:
            if len(chain) <= self.max_depth:
                self._beliefs[chain, entity].append(entry)


def collapse(names: Iterable[str]) -> Chain:
    """Drop each agent that repeats its neighbour: A>A is A, A>B>A stays ("Words": chain)."""
    chain: list[str] = []
    for name in names:
        if chain[-1:] != [name]:
            chain.append(name)
    return tuple(chain)


@lru_cache(maxsize=256)
def chains(agents: frozenset[str], depth: int) -> tuple[Chain, ...]:
    """List the chains of exactly this depth over these agents: n·(n-1)^(depth-1) of them."""
    if depth == 1:
        return tuple((agent,) for agent in sorted(agents))
    return tuple(
        (agent, *rest) for rest in chains(agents, depth - 1) for agent in sorted(agents - {rest[0]})
    )


def named(event: Event, roles: Iterable[str]) -> list[str]:
    """List the agents that an event names in these roles, in their order."""
    names: list[str] = []
    for role in roles:
        who = event.get(role) or []
        names += [who] if isinstance(who, str) else who
    return names


def newest(entries: Iterable[Entry], as_of: int | None) -> str | None:
    """Return the value that is newest in the order (at, seq), among those known by ``as_of``."""
    known = (entry for entry in entries if as_of is None or entry.at <= as_of)
    latest = max(known, key=lambda entry: (entry.at, entry.seq), default=None)
    return latest.value if latest else None
