"""Plans of messages for one goal, each tried on a fork; and the search for the smallest.

Every message of a plan carries the goal's one value and is newer than all that is recorded, so one
more message never takes back what another reached: the search rests on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

from .names import world_key
from .what_if import Beliefs, Chain, chains_to, deepest
from .wording import listed

if TYPE_CHECKING:
    from .memory import Memory
    from .progress import Progress

MAX_MESSAGES = 3  # of a mixed plan
MAX_TRIED = 40  # mixed plans
DEPTH_3_UP_TO = 25  # agents: with more, reading every chain takes a second a plan


@dataclass(frozen=True, slots=True)
class Goal:
    """Who is to believe what, and of each other; and who is not to learn it."""

    entity: str
    value: str
    speaker: str
    know: tuple[str, ...]
    keep_from: tuple[str, ...]

    def chains(self) -> list[Chain]:
        """What has to believe the value: each alone, and each of each other."""
        return [*((agent,) for agent in self.know), *permutations(self.know, 2)]

    def listeners(self) -> list[str]:
        """Those of ``know`` whom the speaker can tell: all but itself."""
        return [agent for agent in self.know if agent != self.speaker]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: to ``listeners``, or as a statement in ``room``, or announced to everyone.

    ``heard_by``: all who would take it in, the speaker apart.
    """

    heard_by: frozenset[str] = field(compare=False)
    listeners: tuple[str, ...] = ()
    room: str | None = None

    def event(self, goal: Goal) -> dict[str, Any]:
        """The event to record."""
        said = {"speaker": goal.speaker, "entity": goal.entity, "value": goal.value}
        if self.listeners:
            return {"kind": "tell", "listeners": list(self.listeners), **said}
        if self.room is not None:
            return {"kind": "tell", "room": self.room, **said}
        return {"kind": "announce", **said}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan would lead to.

    ``events``: for `Memory.record`. ``unmet``: chains of the goal that would not believe it.
    ``wrong``: how many chains about the entity would be wrong at depth 1, 2, …, over all agents.
    ``learned``: who beyond ``know`` would hear the value without having believed it before;
    ``leaked``: those of them whom it was to be kept from. ``overturned``: what is so now, where
    the plan would make something else so.
    """

    name: str
    events: tuple[dict[str, Any], ...]
    unmet: tuple[Chain, ...]
    wrong: tuple[int, ...]
    learned: tuple[str, ...]
    leaked: tuple[str, ...]
    overturned: str | None

    @property
    def reached(self) -> bool:
        """Whether the goal would be reached."""
        return not self.unmet and not self.leaked

    @property
    def failure(self) -> str:
        """In what way the goal would not be reached, as a clause; empty if it would."""
        if self.leaked:
            return f"{listed(self.leaked)} would learn it"
        if not self.unmet:
            return ""
        who, *of = self.unmet[0]
        clause = f"{who} would not think {of[0]} believes it" if of else f"{who} would not believe it"
        more = len(self.unmet) - 1
        return f"{clause} (and {more} more such)" if more else clause

    @property
    def rank(self) -> tuple[bool, int, tuple[int, ...], int]:
        """Of the plans that reach the goal, the least is the best.

        It changes not what is so, has fewest messages, leaves least wrong, has least side-knowledge.
        """
        return self.overturned is not None, len(self.events), self.wrong, len(self.learned)


class Planner:
    """Tries plans for one goal on forks of ``base``, each distinct one once.

    ``now`` is what no message at all leads to; ``believers``, who believes the value now.
    """

    def __init__(self, base: Memory, goal: Goal, progress: Progress) -> None:
        """Read what everyone believes, and who is where."""
        self.agents = base.agents()
        self.depth = deepest(len(self.agents), 3 if len(self.agents) <= DEPTH_3_UP_TO else 2)
        self._base, self._goal, self._progress = base, goal, progress
        self._chains = list(dict.fromkeys([*chains_to(self.depth, self.agents), *goal.chains()]))
        self._tried: dict[frozenset[Message], Plan] = {}
        self._before = Beliefs(base, self._chains, [goal.entity])
        self.truth = self._before.value((), goal.entity)
        self.believers = frozenset(a for a in self.agents if self._believes(self._before, (a,)))
        self.now = self._plan("no message", (), self._before, ())
        self._rooms: dict[str, set[str]] = {}
        for row in base.database.read(world_key(base.scenario), "world/presence"):
            self._rooms.setdefault(row["room"], set()).add(row["agent"])
        self.usual = {name: messages for name, messages in self._usual().items() if messages}
        self.messages = self._messages()
        covering = [frozenset(messages) for messages in self._covering(self.messages, 1)]
        self._to_try = 1 + len({*map(frozenset, self.usual.values()), *covering})

    def attempt(self, name: str, messages: Sequence[Message]) -> Plan:
        """Record the messages on a fork of the base and look what everyone believes then."""
        key = frozenset(messages)
        if key not in self._tried:
            done = 1 + len(self._tried)
            self._to_try = max(self._to_try, done + 1)
            self._progress(done, self._to_try, f"trying {name}")
            events = tuple(message.event(self._goal) for message in messages)
            with self._base.fork() as fork:
                witnesses = [recorded.witnesses for recorded in fork.record(events).events]
                after = Beliefs(fork, self._chains, [self._goal.entity])
            self._tried[key] = self._plan(name, events, after, witnesses)
        return self._tried[key]

    def smallest(self, messages: Sequence[Message]) -> tuple[Plan | None, str]:
        """The best plan of the fewest of ``messages`` that reaches the goal; or why there is none."""
        kept = set(self._goal.keep_from) - self.believers
        messages = [message for message in messages if not message.heard_by & kept]
        tried = 0
        for size in range(1, MAX_MESSAGES + 1):
            reached = []
            for plan in self._covering(messages, size):
                if tried == MAX_TRIED:
                    return None, f"Mixed plans: given up after {MAX_TRIED}."
                tried += 1
                found = self.attempt("mixed plan", plan)
                reached += [found] if found.reached else []
            if reached:
                return min(reached, key=lambda plan: plan.rank), ""
            if size == 1 and (not messages or not self.attempt("all of it", messages).reached):
                break  # then no part of it does either
        secret = f" that {listed(sorted(kept))} would not hear" if kept else ""
        return None, f"Mixed plans: not even all messages{secret} together reach the goal."

    def _covering(self, messages: Sequence[Message], size: int) -> Iterator[tuple[Message, ...]]:
        """So many of the messages that everyone hears one whose mind has to change."""
        minds = {chain[0] for chain in self.now.unmet} - {self._goal.speaker}
        for plan in combinations(messages, size):
            if minds <= frozenset().union(*(message.heard_by for message in plan)):
                yield plan

    def _usual(self) -> dict[str, tuple[Message, ...]]:
        """The plans that everybody thinks of, by name."""
        listeners = self._goal.listeners()
        rooms = {room: here for room, here in self._rooms.items() if here & set(listeners)}
        return {
            "private messages": tuple(self._tell([agent]) for agent in self._needing()),
            "group message": (self._tell(listeners),),
            "room statements": tuple(
                Message(frozenset(here), room=room) for room, here in rooms.items()
            ),
            "announcement": (Message(frozenset(self.agents)),),
        }

    def _messages(self) -> list[Message]:
        """What a mixed plan may be made of: the messages of the usual plans, and other audiences."""
        kept = {self._goal.speaker, *self._goal.keep_from}
        audiences = [
            set(self._needing()),
            self.believers | set(self._goal.know),  # nobody learns it, and they know who knows
            set(self.agents),
        ]
        told = [
            self._tell([agent for agent in self.agents if agent in audience - kept])
            for audience in audiences
        ]
        usual = [message for messages in self.usual.values() for message in messages]
        return list(dict.fromkeys([*usual, *(message for message in told if message.listeners)]))

    def _needing(self) -> list[str]:
        """Whom a private message helps: one that does not believe it, or not with the speaker."""
        speaker = self._goal.speaker
        chains = [chain for chain in self.now.unmet if len(chain) == 1 or speaker in chain]
        helped = {agent for chain in chains for agent in chain}
        return [agent for agent in self._goal.listeners() if agent in helped]

    def _tell(self, listeners: Sequence[str]) -> Message:
        return Message(frozenset(listeners), listeners=tuple(listeners))

    def _plan(
        self,
        name: str,
        events: tuple[dict[str, Any], ...],
        after: Beliefs,
        witnesses: Iterable[Iterable[str]],
    ) -> Plan:
        goal, truth = self._goal, after.value((), self._goal.entity)
        heard = {agent for seen in witnesses for agent in seen}
        heard -= {goal.speaker, *goal.know, *self.believers}
        return Plan(
            name,
            events,
            tuple(chain for chain in goal.chains() if not self._believes(after, chain)),
            tuple(after.wrong(depth) for depth in range(1, self.depth + 1)),
            tuple(agent for agent in self.agents if agent in heard),
            tuple(agent for agent in goal.keep_from if agent in heard),
            self.truth if truth != self.truth else None,
        )

    def _believes(self, beliefs: Beliefs, chain: Chain) -> bool:
        return beliefs.value(chain, self._goal.entity) == self._goal.value
