"""A brute-force reference model of belief, for the property tests.

Written from the specification of belief ("Who learns what: the semantics of the engine") and from
SEMANTICS.md, which decides what that leaves open, and from nothing else: it imports nothing of the
engine, only the standard library. The titles in quotes here are sections of the two.

It has no beliefs with a reach to compare. Every chain of agents is written out, down to
``max_depth``; an event appends its value to each chain that it changes, and to no other; a belief
is the newest value that a chain holds. It has no live state either: recording appends to a list,
and asking replays the whole list in the order of events.

Here: the log and the questions. ``model_minds``: what events do to minds. ``model_rooms``: who is
where. Not covered: forget, and the policy weighted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model_minds import ACTORS, MOVED, SAID, Agents, Chain, Event, Minds, Past, chains, named
from model_rooms import Order, Rooms

__all__ = ["Chain", "Event", "Model", "chains", "collapse", "named"]

POLICIES = ("credulous", "exit-order")
ROOMS = ("channel", "place")
HISTORY = ("none", "since_join", "all")
READS = ("at_once", "later")
TARGETS = {
    "read": (*SAID, "edit", "forward"),
    "edit": (*SAID, "edit"),
    "forward": (*SAID, "edit", "forward"),
    "retract": (*SAID, "edit", "forward"),
}
"""The kinds that refer to another event, and to which; a void may be of any."""
KINDS = (*SAID, *MOVED, *TARGETS, "void")


class Model:
    """One scenario: its log is recorded event by event, then any mind can be asked.

    :param policy: what listeners make of testimony, ``credulous`` or ``exit-order`` ("Trust").
    :param rooms: what a room is unless it is declared a place, ``channel`` or ``place`` ("Words").
    :param max_depth: the longest chain that is written out, and so that can be asked.
    :param history: what of a room a newcomer may read, unless it is declared: ``none``,
        ``since_join`` or ``all`` ("Reading").
    :param reads: whether what is said in a room is read ``at_once`` or ``later`` ("Reading").

    Every question takes ``as_recorded``: only the first so many recorded events count then.
    """

    def __init__(
        self, policy: str = "credulous", rooms: str = "channel", max_depth: int = 5,
        history: str = "since_join", reads: str = "at_once",
    ) -> None:
        chosen = ((policy, POLICIES), (rooms, ROOMS), (history, HISTORY), (reads, READS))
        for setting, known in chosen:
            if setting not in known:
                raise ValueError(f"expected one of {known}, not {setting!r}")
        self.policy = policy
        self.rooms = rooms
        self.max_depth = max_depth
        self.history = history
        self.reads = reads
        self._log: list[Event] = []
        self._numbers: dict[str, int] = {}  # of the events that have an id
        self._replays: dict[int, Minds] = {}  # of the first so many events

    # Recording

    def record(self, event: Event) -> None:
        """Append an event; its ``seq`` is its number, from 1, and ``happened_at`` its moment.

        :raises ValueError: for an event of no known kind, for one that refers to no event that it
            can refer to, for an actor named as distracted, for an edit of nothing. What a room is
            is only checked by asking.
        """
        if event["kind"] not in KINDS:
            raise ValueError(f"the model knows no event of kind {event['kind']!r}")
        if set(named(event, ACTORS)) & set(named(event, ["distracted"])):
            raise ValueError(f"its actor cannot be distracted: {event}")
        seq = len(self._log) + 1
        if event["kind"] in (*TARGETS, "void"):
            event = {**event, "event": self._target(event, seq)}
        if (name := event.get("id")) is not None:
            if name in self._numbers:
                raise ValueError(f"there is an event {name!r} already")
            self._numbers[name] = seq
        self._log.append(event)
        self._replays.clear()

    def _target(self, event: Event, seq: int) -> int:
        """Return the number of the event that another one refers to."""
        name = event["event"]
        target = name if isinstance(name, int) else self._numbers.get(name)
        if target is None or not 1 <= target < seq:
            raise ValueError(f"there is no event {name!r} before this one: {event}")
        if event["kind"] == "void":
            return target
        of = self._log[target - 1]
        if of["kind"] not in TARGETS[event["kind"]]:
            raise ValueError(f"a {event['kind']} is not of a {of['kind']}: {event}")
        if self._order(target) > (event["happened_at"], seq):
            raise ValueError(f"it comes before the event that it refers to: {event}")
        if event["kind"] == "edit":
            while of["kind"] == "edit":
                of = self._log[of["event"] - 1]
            if event.get("value") is None and event.get("text") is None:
                raise ValueError(f"an edit has a value, a text or both: {event}")
            if event.get("value") is not None and of.get("entity") is None:
                raise ValueError(f"it edits a value, and there was none: {event}")
        return target

    # Asking

    def believes(
        self, chain: Sequence[str] | str, entity: str, as_of: int | None = None,
        as_recorded: int | None = None,
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
        return self._replay(as_recorded).believes(collapsed, entity, as_of)

    def truth(
        self, entity: str, as_of: int | None = None, as_recorded: int | None = None
    ) -> str | None:
        """Return what is true of an entity, ``None`` if nothing is."""
        return self._replay(as_recorded).truth(entity, as_of)

    @property
    def agents(self) -> list[str]:
        """The agents, in the order in which the events name them."""
        return list(self._replay().agents)

    def truly(self, as_recorded: int | None = None) -> list[Agents]:
        """Return whose mind each event reached, in the order of recording; a void nobody's."""
        return [past.truly for past in self._past(as_recorded)]

    def appeared(self, as_recorded: int | None = None) -> list[Agents]:
        """Return who the others think took each event in, in the order of recording."""
        return [past.appeared for past in self._past(as_recorded)]

    def noticed(self, as_recorded: int | None = None) -> list[Agents]:
        """Return who saw that each event took place and heard nothing ("Asides")."""
        return [past.noticed for past in self._past(as_recorded)]

    witnesses = truly

    def readable(self, agent: str, as_recorded: int | None = None) -> list[int]:
        """List the numbers of what was said that an agent may read now ("Reading", history)."""
        replay = self._replay(as_recorded)
        return sorted(n for n, past in replay.past.items() if replay.may_read(agent, past))

    def stays(
        self, agent: str, room: str, as_recorded: int | None = None
    ) -> list[tuple[int, int | None]]:
        """List an agent's stays in a room: the events by which it came and left ("Presence")."""
        stays = self._replay(as_recorded).rooms.stays.get((agent, room), [])
        return [(came[1], left[1] if left else None) for came, left in stays]

    # Replaying: see "The writing rule", and "Late events, events that never happened"

    def _order(self, seq: int) -> Order:
        return self._log[seq - 1]["happened_at"], seq

    def _past(self, as_recorded: int | None) -> list[Past]:
        """List what became of the recorded events; of those left out, nothing."""
        past, count = self._replay(as_recorded).past, self._count(as_recorded)
        return [past.get(seq, Past((0, seq), "void")) for seq in range(1, count + 1)]

    def _count(self, as_recorded: int | None) -> int:
        count = len(self._log)
        return count if as_recorded is None else min(count, as_recorded)

    def _replay(self, as_recorded: int | None = None) -> Minds:
        """Replay the log, or what had been recorded of it, in the order of events."""
        count = self._count(as_recorded)
        if count not in self._replays:
            out = left_out(self._log[:count])
            numbers = sorted({*range(1, count + 1)} - out, key=self._order)
            events = [(seq, self._log[seq - 1]) for seq in numbers]
            rooms = Rooms(self.rooms, self.history, self.reads)
            self._replays[count] = Minds(events, self.policy, rooms, self.max_depth)
        return self._replays[count]


def left_out(log: Sequence[Event]) -> set[int]:
    """Number the events that count as never recorded: voids, what they void, what refers to it.

    A void refers to an earlier event, so the last one is never voided itself.
    """
    voided: set[int] = set()
    for seq in range(len(log), 0, -1):
        if log[seq - 1]["kind"] == "void" and seq not in voided:
            voided.add(log[seq - 1]["event"])
    out = voided | {seq for seq, event in enumerate(log, 1) if event["kind"] == "void"}
    for seq, event in enumerate(log, 1):
        if event["kind"] in TARGETS and event["event"] in out:
            out.add(seq)
    return out


def collapse(names: Iterable[str]) -> Chain:
    """Drop each agent that repeats its neighbour: A>A is A, A>B>A stays ("Words": chain)."""
    chain: list[str] = []
    for name in names:
        if chain[-1:] != [name]:
            chain.append(name)
    return tuple(chain)
