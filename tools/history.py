"""History: what happened, what somebody missed of it, and what it did to minds.

The supervisor's tools over a `Memory`; an agent's own, `explain` and `what_changed`, are in
`own_mind`, and what they answer in `own_history`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, Field, Strict

from so_mcp.attention import Why
from so_mcp.history import Change, Missed, Replay, Step, Timeline
from so_mcp.memory import Memory
from so_mcp.wording import (
    Circle,
    circles,
    clock,
    happened,
    listed,
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
        before = before_that(self.before)
        if not (self.of or self.each_other):
            return f"{who} {believe(self.value, many=many)}{before}"
        whom = Circle((), tuple(self.of), self.each_other).whom()
        they = believe(self.value, many=self.each_other or len(self.of) > 1)
        return f"{who} {'think' if many else 'thinks'} {whom} {they}{before}"


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


def believe(value: str | None, *, many: bool) -> str:
    """That one, or many, came to believe a value; None: came not to know."""
    if value is None:
        return "no longer know" if many else "no longer knows"
    return f"{'believe' if many else 'believes'} {quoted(short(value))}"


def before_that(value: str | None) -> str:
    """What they believed before, as a parenthesis."""
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
