"""History: what happened, what somebody missed of it, and what it did to minds.

The supervisor's tools over a `Memory`; an agent's own, `explain` and `what_changed`, are in `own_mind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, Strict

from so_mcp.attention import Why
from so_mcp.history import RETRACTED, Change, Missed, Replay, Step, Timeline
from so_mcp.memory import Memory
from so_mcp.minds import Aside, Held
from so_mcp.wording import (
    Circle,
    circles,
    clock,
    happened,
    how_it_came,
    listed,
    own_explanation,
    quoted,
    short,
    some,
)

from .answers import Answer, EventBrief
from .supervisor import AsOf, Entity

Since = Annotated[
    str | Annotated[int, Strict()] | None, Field(description="ISO 8601 time, or after a step")
]
Limit = Annotated[int, Field(ge=1, le=500)]


class TimelineAnswer(Answer):
    """Events, newest last; total counts those left out too."""

    events: list[EventBrief]
    total: int
    note: str | None = None

    @classmethod
    def of(cls, scenario: str, found: Timeline, note: str | None) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            cut=len(found.events) < found.total,
            events=[EventBrief.of(event) for event in found.events],
            total=found.total,
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        lines = [
            f"- event {e.number}, {e.at}: {e.what}. Seen by {some(e.witnesses)}."
            for e in self.events
        ]
        if self.cut:
            lines.append(
                f"The newest {len(self.events)} of {self.total}. Narrow with entity, agent or since; "
                "as_of goes back; or raise limit."
            )
        return "\n".join(lines) or " ".join(filter(None, ["No such event.", self.note]))


class MissedBrief(BaseModel):
    """knows: the agent believes the value all the same. why: absent; noticed that they talked;
    readable, the room's history shows it; unread, though delivered; away; or distracted."""

    number: int
    at: str
    what: str
    could_tell: list[str]
    knows: bool
    why: Why

    def reason(self, agent: str) -> str:
        """As a sentence; nothing of one who was not there."""
        sentence = {
            "absent": "",
            "noticed": "saw them talk and heard nothing",
            "readable": "may read it",
            "unread": "has not read it, though it was delivered",
            "away": "was away",
            "distracted": "was there but did not take it in",
        }[self.why]
        return sentence and f" {agent} {sentence}."


class MissedAnswer(Answer):
    """What an agent did not take in, newest first; total counts what is left out too."""

    agent: str
    missed: list[MissedBrief]
    total: int
    note: str | None = None

    @classmethod
    def of(cls, scenario: str, found: Missed, note: str | None) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            cut=len(found.events) < found.total,
            agent=found.agent,
            missed=[
                MissedBrief(number=m.event.number, at=clock(m.event.at), what=happened(m.event),
                            could_tell=list(m.event.witnesses), knows=m.knows, why=m.why)
                for m in found.events
            ],
            total=found.total,
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        lines = [
            f"- event {m.number}, {m.at}: {m.what}.{m.reason(self.agent)} "
            f"Could tell it: {some(m.could_tell)}."
            for m in self.missed if not m.knows
        ]
        if known := [str(m.number) for m in self.missed if m.knows]:
            events = f"event {known[0]}" if len(known) == 1 else f"events {listed(known)}"
            lines.append(f"- and what {self.agent} believes all the same: {events}.")
        if self.cut:
            lines.append(
                f"The newest {len(self.missed)} of {self.total}. Narrow with entity or since; as_of "
                "goes back; or raise limit."
            )
        if lines:
            return "\n".join([f"{self.agent} missed:", *lines])
        return " ".join(filter(None, [f"{self.agent} missed nothing.", self.note]))


class ReplayedChange(BaseModel):
    """Agents who came to believe it or, with of, to think that those do; null: unknown."""

    agents: list[str]
    of: list[str]
    each_other: bool
    before: str | None
    value: str | None

    def text(self) -> str:
        """As a clause."""
        many = len(self.agents) > 1
        who = some(self.agents)
        before = _before(self.before)
        if not (self.of or self.each_other):
            return f"{who} {_believe(self.value, many=many)}{before}"
        whom = Circle((), tuple(self.of), self.each_other).whom()
        believe = _believe(self.value, many=self.each_other or len(self.of) > 1)
        return f"{who} {'think' if many else 'thinks'} {whom} {believe}{before}"


