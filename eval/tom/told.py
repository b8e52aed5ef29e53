"""What a reader makes of its data set: the events of each story, and its questions with labels."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from so_mcp.world import Policy

Row = dict[str, Any]  # an item as the data set has it
Event = dict[str, Any]  # an event as `Memory.record` takes it

UNKNOWN = "unknown"  # an answer of its own; no data set has it as a label


def as_it_is(value: str | None) -> str:
    """The value itself is the answer."""
    return UNKNOWN if value is None else value


@dataclass(frozen=True, slots=True)
class Question:
    """What a chain of minds, outermost first, thinks of an entity; no chain: what is so.

    ``labels`` by key: "answer" is the one that counts, others are shown beside it; a question
    without a label of a key does not count there. ``answer`` turns what the memory says into the
    data set's words. ``why`` says what is wrong with a label, by key, where the data set's own rules
    or fields show it: never that the memory answers something else.
    """

    id: str
    order: int
    chain: tuple[str, ...]
    entity: str
    labels: dict[str, str]
    as_of: int | None = None
    answer: Callable[[str | None], str] = as_it_is
    why: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Perceived:
    """Who took in an event of a story, which ``index`` names, as the data set has it.

    ``by_rule``: who did by the data set's own rule, found without the engine.
    """

    id: str
    index: int
    agents: frozenset[str]
    by_rule: frozenset[str]


@dataclass(frozen=True, slots=True)
class Story:
    """Events for a scenario of their own, in which rooms are places, and what is asked of it."""

    events: list[Event]
    questions: list[Question]
    policy: Policy = "credulous"
    perceived: list[Perceived] = field(default_factory=list)


class StoryError(ValueError):
    """A sentence, an event or a question of no form that the data set has."""


def by_story(rows: Iterable[Row], *fields: str) -> list[list[Row]]:
    """Items of the same story together, so that it is recorded once; ``fields`` tell it apart."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(json.dumps([row[field] for field in fields]), []).append(row)
    return list(found.values())
