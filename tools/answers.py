"""What tools answer: complete as structured content, and compact as text for a small context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, Field

from so_mcp.briefing import Misinformed, Point, briefing_text
from so_mcp.minds import Held
from so_mcp.questions import Explanation, FalseBelief, Knowers, SeenEvent
from so_mcp.recorder import Record
from so_mcp.wording import belief, clock, happened, listed, quoted, thinks

NamesByName = dict[str, list[str]]


class Answer(BaseModel):
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
            what=happened(event),
            witnesses=list(event.witnesses),
        )


class BeliefAnswer(Answer):
    """value null: unknown, an answer of its own."""

    chain: list[str]
    entity: str
    value: str | None
    how: str | None = None
    source: str | None = None
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
            answer.at = clock(held.at)
        return answer

    def text(self) -> str:
        sentence = belief(self.chain, self.entity, self.value)
        if self.how is not None:
            source = f" by {self.source}" if self.source and self.how != "saw" else ""
            sentence += f" ({self.how}{source}, {self.at})"
        return f"{sentence}." + (f" {self.note}" if self.note else "")


class HeldBelief(BaseModel):
    """One belief of a list; chain only where it is not the agent's own."""

    entity: str
    value: str | None
    how: str
    source: str | None
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
                           at=clock(b.at))
                for b in held
            ],
        )

    def text(self) -> str:
        who = thinks(self.chain)
        lines = [f"- {b.entity}: {quoted(b.value)} ({b.how}, {b.at})" for b in self.beliefs]
        return f"{who} believes:\n" + "\n".join(lines) if lines else f"{who}: nothing is known."


class ExplanationAnswer(Answer):
    """Why a chain believes it, and what each agent of the chain missed since."""

    chain: list[str]
    entity: str
    value: str | None
    sentence: str
    event: EventBrief | None
    missed: dict[str, list[EventBrief]]

    @classmethod
    def of(cls, scenario: str, found: Explanation) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            chain=list(found.chain),
            entity=found.entity,
            value=found.value,
            sentence=found.sentence,
            event=None if found.event is None else EventBrief.of(found.event),
            missed={a: [EventBrief.of(e) for e in events] for a, events in found.missed.items()},
        )

    def text(self) -> str:
        return self.sentence


class WrongChain(BaseModel):
    """actual: the truth for one agent; for a chain, what the rest of it really believes."""

    chain: list[str]
    entity: str
    believed: str | None
    actual: str | None
    missed: list[EventBrief]


class FalseBeliefsAnswer(Answer):
    """Who is wrong, about what or about whom; shown may be fewer than total."""

    total: int
    shown: int
    wrong: list[WrongChain]

    @classmethod
    def of(cls, scenario: str, found: list[FalseBelief], limit: int) -> Self:
        """From a supervisor's answer, cut to ``limit``."""
        cut = found[:limit]
        return cls(
            scenario=scenario,
            cut=len(cut) < len(found),
            total=len(found),
            shown=len(cut),
            wrong=[
                WrongChain(chain=list(b.chain), entity=b.entity, believed=b.believed,
                           actual=b.actual, missed=[EventBrief.of(e) for e in b.missed])
                for b in cut
            ],
        )

    def text(self) -> str:
        if not self.total:
            return "Nobody is wrong."
        lines = []
        for item in self.wrong:
            side = "the truth is" if len(item.chain) == 1 else "really"
            missed = f"; missed: {item.missed[0].what} (event {item.missed[0].number})" if (
                item.missed
            ) else ""
            lines.append(
                f"- {belief(item.chain, item.entity, item.believed)}, {side} "
                f"{quoted(item.actual)}{missed}"
            )
        if self.shown < self.total:
            lines.append(
                f"{self.shown} of {self.total}. Narrow with entity, agents or depth, or raise limit."
            )
        return "\n".join(lines)