class ReplayedStep(EventBrief):
    """where: each room and who was in it just after the event."""

    where: dict[str, list[str]]
    changes: list[ReplayedChange]

    @classmethod
    def after(cls, step: Step) -> Self:
        """From a supervisor's answer."""
        return cls(
            **EventBrief.of(step.event).model_dump(),
            where={room: list(agents) for room, agents in step.where.items()},
            changes=_grouped(step.changes),
        )

    def changed(self) -> str:
        """The changes as a sentence."""
        left, clauses = list(self.changes), []
        while left:
            change = left.pop(0)
            alike = change.model_copy(update={"each_other": True})
            clause = change.text()
            if not change.of and alike in left:
                left.remove(alike)
                clause += ", and think the same of each other"
            clauses.append(clause)
        return f"Now {'; '.join(clauses)}." if clauses else "It changed nobody's belief."


class ReplayAnswer(Answer):
    """What happened to an entity, and after each event the beliefs of order 1 and 2 it changed."""

    entity: str
    steps: list[ReplayedStep]
    note: str | None = None

    @classmethod
    def of(cls, scenario: str, found: Replay, note: str | None) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            cut=found.cut,
            entity=found.entity,
            steps=[ReplayedStep.after(step) for step in found.steps],
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        lines, before = [], None
        for step in self.steps:
            lines.append(
                f"- event {step.number}, {step.at}: {step.what}. Seen by {some(step.witnesses)}."
            )
            if step.where != before:
                before = step.where
                rooms = "; ".join(f"{room}: {some(who)}" for room, who in step.where.items())
                lines.append(f"  Where they are: {rooms or 'in no room'}.")
            lines.append(f"  {step.changed()}")
        if self.cut:
            lines.append("Earlier events are left out: as_of goes back; or raise limit.")
        if not lines:
            return " ".join(filter(None, [f"Nothing has happened to {self.entity}.", self.note]))
        return "\n".join(filter(None, [*lines, self.note]))


class HowItCame(BaseModel):
    """took_part, as it appeared to you; through: who passed it on."""

    how: str
    source: str | None
    through: str | None
    room: str | None
    at: str
    took_part: list[str]
    words: str | None


class OwnExplanationAnswer(Answer):
    """Why you believe it, or think that a person does; came null: you hold nothing of it."""

    chain: list[str]
    entity: str
    value: str | None
    came: HowItCame | None
    sentence: str

    @classmethod
    def of(
        cls, scenario: str, chain: Sequence[str], entity: str, held: Held | None,
        aside: Aside | None = None,
    ) -> Self:
        """From a read of the agent's mind."""
        answer = cls(
            scenario=scenario,
            chain=list(chain),
            entity=entity,
            value=None,
            came=None,
            sentence=own_explanation(chain, entity, held, aside),
        )
        if held is not None:
            answer.value = held.value
            answer.came = HowItCame(
                how=held.via, source=held.source, through=held.through, room=held.room,
                at=clock(held.at),
                took_part=list(held.witnesses), words=held.text,
            )
        return answer

    def text(self) -> str:
        """See `Answer.text`."""
        return self.sentence


class OwnChange(BaseModel):
    """step: your own number of the event, or of what was retracted. yours: you came to believe it;
    of: who you think did."""

    step: int
    at: str
    entity: str
    value: str | None
    how: str
    source: str | None
    through: str | None
    yours: bool
    before: str | None
    of: list[str]


