"""What tools answer: complete as structured content, and compact as text for a small context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, Field

from so_mcp.minds import Held
from so_mcp.questions import FalseBelief
from so_mcp.recorder import Record
from so_mcp.seen import SeenEvent
from so_mcp.what_if import WhatIf
from so_mcp.wording import (
    attended,
    belief,
    clock,
    happened,
    how_it_came,
    listed,
    quoted,
    thinks,
)

NamesByName = dict[str, list[str]]


class Answer(BaseModel, defer_build=True):  # built at its first use: a start is quicker
    """Every answer says which scenario it is about, as of which step, and whether it was cut.

    ``step`` is set when it is sent: the number of the newest event; for an agent the newest of
    its own mind.
    """

    scenario: str
    step: int = 0
    cut: bool = False

    def text(self) -> str:
        """The same as one short text."""
        raise NotImplementedError


class EventBrief(BaseModel):
    """An event of the log."""

    number: int
    at: str
    what: str
    witnesses: list[str]

    @classmethod
    def of(cls, event: SeenEvent) -> Self:
        """From a supervisor's answer."""
        return cls(
            number=event.number,
            at=clock(event.at),
            what=happened(event) + attended(event),
            witnesses=list(event.witnesses),
        )


class BeliefAnswer(Answer):
    """value null: unknown, an answer of its own."""

    chain: list[str]
    entity: str
    value: str | None
    how: str | None = None
    source: str | None = None
    through: str | None = None
    at: str | None = None
    note: str | None = None

    @classmethod
    def of(
        cls, scenario: str, chain: Iterable[str], entity: str, held: Held | None,
        note: str | None = None,
    ) -> Self:
        """From a read of one mind."""
        answer = cls(scenario=scenario, chain=list(chain), entity=entity, value=None, note=note)
        if held is not None:
            answer.value, answer.how, answer.source = held.value, held.via, held.source
            answer.through, answer.at = held.through, clock(held.at)
        return answer

    def text(self) -> str:
        sentence = belief(self.chain, self.entity, self.value)
        if self.how is not None:
            reader = self.chain[0] if len(self.chain) == 1 else None
            came = how_it_came(self.how, self.source, self.through, reader)
            sentence += f" ({came}, {self.at})"
        return f"{sentence}." + (f" {self.note}" if self.note else "")


class HeldBelief(BaseModel):
    """One belief of a list; through: who passed it on."""

    entity: str
    value: str | None
    how: str
    source: str | None
    through: str | None = None
    at: str


class BeliefsAnswer(Answer):
    """What one chain believes, of one entity or all."""

    chain: list[str]
    beliefs: list[HeldBelief]

    @classmethod
    def of(cls, scenario: str, chain: Iterable[str], held: Iterable[Held]) -> Self:
        """From a read of one mind."""
        return cls(
            scenario=scenario,
            chain=list(chain),
            beliefs=[
                HeldBelief(entity=b.entity, value=b.value, how=b.via, source=b.source,
                           through=b.through, at=clock(b.at))
                for b in held
            ],
        )

    def text(self) -> str:
        who = thinks(self.chain)
        lines = [
            f"- {b.entity}: {quoted(b.value)} ({how_it_came(b.how, b.source, b.through)}, {b.at})"
            for b in self.beliefs
        ]
        return f"{who} believes:\n" + "\n".join(lines) if lines else f"{who}: nothing is known."


class WrongChain(BaseModel):
    """actual: the truth for one agent; for a chain, what the rest of it really believes.
    inattentive: the event that the next of the chain seemed to take in, and did not."""

    chain: list[str]
    entity: str
    believed: str | None
    actual: str | None
    missed: list[EventBrief]
    inattentive: int | None = None


class FalseBeliefsAnswer(Answer):
    """Who is wrong, about what or about whom; shown may be fewer than total."""

    total: int
    shown: int
    wrong: list[WrongChain]
    note: str | None = None

    @classmethod
    def of(
        cls, scenario: str, found: list[FalseBelief], limit: int, note: str | None = None
    ) -> Self:
        """From a supervisor's answer, cut to ``limit``."""
        cut = found[:limit]
        return cls(
            scenario=scenario,
            cut=len(cut) < len(found),
            total=len(found),
            shown=len(cut),
            wrong=[
                WrongChain(chain=list(b.chain), entity=b.entity, believed=b.believed,
                           actual=b.actual, missed=[EventBrief.of(e) for e in b.missed],
                           inattentive=None if b.inattentive is None else b.inattentive.number)
                for b in cut
            ],
            note=note,
        )

    def text(self) -> str:
        if not self.total:
            return self.note or "Nobody is wrong."
        lines = []
        for item in self.wrong:
            side = "the truth is" if len(item.chain) == 1 else "really"
            missed = f"; missed: {item.missed[0].what} (event {item.missed[0].number})" if (
                item.missed
            ) else ""
            if item.inattentive is not None:
                missed += (
                    f"; {item.chain[1]} was there but did not take event {item.inattentive} in"
                )
            lines.append(
                f"- {belief(item.chain, item.entity, item.believed)}, {side} "
                f"{quoted(item.actual)}{missed}"
            )
        if self.shown < self.total:
            lines.append(
                f"{self.shown} of {self.total}. Narrow with entity, agents or depth, or raise limit."
            )
        return "\n".join(lines)


