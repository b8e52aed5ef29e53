"""Where a message went: whom it was delivered to, who read it, who passed it on, what became of it.

Computed by the fold of the log (`so_mcp.projection`), whenever it is asked. SEMANTICS.md, "Reading".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .attention import SAID, Whereabouts
from .database import Call, Database
from .errors import InvalidInputError
from .events import LoggedEvent
from .log import log_calls, log_of
from .names import brief, world_key
from .projection import Projection, project
from .reading import settings_of
from .seen import SeenEvent
from .wording import clock, happened, some
from .world import Settings


@dataclass(frozen=True, slots=True)
class Reading:
    """Who read a message later, by which event (``number``, ``at`` in ms), and who was shown that.

    ``shows`` is the number of the version that was read: its newest edit by then, or itself.
    ``receipt``: those who had taken it in were shown; else those it was acknowledged to, if any.
    """

    number: int
    at: int
    agents: tuple[str, ...]
    shows: int
    receipt: bool
    shown_to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PassedOn:
    """Who forwarded a message, by which event, and who took that in."""

    number: int
    at: int
    by: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one event.

    ``reached`` truly took it in; ``appeared``: who the others think did; ``inattentive`` seemed to
    and did not, ``unseen`` did and did not seem to; ``noticed`` saw them talk. ``unread``: it was
    delivered to them, and they have read neither it nor an edit of it; ``may_read``: nor have
    these, to whom only the history of a room that they are in shows it. ``edits`` and
    ``retractions`` since, oldest first.
    """

    event: SeenEvent
    reached: tuple[str, ...]
    appeared: tuple[str, ...]
    inattentive: tuple[str, ...]
    unseen: tuple[str, ...]
    noticed: tuple[str, ...]
    unread: tuple[str, ...]
    may_read: tuple[str, ...]
    read: tuple[Reading, ...]
    passed_on: tuple[PassedOn, ...]
    edits: tuple[SeenEvent, ...]
    retractions: tuple[SeenEvent, ...]

    def lines(self) -> list[str]:
        """As sentences, what happened first."""
        found = [f"Event {self.event.number}, {clock(self.event.at)}: {happened(self.event)}."]
        seen = [name for name in self.reached if name not in self.unseen]
        found += [
            f"{what}: {some(names)}."
            for what, names in (
                ("Took it in", seen), ("Seemed to, and did not", self.inattentive),
                ("Took it in unseen", self.unseen), ("Saw them talk", self.noticed),
                ("Delivered, not read", self.unread), ("May read it, and has not", self.may_read),
            )
            if names
        ]
        for reading in self.read:
            version = "" if reading.shows == self.event.number else f" as event {reading.shows}"
            shown = f", seen by {some(reading.shown_to)}" if reading.shown_to else ", seen by nobody"
            how = " with a receipt" if reading.receipt else ""
            found.append(f"Read{version} by {some(reading.agents)} at {clock(reading.at)} "
                         f"(event {reading.number}){how}{shown}.")
        found += [
            f"Passed on by {one.by} to {some(one.to)} at {clock(one.at)} (event {one.number})."
            for one in self.passed_on
        ]
        found += [f"Since then: {happened(event)} (event {event.number})."
                  for event in (*self.edits, *self.retractions)]
        return found


