"""What the supervisor's `explain` and `who_knows` answer."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from so_mcp.questions import Explanation, Knowers
from so_mcp.testimony import Trail
from so_mcp.wording import Circle, circles, listed, quoted, some

from .answers import Answer, EventBrief

TakenFor = Literal["up to date", "out of date", "unaware", "unverified"]
_CIRCLES_AT_MOST = 12


class CameFrom(BaseModel):
    """Who told whom, from the source to the believer; told: the events in between; saw: the one by
    which the source had seen it, null: it had not."""

    agents: list[str]
    told: list[int]
    saw: int | None

    @classmethod
    def of(cls, trail: Trail) -> Self:
        """From a supervisor's answer."""
        saw = None if trail.saw is None else trail.saw.number
        return cls(agents=list(trail.agents), told=list(trail.told), saw=saw)


class ExplanationAnswer(Answer):
    """Why a chain believes it, who told whom, and what each agent of the chain missed since."""

    chain: list[str]
    entity: str
    value: str | None
    sentence: str
    event: EventBrief | None
    came_from: CameFrom | None
    missed: dict[str, list[EventBrief]]
    note: str | None = None

    @classmethod
    def of(cls, scenario: str, found: Explanation, note: str | None = None) -> Self:
        """From a supervisor's answer."""
        return cls(
            scenario=scenario,
            chain=list(found.chain),
            entity=found.entity,
            value=found.value,
            sentence=found.sentence,
            event=None if found.event is None else EventBrief.of(found.event),
            came_from=None if found.trail is None else CameFrom.of(found.trail),
            missed={a: [EventBrief.of(e) for e in events] for a, events in found.missed.items()},
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        return " ".join(filter(None, [self.sentence, self.note]))


class Misjudging(BaseModel):
    """Agents who are wrong about whether others know, and what they take them for."""

    agents: list[str]
    of: list[str]
    each_other: bool
    taken_for: TakenFor
    value: str | None

    def text(self) -> str:
        """As a clause."""
        take = "takes" if len(self.agents) == 1 else "take"
        whom = Circle((), tuple(self.of), self.each_other).whom()
        as_what = {
            "up to date": "to be up to date", "unaware": "to be unaware",
        }.get(self.taken_for, f"to believe {quoted(self.value)}")
        return f"{some(self.agents)} {take} {whom} {as_what}"


class WhoKnowsAnswer(Answer):
    """Who is up to date, who believes something else, who has not heard; who is wrong about that."""

    entity: str
    truth: str | None
    up_to_date: list[str]
    out_of_date: dict[str, str]
    unaware: list[str]
    unverified: dict[str, str] = Field(description="beliefs where no truth is recorded")
    misjudged: list[Misjudging]
    note: str | None = None

    @classmethod
    def of(cls, scenario: str, found: Knowers, note: str | None = None) -> Self:
        """From a supervisor's answer."""
        wrong: dict[tuple[TakenFor, str | None], list[tuple[str, str]]] = {}
        for one in found.misjudged or ():
            key = _taken_for(one.believes, found.truth), one.believes
            wrong.setdefault(key, []).append((one.agent, one.person))
        misjudged = [
            Misjudging(agents=list(circle.agents), of=list(circle.of),
                       each_other=circle.each_other, taken_for=taken_for, value=value)
            for (taken_for, value), pairs in wrong.items()
            for circle in circles(pairs)
        ]
        return cls(
            scenario=scenario,
            cut=found.misjudged is None or len(misjudged) > _CIRCLES_AT_MOST,
            entity=found.entity,
            truth=found.truth,
            up_to_date=list(found.up_to_date),
            out_of_date=found.out_of_date,
            unaware=list(found.unaware),
            unverified=found.unverified,
            misjudged=misjudged[:_CIRCLES_AT_MOST],
            note=note,
        )

    def text(self) -> str:
        """See `Answer.text`."""
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
        if self.misjudged:
            wrong = "; ".join(one.text() for one in self.misjudged)
            lines.append(f"Wrong about who knows: {wrong}.")
        if self.cut:
            lines.append(
                "More on who is wrong about who knows: ask false_beliefs with depth 2, this entity "
                "and agents."
            )
        return " ".join(filter(None, [*lines, self.note]))


def _taken_for(believed: str | None, truth: str | None) -> TakenFor:
    if believed is None:
        return "unaware"
    if truth is None:
        return "unverified"
    return "up to date" if believed == truth else "out of date"
