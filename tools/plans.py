"""Before something is said: what it would change, and which messages reach a goal.

Pure functions over a `Memory`; what is tried is tried on forks.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, WithJsonSchema

from so_mcp.memory import Memory
from so_mcp.planner import Plan
from so_mcp.plans import Plans, counted
from so_mcp.progress import Progress, silent
from so_mcp.what_if import WhatIf
from so_mcp.wording import listed, quoted, some

from .answers import Answer, WouldChange
from .supervisor import Entity, refuse_too_many

# What an event holds is in the schema of record: once is enough for a context.
EventsLikeRecord = Annotated[
    list[Any],
    Field(min_length=1),
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "minItems": 1}),
    Field(description="as record takes them"),
]


class WhatIfAnswer(Answer):
    """Whose beliefs would change."""

    would_change: WouldChange

    @classmethod
    def of(cls, scenario: str, found: WhatIf, limit: int) -> Self:
        """From a supervisor's answer, cut to ``limit``."""
        would_change = WouldChange.of(found, limit)
        return cls(scenario=scenario, cut=would_change.cut, would_change=would_change)

    def text(self) -> str:
        """Who would believe what, those together that change alike."""
        return self.would_change.text("Narrow with depth 1, or raise limit.")


class PlanTried(BaseModel):
    """wrong: how many chains at depth 1, 2, …; learned, leaked: who else hears it first."""

    name: str
    messages: int
    reached: bool
    failure: str
    wrong: list[int]
    learned: list[str]
    leaked: list[str]
    events: list[dict[str, Any]]

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """From what a trial led to."""
        return cls(name=plan.name, messages=len(plan.events), reached=plan.reached,
                   failure=plan.failure, wrong=list(plan.wrong), learned=list(plan.learned),
                   leaked=list(plan.leaked), events=list(plan.events))

    def line(self) -> str:
        """The plan in one line."""
        whom = "" if self.name != "mixed plan" else f": {'; '.join(map(_to_whom, self.events))}"
        goal = "reaches the goal" if self.reached else f"fails: {self.failure}"
        others = [agent for agent in self.learned if agent not in self.leaked]
        side = f"; {some(others)} would learn it too" if others else ""
        size = counted(self.messages, "message")
        return f"- {self.name} ({size}{whom}) {goal}; wrong: {_numbers(self.wrong)}{side}"


class GoalGiven(BaseModel):
    """know are to believe it, and of each other; keep_from are not to learn it."""

    entity: str
    value: str
    speaker: str
    know: list[str]
    keep_from: list[str]

    def text(self) -> str:
        """The goal as a sentence."""
        each = ", and of each other" if len(self.know) > 1 else ""
        kept = f"; not {some(self.keep_from)}" if self.keep_from else ""
        return f"Goal: {some(self.know)} to believe {self.entity} is {quoted(self.value)}{each}{kept}."


class PlansAnswer(Answer):
    """wrong: without a message; the recommended plan's events are ready for record."""

    goal: GoalGiven
    wrong: list[int]
    plans: list[PlanTried]
    recommended: str | None
    reason: str
    warnings: list[str]
    notes: list[str]

    @classmethod
    def of(cls, scenario: str, found: Plans) -> Self:
        """From a supervisor's answer."""
        goal = found.goal
        return cls(
            scenario=scenario,
            goal=GoalGiven(entity=goal.entity, value=goal.value, speaker=goal.speaker,
                           know=list(goal.know), keep_from=list(goal.keep_from)),
            wrong=list(found.now.wrong),
            plans=[PlanTried.of(plan) for plan in found.tried],
            recommended=None if found.best is None else found.best.name,
            reason=found.reason,
            warnings=list(found.warnings),
            notes=list(found.notes),
        )

    def text(self) -> str:
        """A line a plan, which is best and why, and the events that carry it out."""
        depths = listed([str(depth) for depth in range(1, len(self.wrong) + 1)])
        lines = [
            self.goal.text(),
            *self.warnings,
            f"Wrong about it at depths {depths}: {_numbers(self.wrong)} now. After",
            *(plan.line() for plan in self.plans),
            *self.notes,
            self.reason,
        ]
        events = next((p.events for p in self.plans if p.name == self.recommended), [])
        if events:
            lines.append(f"record: {json.dumps(events, ensure_ascii=False)}")
        return "\n".join(lines)


def what_if(
    memory: Memory,
    events: EventsLikeRecord,
    depth: Annotated[int, Field(ge=1, le=3)] = 2,
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
    *,
    progress: Progress = silent,
) -> WhatIfAnswer:
    """Whose beliefs, about the truth and about each other, these events would change. Writes nothing."""
    refuse_too_many(events)
    return WhatIfAnswer.of(memory.scenario, memory.what_if(events, depth, progress=progress), limit)


def plan_announcements(
    memory: Memory,
    entity: Entity,
    speaker: str,
    know: Annotated[list[str], Field(description="to believe it, and of each other")],
    keep_from: Annotated[list[str] | None, Field(description="not to learn it")] = None,
    value: Annotated[str | None, Field(description="default: what speaker believes")] = None,
    *,
    progress: Progress = silent,
) -> PlansAnswer:
    """Whom to tell, and how: privately, as a group, in rooms, all, or a mix. Tries each on a copy: how
    many would be wrong, who else would learn it. Gives the events of the best."""
    found = memory.plan_announcements(
        entity, speaker, know, keep_from or (), value, progress=progress
    )
    return PlansAnswer.of(memory.scenario, found)


def _to_whom(event: dict[str, Any]) -> str:
    if event["kind"] == "announce":
        return "announced"
    if "room" in event:
        return f"in {event['room']}"
    return f"to {some(event['listeners'])}"


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
