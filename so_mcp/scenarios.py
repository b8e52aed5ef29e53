"""Scenarios as data: a story of fixed events, ready to be played into a memory.

Each is one file of the package ``so_mcp.data``: ``name``, ``title``, ``summary``, ``settings``
(``policy`` and ``rooms``) and ``events``, as `Memory.record` takes them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .errors import UnknownNameError
from .names import near_names, shown
from .recorder import Record, Recorder
from .world import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .memory import Memory

_DATA = "so_mcp.data"
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story: what it is called and about, how its world is set, and what happens in it."""

    name: str
    title: str
    summary: str
    settings: Settings
    events: tuple[Mapping[str, Any], ...]


def names() -> list[str]:
    """Every scenario that comes with the package, in the order of the alphabet."""
    return sorted(
        file.name.removesuffix(_SUFFIX)
        for file in files(_DATA).iterdir()
        if file.name.endswith(_SUFFIX)
    )


def load(name: str) -> Scenario:
    """One scenario by its name; raises `UnknownNameError` where there is none."""
    known = names()
    if name not in known:
        near = near_names(name, known)
        hint = f"Did you mean {', '.join(map(shown, near))}?" if near else (
            f"Known are: {', '.join(map(shown, known))}."
        )
        raise UnknownNameError(f"scenario: none is called {shown(name)}. {hint}")
    story = json.loads((files(_DATA) / f"{name}{_SUFFIX}").read_text("utf-8"))
    return Scenario(
        story["name"],
        story["title"],
        story["summary"],
        Settings(**story["settings"]),
        tuple(story["events"]),
    )


def play(memory: Memory, scenario: Scenario) -> Record:
    """Record the whole story in ``memory``, under whatever name that memory has.

    The world gets the story's settings when this makes it; raises `ConflictError` where one of
    that name was made with others: there the same events would mean something else.
    """
    settings = asdict(scenario.settings)
    return Recorder(memory.database, memory.scenario, settings).record(scenario.events)