class WhoKnowsAnswer(Answer):
    """Who is up to date, who believes something else, who has not heard."""

    entity: str
    truth: str | None
    up_to_date: list[str]
    out_of_date: dict[str, str]
    unaware: list[str]
    unverified: dict[str, str] = Field(description="beliefs where no truth is recorded")

    @classmethod
    def of(cls, scenario: str, found: Knowers) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            entity=found.entity,
            truth=found.truth,
            up_to_date=list(found.up_to_date),
            out_of_date=found.out_of_date,
            unaware=list(found.unaware),
            unverified=found.unverified,
        )

    def text(self) -> str:
        lines = [f"{self.entity} is {quoted(self.truth)}."]
        if self.up_to_date:
            lines.append(f"Up to date: {listed(self.up_to_date)}.")
        for title, beliefs in (
            ("Out of date", self.out_of_date), ("Not verified", self.unverified)
        ):
            if beliefs:
                held = ", ".join(f"{who} believes {quoted(v)}" for who, v in beliefs.items())
                lines.append(f"{title}: {held}.")
        if self.unaware:
            lines.append(f"Unaware: {listed(self.unaware)}.")
        return " ".join(lines)


class ContextPoint(BaseModel):
    """One entity before a conversation; null is unknown."""

    entity: str
    you_believe: str | None
    they_believe: str | None
    they_think_you_believe: str | None
    action: str


class ContextAnswer(Answer):
    """What an agent should have in mind when it talks to another; context is for its prompt."""

    agent: str
    talking_to: str
    context: str
    points: list[ContextPoint]

    @classmethod
    def of(cls, scenario: str, agent: str, talking_to: str, found: list[Point]) -> Self:
        """From a read of the agent's mind."""
        return cls(
            scenario=scenario,
            agent=agent,
            talking_to=talking_to,
            context=briefing_text(found, talking_to),
            points=[
                ContextPoint(entity=p.entity, you_believe=p.mine, they_believe=p.theirs,
                             they_think_you_believe=p.seen_as, action=p.difference)
                for p in found
            ],
        )

    def text(self) -> str:
        return self.context


class MisinformedPerson(BaseModel):
    """you_believe null: you do not know either."""

    person: str
    entity: str
    they_believe: str
    you_believe: str | None


class MisinformedAnswer(Answer):
    """Who, as you see it, believes something else than you do."""

    people: list[MisinformedPerson]

    @classmethod
    def of(cls, scenario: str, found: Iterable[Misinformed]) -> Self:
        """From a read of the agent's mind."""
        return cls(
            scenario=scenario,
            people=[
                MisinformedPerson(person=m.person, entity=m.entity, they_believe=m.they_believe,
                                  you_believe=m.you_believe)
                for m in found
            ],
        )

    def text(self) -> str:
        lines = [
            f"- {p.person} believes {p.entity} is {quoted(p.they_believe)}; "
            + ("you do not know" if p.you_believe is None else f"you believe {quoted(p.you_believe)}")
            for p in self.people
        ]
        return "\n".join(lines) or "As far as you know, nobody believes otherwise than you."


class RecordedEvent(BaseModel):
    """again: its id was recorded before, nothing was written."""

    number: int
    at: str
    witnesses: list[str]
    again: bool = False


class RecordAnswer(Answer):
    """What was recorded, who witnessed it, which names it made."""

    events: list[RecordedEvent]
    new_agents: list[str]
    new_rooms: list[str]
    new_entities: list[str]
    near: NamesByName = Field(description="new name: existing names it may be a slip of")

    @classmethod
    def of(cls, scenario: str, record: Record) -> Self:
        """From what the recorder did."""
        return cls(
            scenario=scenario,
            events=[
                RecordedEvent(number=r.event.seq, at=clock(r.event.at),
                              witnesses=list(r.witnesses), again=r.again)
                for r in record.events
            ],
            new_agents=record.agents,
            new_rooms=record.rooms,
            new_entities=record.entities,
            near=record.near,
        )

    def text(self) -> str:
        lines = []
        for event in self.events:
            if event.again:
                lines.append(f"Event {event.number} was recorded before; nothing was written.")
            else:
                lines.append(f"Event {event.number} recorded, seen by {listed(event.witnesses)}.")
        for what, names in (
            ("agents", self.new_agents), ("rooms", self.new_rooms), ("entities", self.new_entities)
        ):
            if names:
                lines.append(f"New {what}: {', '.join(names)}.")
        lines += [
            f"Check: {name} is new, and near {listed(near)}. If it is a slip, use that name."
            for name, near in self.near.items()
        ]
        return "\n".join(lines)
