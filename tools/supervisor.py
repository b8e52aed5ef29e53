"""The supervisor's tools: record what happened, and ask about any mind.

Pure functions over a `Memory`; the server adds nothing but the wire.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from so_mcp.events import Event
from so_mcp.memory import Memory
from so_mcp.minds import chain_of

from .answers import (
    BeliefAnswer,
    ContextAnswer,
    ExplanationAnswer,
    FalseBeliefsAnswer,
    RecordAnswer,
    WhoKnowsAnswer,
)

Chain = Annotated[
    list[str], Field(min_length=1, description="agents, outermost first; one: its own belief")
]
Entity = Annotated[str, Field(description="what the belief is about")]
AsOf = Annotated[str | int | None, Field(description="ISO 8601 time or ms; default now")]
# Checked by `check_events`, whose errors teach; the schema is the model's own.
Events = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "items": Event.model_json_schema(), "minItems": 1}),
]


def record(memory: Memory, events: Events) -> RecordAnswer:
    """Record what happened, in order. Who witnesses an event follows from its room or audience;
    beliefs of any depth follow from that. state and say (by one with the say) and announce make it
    so; tell and report are testimony. All or none of a wrong batch."""
    return RecordAnswer.of(memory.scenario, memory.record(events))


def believes(memory: Memory, chain: Chain, entity: Entity, as_of: AsOf = None) -> BeliefAnswer:
    """What a chain of minds believes: ["Billing", "Maya"] is what Billing thinks Maya believes."""
    held = memory.held(chain, entity, as_of)
    note = None if held is not None else memory.slip_of_an_entity(entity)
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
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
) -> FalseBeliefsAnswer:
    """Who is wrong, about the truth or about what others really believe, and what they missed."""
    found = memory.false_beliefs(depth, entity, agents, as_of)
    return FalseBeliefsAnswer.of(memory.scenario, found, limit)


def explain(
    memory: Memory, chain: Chain, entity: Entity, as_of: AsOf = None
) -> ExplanationAnswer:
    """Why a chain believes it: the event, who witnessed it, and what each agent missed since."""
    return ExplanationAnswer.of(memory.scenario, memory.explain(chain, entity, as_of))


def who_knows(memory: Memory, entity: Entity, as_of: AsOf = None) -> WhoKnowsAnswer:
    """Who is up to date about an entity, who is out of date, who has not heard."""
    return WhoKnowsAnswer.of(memory.scenario, memory.who_knows(entity, as_of))


def context_for(
    memory: Memory,
    agent: Annotated[str, Field(description="who is about to speak")],
    talking_to: Annotated[str, Field(description="to whom")],
    as_of: AsOf = None,
) -> ContextAnswer:
    """What an agent should have in mind before it talks to another: what to correct, tell, ask."""
    found = memory.briefing(agent, talking_to, as_of)
    return ContextAnswer.of(memory.scenario, agent, talking_to, found)
