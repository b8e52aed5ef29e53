"""An agent's tools: questions to its own mind. None takes whose mind it is: it is the login's.

Pure functions over an `AgentView`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from so_mcp.minds import chain_of
from so_mcp.view import AgentView

from .answers import BeliefAnswer, BeliefsAnswer, ContextAnswer, MisinformedAnswer

OneEntity = Annotated[str | None, Field(description="only this entity; default all")]
Person = Annotated[str, Field(description="another agent's name")]


def my_beliefs(view: AgentView, entity: OneEntity = None) -> BeliefsAnswer:
    """What you believe, and from whom."""
    return BeliefsAnswer.of(view.scenario, [view.agent], view.my_beliefs(entity))


def what_does_person_believe(
    view: AgentView, person: Person, entity: OneEntity = None
) -> BeliefsAnswer:
    """What you think that a person believes."""
    found = view.what_does_person_believe(person, entity)
    return BeliefsAnswer.of(view.scenario, chain_of([view.agent, person]), found)


def nested_belief(
    view: AgentView,
    chain: Annotated[
        list[str], Field(min_length=1, description='after you: ["Billing", "Maya"]')
    ],
    entity: Annotated[str, Field(description="what the belief is about")],
) -> BeliefAnswer:
    """What you think the first of the chain thinks the next believes, to any depth."""
    found = view.nested_belief(chain, entity)
    return BeliefAnswer.of(view.scenario, chain_of([view.agent, *chain]), entity, found)


def who_is_misinformed(view: AgentView) -> MisinformedAnswer:
    """Who, as you see it, believes something else than you do."""
    return MisinformedAnswer.of(view.scenario, view.who_is_misinformed())


def context_for(view: AgentView, talking_to: Person) -> ContextAnswer:
    """What to have in mind before you talk to somebody: what to correct, tell, ask."""
    found = view.briefing(talking_to)
    return ContextAnswer.of(view.scenario, view.agent, talking_to, found)
