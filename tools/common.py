"""What a group of agents has in common, and what it would take. Pure functions over a `Memory`.

The agent's own `common_ground` is in `own_mind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from so_mcp.common import Ground, Mode
from so_mcp.memory import Memory
from so_mcp.wording import listed, quoted, thinks

from .answers import Answer
from .supervisor import AsOf

MOST_SHOWN = 20
_NAMES_SHOWN = 4

Group = Annotated[list[str], Field(min_length=1)]


class CommonPoint(BaseModel):
    """One entity.

    depth: of the chains that agree; null: every depth. beliefs: of each, where they differ. gap: a
    shortest chain that differs, and what it believes. truth: where known. to_make_common: one event
    to record.
    """

    entity: str
    mode: Mode
    depth: int | None
    value: str | None
    beliefs: dict[str, str | None]
    gap: list[str]
    gap_value: str | None
    truth: str | None
    to_make_common: dict[str, Any] | None

    @classmethod
    def of(cls, ground: Ground) -> Self:
        """From an answer of `Memory` or `AgentView`."""
        chain, differs = ground.gap or ((), None)
        return cls(
            entity=ground.entity,
            mode=ground.mode,
            depth=ground.depth,
            value=ground.value,
            beliefs=ground.beliefs if ground.depth == 0 else {},
            gap=list(chain),
            gap_value=differs,
            truth=ground.truth,
            to_make_common=ground.event,
        )

    def line(self) -> str:
        """The sentences a model is given."""
        value = quoted(self.value)
        match self.mode:
            case "common":
                shared = f"common, {value}"
            case "mutual":
                shared = f"{value}, mutual to depth {self.depth}, but {self._gap()}"
            case "believed":
                shared = f"all believe {value}, but {self._gap()}"
            case _:
                shared = f"not shared: {self._sides()}"
        known = {self.value, *self.beliefs.values()}
        if self.truth is not None and self.truth not in known:
            shared += f"; in truth it is {quoted(self.truth)}"
        return f"- {self.entity}: {shared}.{self._repair()}"

    def _gap(self) -> str:
        believes = "does not know" if self.gap_value is None else f"believes {quoted(self.gap_value)}"
        return f"{thinks(self.gap)} {believes}"

    def _sides(self) -> str:
        """Who believes what: what most believe first, unknown last."""
        sides: dict[str | None, list[str]] = {}
        for agent, value in self.beliefs.items():
            sides.setdefault(value, []).append(agent)
        ordered = sorted(sides.items(), key=lambda side: (side[0] is None, -len(side[1])))
        return ", ".join(f"{quoted(value)} ({_few(agents)})" for value, agents in ordered)

    def _repair(self) -> str:
        if self.to_make_common is None:
            return ""
        event = self.to_make_common
        value, hearers = quoted(event["value"]), event.get("listeners") or event["audience"]
        to = hearers[0] if len(hearers) == 1 else "the others"
        match event["kind"]:
            case "tell":
                how = f"{event['speaker']} tells {to} {value}"
            case "say":
                how = f"{event['speaker']} says {value} to {to}"
            case _:
                how = f"show them {value} (a state with the group as its audience)"
        together = ", all at once" if len(hearers) > 1 else ""
        return f" To make it common: {how}{together}."


class CommonGroundAnswer(Answer):
    """What each entity is to the group, most shared first; grounds may be fewer than total."""

    agents: list[str]
    total: int
    grounds: list[CommonPoint]
    note: str | None = None

    @classmethod
    def of(
        cls, scenario: str, agents: Sequence[str], found: Sequence[Ground], note: str | None = None
    ) -> Self:
        """From an answer of `Memory` or `AgentView`, cut to `MOST_SHOWN`."""
        shown = [CommonPoint.of(ground) for ground in found[:MOST_SHOWN]]
        return cls(
            scenario=scenario,
            cut=len(shown) < len(found),
            agents=list(dict.fromkeys(agents)),
            total=len(found),
            grounds=shown,
            note=note,
        )

    def text(self) -> str:
        """A line an entity: how it is shared, and what would make it common."""
        lines = [ground.line() for ground in self.grounds] or [
            f"Nothing is known to {_few(self.agents)}." + (f" {self.note}" if self.note else "")
        ]
        if self.cut:
            lines.append(f"{len(self.grounds)} of {self.total}, most shared first. Narrow with entity.")
        return "\n".join(lines)


class OwnCommonGroundAnswer(CommonGroundAnswer):
    """What an agent shares with another as it sees it."""

    def text(self) -> str:
        """The same, and whose view it is."""
        return f"As {self.agents[0]} sees it:\n{super().text()}"


def common_ground(
    memory: Memory,
    agents: Group,
    entity: Annotated[str | None, Field(description="only this entity")] = None,
    as_of: AsOf = None,
) -> CommonGroundAnswer:
    """What a group shares: common (they know of each other that they do, to every depth), mutual to
    a depth, only believed, or distributed; and the one event that would make it common."""
    found = memory.common_ground(agents, entity, as_of)
    note = None if found or entity is None else memory.slip_of_an_entity(entity)
    return CommonGroundAnswer.of(memory.scenario, agents, found, note)


def _few(names: Sequence[str]) -> str:
    """``A, B, C and 9 more``."""
    left = len(names) - _NAMES_SHOWN
    return listed(names) if left <= 1 else f"{', '.join(names[:_NAMES_SHOWN])} and {left} more"
