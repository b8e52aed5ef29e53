"""The store's scenarios, and the names in one: list, load, clear, rename.

Pure functions over a `Memory`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Self

from pydantic import BaseModel, Field

from so_mcp import scenarios as samples
from so_mcp.errors import InvalidInputError
from so_mcp.library import Cleared, Stored
from so_mcp.memory import Memory
from so_mcp.names import composed, near_names, normal_name
from so_mcp.progress import Progress, silent
from so_mcp.recorder import Record
from so_mcp.vocabulary import Vocabulary
from so_mcp.wording import clock, counted
from so_mcp.world import Kind

from .answers import Answer

_NAMES_SHOWN = 100  # of each kind
_PLURALS: dict[Kind, str] = {"agent": "Agents", "room": "Rooms", "entity": "Entities"}


class StoredScenario(BaseModel):
    """newest: when its newest event happened; null where nothing has."""

    name: str
    agents: int
    entities: int
    events: int
    newest: str | None
    policy: str
    rooms: str
    strict: bool

    @classmethod
    def of(cls, found: Stored) -> Self:
        """From a row of the store."""
        newest = None if found.newest_at is None else clock(found.newest_at)
        return cls(
            name=found.name, agents=found.agents, entities=found.entities, events=found.events,
            newest=newest, policy=found.policy, rooms=found.rooms, strict=found.strict,
        )

    def line(self) -> str:
        """The same as a line."""
        numbers = [
            counted(self.agents, "agent"), counted(self.entities, "entity", "entities"),
            counted(self.events, "event") + (f", newest {self.newest}" if self.newest else ""),
        ]
        settings = [self.policy, f"{self.rooms}s", *(["strict"] if self.strict else [])]
        return f"{self.name}: {', '.join(numbers)} ({', '.join(settings)})"


class ScenariosAnswer(Answer):
    """scenario is the one that this server serves; samples: name and title of each."""

    total: int
    scenarios: list[StoredScenario]
    samples: dict[str, str]

    @classmethod
    def of(cls, scenario: str, found: list[Stored], limit: int) -> Self:
        """The one that is served first, then the others by name, cut to ``limit``."""
        found = sorted(found, key=lambda one: one.name != scenario)
        return cls(
            scenario=scenario,
            cut=len(found) > limit,
            total=len(found),
            scenarios=[StoredScenario.of(one) for one in found[:limit]],
            samples={name: samples.load(name).title for name in samples.names()},
        )

    def text(self) -> str:
        """See `Answer.text`."""
        served = [one.name for one in self.scenarios if one.name == self.scenario]
        lines = [] if served else [f"- {self.scenario}: nothing yet (served here)"]
        lines += [
            f"- {one.line()}" + (" (served here)" if one.name in served else "")
            for one in self.scenarios
        ]
        if self.cut:
            lines.append(f"{len(self.scenarios)} of {self.total}. Raise limit.")
        names = ", ".join(f"{name} ({title})" for name, title in self.samples.items())
        return "\n".join([*lines, f"Samples for load_scenario: {names}."])


class LoadAnswer(Answer):
    """What was new: recorded events, agents, entities; nothing if it had been loaded before."""

    sample: str
    summary: str
    recorded: int
    agents: list[str]
    entities: list[str]

    @classmethod
    def of(cls, scenario: str, story: samples.Scenario, record: Record) -> Self:
        """From what the recorder did."""
        return cls(
            scenario=scenario, sample=story.name, summary=story.summary,
            recorded=sum(not one.again for one in record.events),
            agents=record.agents, entities=record.entities,
        )

    def text(self) -> str:
        """See `Answer.text`."""
        if not self.recorded:
            return f"{self.sample} had been loaded before; nothing was written."
        return (
            f"Loaded {self.sample}: {counted(self.recorded, 'event')}. {self.summary}\n"
            f"Agents: {', '.join(self.agents)}. Entities: {', '.join(self.entities)}.\n"
            "Next: false_beliefs."
        )


class ResetAnswer(Answer):
    """How many events, minds, entities and forks were deleted."""

    deleted: dict[str, int]
    words: str = Field(exclude=True)

    @classmethod
    def of(cls, scenario: str, cleared: Cleared) -> Self:
        """From what was deleted."""
        return cls(scenario=scenario, deleted=asdict(cleared), words=str(cleared))

    def text(self) -> str:
        """See `Answer.text`."""
        return f"Deleted from {self.scenario}: {self.words}. Logins stay. It is empty now."


class VocabularyAnswer(Answer):
    """changed: what this call did. names: of each kind, each with its aliases."""

    changed: str
    strict: bool
    names: dict[Kind, dict[str, list[str]]]

    @classmethod
    def of(
        cls, scenario: str, found: Vocabulary, kind: Kind | None, like: str | None,
        changed: str = "",
    ) -> Self:
        """Of one kind or all, with every name or those like one; cut to a number of each."""
        fits = _like(like, found)
        fitting = {
            its_kind: {name: also for name, also in names.items() if any(map(fits, (name, *also)))}
            for its_kind, names in found.by_kind().items() if kind in (None, its_kind)
        }
        return cls(
            scenario=scenario,
            cut=max(map(len, fitting.values())) > _NAMES_SHOWN,
            changed=changed,
            strict=found.strict,
            names={k: dict(islice(names.items(), _NAMES_SHOWN)) for k, names in fitting.items()},
        )

    def text(self) -> str:
        """See `Answer.text`."""
        if self.changed:
            return self.changed
        lines = ["Strict: events that make a new name are refused."] if self.strict else []
        for kind, names in self.names.items():
            listed = [f"{name} (also {', '.join(a)})" if a else name for name, a in names.items()]
            if listed:
                lines.append(f"{_PLURALS[kind]}: {', '.join(listed)}.")
        if self.cut:
            lines.append(f"At most {_NAMES_SHOWN} of each. Narrow with kind, or name for those like it.")
        return "\n".join(lines) or "No such names."


def scenarios(
    memory: Memory, limit: Annotated[int, Field(ge=1, le=500)] = 20
) -> ScenariosAnswer:
    """Every scenario of this store, which of them is served here, and the samples there are."""
    return ScenariosAnswer.of(memory.scenario, memory.scenarios(), limit)


def load_scenario(memory: Memory, name: str) -> LoadAnswer:
    """Play a sample (see scenarios) into this scenario, which must be empty; twice is harmless."""
    return LoadAnswer.of(memory.scenario, *memory.load_scenario(name))


def reset_scenario(
    memory: Memory,
    confirm: Annotated[str, Field(description="the scenario's name, else nothing is done")] = "",
) -> ResetAnswer:
    """Delete this scenario for good: its log and every mind. Without confirm: says what it would."""
    return ResetAnswer.of(memory.scenario, memory.reset_scenario(confirm))


def vocabulary(
    memory: Memory,
    name: str | None = None,
    alias: str | None = None,
    rename_to: str | None = None,
    strict: bool | None = None,
    kind: Kind | None = None,
    progress: Progress = silent,
) -> VocabularyAnswer:
    """List names (those like name); or: alias will mean it, rename_to replaces it everywhere, strict
    refuses new ones."""
    changes = [what for what in (alias, rename_to, strict) if what is not None]
    if len(changes) > 1:
        raise InvalidInputError("alias, rename_to, strict: expected one of them. Call it again for each.")
    changed = ""
    if strict is not None:
        memory.strict(on=strict)
        changed = (
            "Strict: events that would make a new agent, room or entity are refused."
            if strict else "Not strict: agents, rooms and entities come into being when first named."
        )
    elif changes and name is None:
        raise InvalidInputError("name: expected what alias or rename_to is for. Give its name.")
    elif alias is not None and name is not None:
        made = memory.alias(alias, normal_name(name, "name"), kind)
        changed = f"{made.name} now means {made.of} ({made.kind}), in events and questions."
        name, kind = made.of, made.kind
    elif rename_to is not None and name is not None:
        to = normal_name(rename_to, "rename_to")
        done = memory.rename(name, to, kind, progress=progress)
        changed = (
            f"{done.name} ({done.kind}) is {done.to} now, in {counted(done.events, 'event')} and every "
            f"mind; {done.name} still means it. Words and values keep the old name."
        )
        if done.kind == "agent":
            changed += (
                f" A login was for the old name: run so-mcp grant {shlex.quote(done.to)}, and start "
                f"its server with SO_AGENT={shlex.quote(done.to)}."
            )
        name, kind = done.to, done.kind
    return VocabularyAnswer.of(memory.scenario, memory.vocabulary(), kind, name, changed)


def _like(name: str | None, found: Vocabulary) -> Callable[[str], bool]:
    """Whether a name holds another, or is near it; with None, all are."""
    if name is None:
        return lambda _: True
    known = {*found.agents, *found.rooms, *found.entities, *(one.name for one in found.aliases)}
    name = composed(name)
    near = near_names(name, known, limit=_NAMES_SHOWN)
    return lambda other: name.casefold() in other.casefold() or other in near
