"""What one agent should have in mind when it talks to another: from its own mind alone.

The supervisor's `context_for` and an agent's own are the same function; only the login differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .database import Database
from .errors import InvalidInputError
from .minds import Aside, ask_all, ask_all_noticing, people
from .names import shown
from .wording import quoted, they_spoke

Difference = Literal["correct", "tell", "learn", "misjudged", "agree"]
ASIDES_AT_MOST = 3  # the newest
_ORDER: tuple[Difference, ...] = ("correct", "tell", "learn", "misjudged")


@dataclass(frozen=True, slots=True)
class Point:
    """One entity, as ``agent`` sees itself and the one it talks to. None is unknown.

    ``mine``: what it believes; ``theirs``: what it thinks the other believes; ``seen_as``: what
    it thinks the other thinks it believes.
    """

    entity: str
    mine: str | None
    theirs: str | None
    seen_as: str | None

    @property
    def difference(self) -> Difference:
        """What to do about it."""
        if self.mine is None and self.theirs is None:
            return "agree"
        if self.mine is None:
            return "learn"
        if self.theirs is None:
            return "tell"
        if self.mine != self.theirs:
            return "correct"
        return "misjudged" if self.seen_as != self.mine else "agree"

    def line(self, other: str) -> str:
        """The sentence a model is given."""
        mine, theirs = quoted(self.mine), quoted(self.theirs)
        match self.difference:
            case "correct":
                return (
                    f"- {self.entity}: you believe {mine}, but {other} believes {theirs}. "
                    "Correct this before relying on it."
                )
            case "tell":
                return f"- {self.entity}: you believe {mine}; nothing tells you whether {other} knows."
            case "learn":
                return f"- {self.entity}: {other} believes {theirs}; you do not know."
            case "misjudged":
                seen = "does not know that you do" if self.seen_as is None else (
                    f"thinks you believe {quoted(self.seen_as)}"
                )
                return f"- {self.entity}: you both believe {mine}, but {other} {seen}."
            case _:
                return f"- {self.entity}: you both believe {mine}."


@dataclass(frozen=True, slots=True)
class Briefing:
    """The points, what to act on first; and talks of the other with somebody else, oldest first.

    Of those talks ``agent`` noticed that they took place, and heard nothing.
    """

    points: list[Point]
    asides: list[Aside]


@dataclass(frozen=True, slots=True)
class Misinformed:
    """Somebody who, as one mind sees it, believes something else than that mind does."""

    person: str
    entity: str
    they_believe: str
    you_believe: str | None


def briefing(
    database: Database, scenario: str, agent: str, talking_to: str, as_of: int | None = None
) -> Briefing:
    """Every entity of which ``agent`` believes something, of itself or of the other."""
    own, theirs, back = (agent,), (agent, talking_to), (agent, talking_to, agent)
    held, noticed = ask_all_noticing(database, scenario, [own, theirs, back], None, as_of)
    values = {key: belief.value for key, belief in held.items()}
    points = [
        Point(entity, values.get((own, entity)), values.get((theirs, entity)),
              values.get((back, entity)))
        for entity in dict.fromkeys(entity for _, entity in held)
    ]
    known = [point for point in points if point.mine is not None or point.theirs is not None]
    ranks = {difference: rank for rank, difference in enumerate(_ORDER)}
    known.sort(key=lambda point: (ranks.get(point.difference, len(ranks)), point.entity))
    asides = [aside for aside in noticed if talking_to in aside.agents]
    return Briefing(known, asides[-ASIDES_AT_MOST:])


def refuse_oneself(agent: str, talking_to: str) -> None:
    """Raise `InvalidInputError` for one who would talk to itself."""
    if agent == talking_to:
        raise InvalidInputError(
            f"talking_to: expected another agent than {shown(agent)} itself. To see what one "
            "believes, ask for its beliefs."
        )


def briefing_text(found: Briefing, talking_to: str) -> str:
    """The block of text for a model: what to act on, a line each; then what they agree on."""
    points = found.points
    lines = [point.line(talking_to) for point in points if point.difference != "agree"]
    agreed = [f"{p.entity} ({quoted(p.mine)})" for p in points if p.difference == "agree"]
    if agreed:
        lines.append(f"- You and {talking_to} agree on: {', '.join(agreed)}.")
    lines += [f"- {they_spoke(aside)}." for aside in found.asides]
    return "\n".join(lines) or f"- You hold nothing that bears on {talking_to}."


def misinformed(database: Database, scenario: str, agent: str) -> list[Misinformed]:
    """Each person and entity where what ``agent`` thinks they believe is known and differs."""
    others = people(database, scenario, agent)
    chains = [(agent,), *((agent, other) for other in others)]
    held = ask_all(database, scenario, chains)
    own = {entity: belief.value for (chain, entity), belief in held.items() if len(chain) == 1}
    return [
        Misinformed(chain[1], entity, belief.value, own.get(entity))
        for (chain, entity), belief in held.items()
        if len(chain) == 2 and belief.value is not None and belief.value != own.get(entity)
    ]