class BeliefChange(BaseModel):
    """before equals after: unmoved, but becomes wrong or right. actual: as in WrongChain, then."""

    chain: list[str]
    entity: str
    before: str | None
    after: str | None
    actual: str | None
    becomes: Literal["wrong", "right"] | None

    def what(self) -> str:
        """The change without whose it is."""
        moved = f"{quoted(self.before)} -> {quoted(self.after)}"
        if self.before == self.after:
            moved = f"still {quoted(self.after)}"
        side = "the truth is" if len(self.chain) == 1 else "really"
        verdict = {
            None: "",
            "right": ", becomes right",
            "wrong": f", becomes wrong: {side} {quoted(self.actual)}",
        }[self.becomes]
        return f"{self.entity} {moved}{verdict}"


class WouldChange(BaseModel):
    """Chains to depth; changes may be fewer than total."""

    depth: int
    total: int
    changes: list[BeliefChange]
    note: str | None

    @classmethod
    def of(cls, found: WhatIf, limit: int) -> Self:
        """From what a trial led to, cut to ``limit``."""
        changes = [
            BeliefChange(chain=list(c.chain), entity=c.entity, before=c.before, after=c.after,
                         actual=c.actual, becomes=c.becomes)
            for c in found.changes[:limit]
        ]
        return cls(depth=found.depth, total=len(found.changes), changes=changes,
                   note=found.left_out)

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return len(self.changes) < self.total or self.note is not None

    def text(self, narrow: str) -> str:
        """A line for all that change alike; ``narrow`` says how to see what was left out."""
        alike: dict[str, dict[tuple[str, ...], list[str]]] = {}
        for change in self.changes:
            *outer, last = change.chain
            alike.setdefault(change.what(), {}).setdefault(tuple(outer), []).append(last)
        lines = [
            f"- {what}: {'; '.join(thinks([*outer, listed(last)]) for outer, last in who.items())}"
            for what, who in alike.items()
        ] or ["No belief would change."]
        lines += [self.note] if self.note is not None else []
        if len(self.changes) < self.total:
            lines.append(f"{len(self.changes)} of {self.total} changes. {narrow}")
        return "\n".join(lines)


class RecordedEvent(BaseModel):
    """again: its id was recorded before, nothing was written."""

    number: int
    at: str
    witnesses: list[str]
    again: bool = False
    late: bool = False
    voids: int | None = None


class RecordAnswer(Answer):
    """What was recorded, who witnessed it, which names it made. would_change: dry_run, nothing is written."""

    events: list[RecordedEvent]
    new_agents: list[str]
    new_rooms: list[str]
    new_entities: list[str]
    near: NamesByName = Field(description="new name: existing names it may be a slip of")
    would_change: WouldChange | None = None

    @classmethod
    def of_dry_run(cls, scenario: str, found: WhatIf, limit: int) -> Self:
        """From what the recorder did on a fork, with the beliefs that it changed there."""
        answer = cls.of(scenario, found.record)
        answer.would_change = WouldChange.of(found, limit)
        answer.cut = answer.would_change.cut
        return answer

    @classmethod
    def of(cls, scenario: str, record: Record) -> Self:
        """From what the recorder did."""
        return cls(
            scenario=scenario,
            events=[
                RecordedEvent(number=r.event.seq, at=clock(r.event.at),
                              witnesses=list(r.witnesses), again=r.again, late=r.late,
                              voids=r.event.target if r.event.kind == "void" else None)
                for r in record.events
            ],
            new_agents=record.agents,
            new_rooms=record.rooms,
            new_entities=record.entities,
            near=record.near,
        )

    def text(self) -> str:
        dry = self.would_change
        lines = [] if dry is None else ["Nothing was written. It would be:"]
        for event in self.events:
            if event.again:
                lines.append(f"Event {event.number} was recorded before; nothing was written.")
            elif event.voids is not None:
                lines.append(
                    f"Event {event.number} recorded: event {event.voids} never happened. To take "
                    f"that back, void event {event.number}."
                )
            else:
                late = "" if not event.late else (
                    " Others had happened after it: what came of them was worked out again."
                )
                lines.append(
                    f"Event {event.number} recorded, seen by {listed(event.witnesses)}.{late}"
                )
        for what, names in (
            ("agents", self.new_agents), ("rooms", self.new_rooms), ("entities", self.new_entities)
        ):
            if names:
                lines.append(f"New {what}: {', '.join(names)}.")
        lines += [
            f"Check: {name} is new, and near {listed(near)}. If it is a slip, use that name."
            for name, near in self.near.items()
        ]
        if dry is not None:
            lines.append(dry.text("what_if with a higher limit shows the rest."))
        return "\n".join(lines)
