"""The supervisor's tools: record what happened, and ask about any mind.

Pure functions over a `Memory`; the server adds nothing but the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, Strict, WithJsonSchema

from so_mcp.errors import InvalidEventError
from so_mcp.events import Event
from so_mcp.memory import Memory
from so_mcp.minds import chain_of
from so_mcp.progress import Progress, silent

from .answers import (
    BeliefAnswer,
    FalseBeliefsAnswer,
    RecordAnswer,
)
from .briefing import ContextAnswer
from .explanations import ExplanationAnswer, WhoKnowsAnswer

Chain = Annotated[
    list[str], Field(min_length=1, description="agents, outermost first; one: its own belief")
]
Entity = Annotated[str, Field(description="what the belief is about")]
# Strict: a boolean is no moment.
AsRecorded = Annotated[
    int | None, Field(description="number of an event: what was answered then")
]
AsOf = Annotated[
    str | Annotated[int, Strict()] | None, Field(description="ISO 8601 time or ms; default now")
]
CHANGES_SHOWN = 20  # of a dry run
EVENTS_AT_ONCE = 10_000  # which take seconds, and an answer of a megabyte
# Checked by `check_events`, whose errors teach; the schema is the model's own.
Events = Annotated[
    list[Any],
    Field(min_length=1),
    WithJsonSchema({"type": "array", "items": Event.model_json_schema(), "minItems": 1}),
]


def refuse_too_many(events: Sequence[Any]) -> None:
    """Raise `InvalidEventError` for more events than one call takes."""
    if len(events) > EVENTS_AT_ONCE:
        raise InvalidEventError(
            f"events: expected at most {EVENTS_AT_ONCE} in one call, got {len(events)}. Nothing was "
            "recorded: give them in several calls, in order."
        )


def record(
    memory: Memory,
    events: Events,
    dry_run: Annotated[bool, Field(description="only say what it would change")] = False,
    *,
    progress: Progress = silent,
) -> RecordAnswer:
    """Record what happened, in order; who witnesses an event follows from its room or audience.
    state, say and announce make it so. For a claim that may be wrong use tell: it changes only its
    hearers. Of a wrong batch nothing is recorded."""
    refuse_too_many(events)
    if dry_run:
        found = memory.what_if(events, progress=progress)
        return RecordAnswer.of_dry_run(memory.scenario, found, CHANGES_SHOWN)
    return RecordAnswer.of(memory.scenario, memory.record(events, progress=progress))


def believes(
    memory: Memory, chain: Chain, entity: Entity, as_of: AsOf = None, as_recorded: AsRecorded = None
) -> BeliefAnswer:
    """What a chain of minds believes: ["Billing", "Maya"] is what Billing thinks Maya believes."""
    held = memory.held(chain, entity, as_of, as_recorded=as_recorded)
    if held is not None:  # by its canonical names
        return BeliefAnswer.of(memory.scenario, held.chain, held.entity, held)
    note = memory.slip_of_an_entity(entity)
    return BeliefAnswer.of(memory.scenario, chain_of(chain), entity, held, note)


def false_beliefs(
    memory: Memory,
    depth: Annotated[
        int | None,
        Field(ge=1, le=4, description="1: against the truth; 2+: about each other; default 1 and 2"),
    ] = None,
    entity: Annotated[str | None, Field(description="only this entity")] = None,
    agents: Annotated[list[str] | None, Field(description="only these minds")] = None,
    as_of: AsOf = None,
    as_recorded: AsRecorded = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
) -> FalseBeliefsAnswer:
    """Who is wrong, about the truth or about what others really believe, and what they missed."""
    found = memory.false_beliefs(depth, entity, agents, as_of, as_recorded=as_recorded)
    note = memory.slip_of_an_entity(entity) if entity is not None and not found else None
    return FalseBeliefsAnswer.of(memory.scenario, found, limit, note)


def explain(
    memory: Memory, chain: Chain, entity: Entity, as_of: AsOf = None, as_recorded: AsRecorded = None
) -> ExplanationAnswer:
    """Why a chain believes it: the event and its witnesses, who told whom, what each missed since."""
    found = memory.explain(chain, entity, as_of, as_recorded=as_recorded)
    note = None if found.held is not None else memory.slip_of_an_entity(entity)
    return ExplanationAnswer.of(memory.scenario, found, note)


def who_knows(
    memory: Memory, entity: Entity, as_of: AsOf = None, as_recorded: AsRecorded = None
) -> WhoKnowsAnswer:
    """Who is up to date, out of date, unaware; who is wrong about who is."""
    found = memory.who_knows(entity, as_of, as_recorded=as_recorded)
    nothing = found.truth is None and not found.unverified
    note = memory.slip_of_an_entity(entity) if nothing else None
    return WhoKnowsAnswer.of(memory.scenario, found, note)


def context_for(
    memory: Memory,
    agent: Annotated[str, Field(description="who is about to speak")],
    talking_to: Annotated[str, Field(description="to whom")],
    as_of: AsOf = None,
) -> ContextAnswer:
    """What an agent should have in mind before it talks to another: what to correct, tell, ask."""
    found = memory.briefing(agent, talking_to, as_of)
    return ContextAnswer.of(memory.scenario, agent, talking_to, found)
