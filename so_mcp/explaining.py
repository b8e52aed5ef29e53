"""What an explanation says beyond the event a belief is from: who did not take in what, and why.

Attention makes minds differ where everybody was there; reading, edits and retractions where the
message was the same. Each becomes a clause of the supervisor's `explain`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .attention import Attention
from .database import Call
from .minds import EVER, Held
from .names import world_key
from .seen import SeenEvent
from .wording import Had, happened, not_taken_in, some
from .world import Order

PASSED_ON = ("read", "forwarded")  # how beliefs come that are from an earlier event
_SPOKE_AT_MOST = 20  # looked at; the newest that matters is told


def since(held: Held | None, event: SeenEvent | None) -> Order:
    """From where on something newer would have been believed instead."""
    if held is None or event is None:
        return -1, 0
    if event.kind in ("read", "forward") and event.of is not None:
        return held.at, event.of.number
    return event.order


def calls(
    scenario: str, mind: str, entity: str, after: Order, as_of: int | None
) -> list[Call]:
    """What `Told` needs to be asked besides: their events are its ``beside``."""
    at, seq = after
    world, upto = world_key(scenario), EVER if as_of is None else as_of
    return [
        Call(world, "world/askew", {"entity": entity, "at": at, "seq": seq, "as_of": upto}),
        Call(world, "world/spoke", {
            "agent": mind, "at": at, "seq": seq, "as_of": upto, "limit": _SPOKE_AT_MOST,
        }),
    ]


def bearing(
    chain: Sequence[str], agent: str, events: Sequence[SeenEvent], attention: Attention
) -> tuple[SeenEvent, ...]:
    """Of what an agent of a chain missed, what can have to do with what the chain believes.

    That one of the others of the chain read it or was passed it on, where the agent has it itself;
    that what the agent has was retracted.
    """
    others = {*chain} - {agent}
    otherwise = {*attention.otherwise(agent)}

    def bears(event: SeenEvent) -> bool:
        has = event.target in otherwise or (event.of is not None and agent in event.of.witnesses)
        match event.kind:
            case "read":
                return not others.isdisjoint(attention.readers(event.number))
            case "retract":
                return has
            case "forward":
                return not has or not others.isdisjoint(event.witnesses)
        return True

    return tuple(filter(bears, events))


def inattentive(
    chain: Sequence[str], held: Held | None, event: SeenEvent | None, attention: Attention
) -> SeenEvent | None:
    """The event a belief is from, if the next of the chain seemed to take it in and did not."""
    if held is None or event is None or len(chain) == 1 or event.kind in ("read", "forward"):
        return None
    agent = chain[1]
    seemed = agent in held.witnesses and agent not in event.witnesses
    return event if seemed and event.number not in attention.otherwise(agent) else None


@dataclass(frozen=True, slots=True)
class Told:
    """What is there to be told of one chain; ``beside``: the events that `calls` find."""

    chain: tuple[str, ...]
    held: Held | None
    event: SeenEvent | None
    attention: Attention
    beside: Sequence[Sequence[SeenEvent]]

    def bears_on(self, agent: str, events: Sequence[SeenEvent]) -> tuple[SeenEvent, ...]:
        """See `bearing`."""
        return bearing(self.chain, agent, events, self.attention)

    def clauses(self, missed: Mapping[str, Sequence[SeenEvent]]) -> tuple[str, ...]:
        """In the order of a story: the event itself, what came after, who has spoken since."""
        askew, spoke = self.beside
        return (
            *self._did_not_attend(),
            *self._unseen(askew),
            *self._retracted(),
            *self._missed(missed),
            *self._spoke(spoke, {events[0].number for events in missed.values() if events}),
        )

    def _did_not_attend(self) -> list[str]:
        """Who seemed to take in the event that the belief is from, and did not."""
        if self.event is None or self.event.kind in ("read", "forward"):
            return []
        seemed = () if self.held is None else self.held.witnesses
        return [
            f"{agent} was there but did not take event {self.event.number} in"
            for agent in dict.fromkeys(self.chain[1:])
            if agent in seemed and agent not in self.event.witnesses
            and self.event.number not in self.attention.otherwise(agent)
        ]

    def _unseen(self, askew: Sequence[SeenEvent]) -> list[str]:
        """Who of the others took something in that it does not seem to have: its newest."""
        found: dict[str, str] = {}
        for event in askew:  # newest first
            for agent in self.chain[1:]:
                if agent != self.chain[0] and agent in event.witnesses and agent in event.hidden:
                    found.setdefault(agent, f"{agent} took event {event.number} in unseen: "
                                            f"{happened(event)}")
        return list(found.values())

    @property
    def retracted(self) -> SeenEvent | None:
        """The newest retraction that all of the chain took in, of what it would else believe."""
        after = since(self.held, self.event)
        return next((
            event for event in self.beside[0]
            if event.kind == "retract" and set(self.chain) <= set(event.witnesses)
            and event.of is not None and event.of.order > after
        ), None)

    def _retracted(self) -> list[str]:
        event = self.retracted
        return [] if event is None else [
            f"event {event.number} reached {some(event.witnesses)}: {happened(event)}"
        ]

    def _missed(self, missed: Mapping[str, Sequence[SeenEvent]]) -> list[str]:
        asked = [(agent, events[0]) for agent, events in missed.items() if events]
        return [
            not_taken_in(agent, event, why, had=self._had(agent, event))
            for (agent, event), why in zip(asked, self.attention.whys(asked), strict=True)
        ]

    def _had(self, agent: str, event: SeenEvent) -> Had | None:
        """Of an edit: how an agent has what was edited, if it has."""
        if event.kind != "edit" or event.of is None:
            return None
        if agent in event.of.witnesses:
            return "took in"
        return self.attention.otherwise(agent).get(event.of.number)

    def _spoke(self, spoke: Sequence[SeenEvent], told: Collection[int]) -> list[str]:
        """Who of those it is about has talked since: together, or as the first of them noticed.

        The newest of each, but what was ``told`` already.
        """
        mind, about = self.chain[0], set(self.chain[1:])
        partners = about or ({*self.held.witnesses} - {mind} if self.held is not None else set())
        found: dict[bool, str] = {}
        for event in spoke:  # newest first
            together = mind in event.witnesses
            talked = [name for name in event.witnesses if name not in event.hidden]
            if event.number in told:
                continue
            if not together and not partners.isdisjoint(talked):
                clause = f"since then {mind} saw {some(talked)} talk (event {event.number})"
            elif together and about and about <= set(talked):
                who = some(list(dict.fromkeys(self.chain)))
                clause = f"since then {who} spoke (event {event.number})"
            else:
                continue
            found.setdefault(together, clause)
        return list(found.values())
