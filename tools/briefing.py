"""What the tools answer that prepare a conversation: what to have in mind, who is misinformed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel

from so_mcp.briefing import Briefing, Misinformed, briefing_text
from so_mcp.wording import quoted

from .answers import Answer


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
    note: str | None = None

    @classmethod
    def of(
        cls, scenario: str, agent: str, talking_to: str, found: Briefing,
        note: str | None = None,
    ) -> Self:
        """From a read of the agent's mind."""
        return cls(
            scenario=scenario,
            agent=agent,
            talking_to=talking_to,
            context=briefing_text(found, talking_to),
            points=[
                ContextPoint(entity=p.entity, you_believe=p.mine, they_believe=p.theirs,
                             they_think_you_believe=p.seen_as, action=p.difference)
                for p in found.points
            ],
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        return self.context if self.note is None else f"{self.note}\n{self.context}"


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
        """See `Answer.text`."""
        lines = [
            f"- {p.person} believes {p.entity} is {quoted(p.they_believe)}; "
            + ("you do not know" if p.you_believe is None else f"you believe {quoted(p.you_believe)}")
            for p in self.people
        ]
        return "\n".join(lines) or "As far as you know, nobody believes otherwise than you."