class Deliveries:
    """The log of a scenario, folded; of which any message can be asked."""

    def __init__(self, log: Iterable[LoggedEvent], settings: Settings) -> None:
        self._log = {event.seq: event for event in log}
        self._projection: Projection = project(self._log.values(), settings)
        done = self._projection.events
        self._said = {seq: d.event for seq, d in done.items() if d.event.kind in SAID}
        self._where = Whereabouts(
            (self._log[seq] for seq in done), (self._log[seq] for seq in self._said),
            self._projection.world.rooms,
        )
        self._readings = [
            (d.event, d.routed.read) for d in done.values() if d.routed.read is not None
        ]
        self._newest: dict[int, int] = {}  # by what was first said: its newest version
        for seq in self._said:  # in the order of events
            self._newest[self._first(seq)] = seq

    def of(self, event: int | str) -> Delivery:
        """What became of an event, by its number or id; raises `InvalidInputError` for no event."""
        seq = self._number(event)
        done = self._projection.events[seq]
        routed, first = done.routed, self._first(seq)
        read = tuple(
            self._reading(reading, shows) for reading, shows in self._readings
            if self._first(shows) == first
        )
        have = {*routed.witnesses, *(agent for one in read for agent in one.agents)}
        rest = [agent for agent in self._projection.world.agents if agent not in have]
        spot = self._where.spots.get(seq)
        unread = [a for a in rest if spot is not None and spot.delivered(a, routed.appeared)]
        may = [a for a in rest if spot is not None and a not in unread
               and self._where.may_read(a, seq, routed.appeared)]
        return Delivery(
            self._seen(seq), routed.witnesses, routed.appeared,
            tuple(a for a in routed.appeared if a not in routed.witnesses),
            tuple(a for a in routed.witnesses if a not in routed.appeared),
            tuple(done.asides()), tuple(unread), tuple(may), read,
            tuple(self._passed_on(seq)),
            tuple(self._later("edit", {s for s in self._said if self._first(s) == first}, seq)),
            tuple(self._later("retract", {seq}, seq)),
        )

    def readable(self, agent: str) -> list[int]:
        """The numbers of what an agent may read and has not: of each message its newest version."""
        found = set()
        for seq in self._said:
            newest = self._newest[self._first(seq)]
            witnesses = self._projection.events[newest].routed.witnesses
            has = agent in witnesses or any(
                shows == newest and agent in reading.agents for reading, shows in self._readings
            )
            appeared = self._projection.events[seq].routed.appeared
            if not has and self._where.may_read(agent, seq, appeared):
                found.add(newest)
        return sorted(found)

    def _number(self, event: int | str) -> int:
        by_id = {line.id: seq for seq, line in self._log.items() if line.id is not None}
        seq = by_id.get(event) if isinstance(event, str) else event
        if seq in self._projection.events and not isinstance(seq, bool):
            return seq
        if seq in self._projection.void:
            raise InvalidInputError(f"event: event {seq} never happened: it was voided.")
        newest = f"The newest is {max(self._log)}." if self._log else "There is none yet."
        raise InvalidInputError(
            f"event: no event has the {'id' if isinstance(event, str) else 'number'} "
            f"{brief(event)}. {newest} The timeline names them."
        )

    def _first(self, seq: int) -> int:
        """What an edit edits in the end; any other event itself."""
        while (event := self._log[seq]).kind == "edit" and event.target is not None:
            seq = event.target
        return seq

    def _seen(self, seq: int) -> SeenEvent:
        event, _, routed = self._projection.events[seq]
        seen = SeenEvent(
            event.seq, event.at, event.kind, event.actor, event.room, event.entity, event.value,
            event.text, event.about, routed.witnesses, event.agents, event.everyone, event.target,
            event.edits, event.receipt, event.audience, event.distracted, event.hidden,
            event.noticed,
        )
        if event.target is None or event.kind == "void":
            return seen
        return replace(seen, of=self._seen(event.target))

    def _reading(self, reading: LoggedEvent, shows: int) -> Reading:
        shown = self._projection.events[reading.seq].routed.witnesses
        return Reading(
            reading.seq, reading.at, reading.agents, shows, reading.receipt,
            tuple(agent for agent in shown if agent not in reading.agents),
        )

    def _passed_on(self, seq: int) -> Iterator[PassedOn]:
        for number, event in self._said.items():
            if event.kind == "forward" and event.target == seq and event.actor is not None:
                took = self._projection.events[number].routed.witnesses
                to = tuple(agent for agent in took if agent != event.actor)
                yield PassedOn(number, event.at, event.actor, to)

    def _later(self, kind: str, targets: set[int], seq: int) -> Iterator[SeenEvent]:
        order = self._projection.events[seq].event.order
        for number, done in self._projection.events.items():
            event = done.event
            if event.kind == kind and event.target in targets and event.order > order:
                yield self._seen(number)


def deliveries(database: Database, scenario: str) -> Deliveries:
    """The log as it is now, folded: one round trip, and about 30 ms for each thousand events."""
    calls = [Call(world_key(scenario), "world/scenario", {}), *log_calls(scenario)]
    rows, *log = database.read_together(calls)
    return Deliveries(log_of(log), settings_of(rows[0]) if rows else Settings())