class ChangedAnswer(Answer):
    """What you came to believe or to think of others, newest last; before: what you believed."""

    changes: list[OwnChange]
    total: int

    @classmethod
    def of(cls, scenario: str, found: Iterable[Change], limit: int) -> Self:
        """From a read of the agent's mind: the newest ``limit`` events and entities."""
        by_event: dict[tuple[Any, ...], list[Change]] = {}
        for change in found:
            held = change.held
            # After a retraction those who believed the same may believe different things.
            alike = held.step, held.entity, held.via == RETRACTED and (held.at, held.value)
            by_event.setdefault(alike, []).append(change)
        changes = [_own_change(together) for together in by_event.values()]
        return cls(
            scenario=scenario,
            cut=len(changes) > limit,
            changes=changes[-limit:],
            total=len(changes),
        )

    def text(self) -> str:
        """See `Answer.text`."""
        lines = []
        for c in self.changes:
            you = f"you {_believe(c.value, many=True)}{_before(c.before)}"
            others = f"{some(c.of)} {_believe(c.value, many=len(c.of) > 1)}"
            if not c.yours:
                you = f"you think {others}"
            elif c.of:
                you += f", and think the same of {some(c.of)}"
            came = f"step {c.step} was retracted" if c.how == RETRACTED else how_it_came(
                c.how, c.source, c.through
            )
            step = f"step {c.step}, " if c.how != RETRACTED else ""
            lines.append(f"- {step}{c.at}: {c.entity}: {you} ({came}).")
        if self.cut:
            lines.append(
                f"The newest {len(self.changes)} of {self.total}. Give a later since, or raise limit."
            )
        return "\n".join(lines) or "Nothing has changed for you."


def timeline(
    memory: Memory,
    entity: str | None = None,
    agent: Annotated[str | None, Field(description="only what it witnessed")] = None,
    since: Since = None,
    as_of: AsOf = None,
    limit: Limit = 20,
) -> TimelineAnswer:
    """The log, newest last: who did what where, and who saw it."""
    found = memory.timeline(entity, agent, since, as_of, limit)
    return TimelineAnswer.of(memory.scenario, found, _note(memory, entity, found.events))


def missed(
    memory: Memory,
    agent: str,
    since: Since = None,
    entity: str | None = None,
    as_of: AsOf = None,
    limit: Limit = 20,
) -> MissedAnswer:
    """What an agent did not take in, newest first, why, and who could tell it."""
    found = memory.missed(agent, since, entity, as_of, limit)
    return MissedAnswer.of(memory.scenario, found, _note(memory, entity, found.events))


def replay(
    memory: Memory, entity: Entity, as_of: AsOf = None, limit: Limit = 20
) -> ReplayAnswer:
    """An entity's events: who was where, who saw it, which beliefs of order 1 and 2 it changed."""
    found = memory.replay(entity, as_of, limit)
    note = _note(memory, entity, found.steps)
    if found.order == 1:
        note = "What they think of each other is left out: too many saw it."
    return ReplayAnswer.of(memory.scenario, found, note)


def _note(memory: Memory, entity: str | None, found: Sequence[object]) -> str | None:
    """When nothing was found: whether the entity is one at all."""
    return None if found or entity is None else memory.slip_of_an_entity(entity)


def _believe(value: str | None, *, many: bool) -> str:
    if value is None:
        return "no longer know" if many else "no longer knows"
    return f"{'believe' if many else 'believes'} {quoted(short(value))}"


def _before(value: str | None) -> str:
    return "" if value is None else f" (before: {quoted(short(value))})"


def _grouped(changes: Iterable[Change]) -> list[ReplayedChange]:
    """Those who changed alike together: few lines for what every witness came to think of each."""
    alike: dict[tuple[int, str | None, str | None], list[tuple[str, ...]]] = {}
    for change in changes:
        key = len(change.chain), change.before, change.held.value
        alike.setdefault(key, []).append(change.chain)
    grouped = []
    for (depth, before, value), chains in alike.items():
        together = (
            [Circle(tuple(name for (name,) in chains), (), each_other=False)]
            if depth == 1 else circles((a, b) for a, b in chains)
        )
        grouped += [
            ReplayedChange(agents=list(circle.agents), of=list(circle.of),
                           each_other=circle.each_other, before=before, value=value)
            for circle in together
        ]
    return grouped


def _own_change(changes: list[Change]) -> OwnChange:
    """What one event changed about one entity."""
    held = changes[0].held
    own = [change for change in changes if len(change.chain) == 1]
    return OwnChange(
        step=held.step,
        at=clock(held.known),
        entity=held.entity,
        value=held.value,
        how=held.via,
        source=held.source,
        through=held.through,
        yours=bool(own),
        before=own[0].before if own else None,
        of=[change.chain[1] for change in changes if len(change.chain) == 2],
    )
