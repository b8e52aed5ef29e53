"""What an agent's own `explain` and `what_changed` answer: from its mind alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from pydantic import BaseModel

from so_mcp.history import RETRACTED, Change
from so_mcp.minds import Aside, Held
from so_mcp.wording import clock, how_it_came, own_explanation, some

from .answers import Answer
from .history import before_that, believe


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
    """step: your own number of the event. yours: you came to believe it; of: who you think did."""

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
            you = f"you {believe(c.value, many=True)}{before_that(c.before)}"
            others = f"{some(c.of)} {believe(c.value, many=len(c.of) > 1)}"
            if not c.yours:
                you = f"you think {others}"
            elif c.of:
                you += f", and think the same of {some(c.of)}"
            came = "an earlier event was retracted" if c.how == RETRACTED else how_it_came(
                c.how, c.source, c.through
            )
            lines.append(f"- step {c.step}, {c.at}: {c.entity}: {you} ({came}).")
        if self.cut:
            lines.append(
                f"The newest {len(self.changes)} of {self.total}. Give a later since, or raise limit."
            )
        return "\n".join(lines) or "Nothing has changed for you."


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
