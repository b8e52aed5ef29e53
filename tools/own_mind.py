"""An agent's tools: questions to its own mind. None takes whose mind it is: it is the login's.

Pure functions over an `AgentView`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from so_mcp.minds import chain_of
from so_mcp.names import normal_name
from so_mcp.view import AgentView
from so_mcp.wording import listed

from .answers import BeliefAnswer, BeliefsAnswer
from .briefing import ContextAnswer, MisinformedAnswer
from .common import OwnCommonGroundAnswer
from .handoff import Exclude, OwnHandoffAnswer
from .history import Limit, Since
from .own_history import ChangedAnswer, OwnExplanationAnswer

OneEntity = Annotated[str | None, Field(description="only this entity; default all")]
Person = Annotated[str, Field(description="another agent's name")]


def my_beliefs(view: AgentView, entity: OneEntity = None) -> BeliefsAnswer:
    """What you believe, and from whom."""
    return BeliefsAnswer.of(view.scenario, [view.agent], view.my_beliefs(entity))


def what_does_person_believe(
    view: AgentView, person: Person, entity: OneEntity = None
) -> BeliefsAnswer:
    """What you think that a person believes."""
    person = normal_name(person, "person")
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


def explain(
    view: AgentView,
    entity: Annotated[str, Field(description="what the belief is about")],
    person: Annotated[str | None, Field(description="whose belief; default yours")] = None,
) -> OwnExplanationAnswer:
    """Why you believe something, or think that a person does: how it came, from whom, the words."""
    person = None if person is None else normal_name(person, "person")
    chain = chain_of([view.agent] if person is None else [view.agent, person])
    return OwnExplanationAnswer.of(view.scenario, chain, entity, *view.explained(entity, person))


def what_changed(view: AgentView, since: Since = None, limit: Limit = 20) -> ChangedAnswer:
    """What you came to believe, and to think that others believe, newest last."""
    return ChangedAnswer.of(view.scenario, view.what_changed(since), limit)


def who_is_misinformed(view: AgentView) -> MisinformedAnswer:
    """Who, as you see it, believes something else than you do."""
    return MisinformedAnswer.of(view.scenario, view.who_is_misinformed())


def context_for(view: AgentView, talking_to: Person) -> ContextAnswer:
    """What to have in mind before you talk to somebody: what to correct, tell, ask."""
    talking_to = normal_name(talking_to, "talking_to")
    found = view.briefing(talking_to)
    note = None
    if all(point.theirs is None and point.seen_as is None for point in found.points):
        known = view.people()
        if talking_to not in known:
            note = f"You know nobody called {talking_to}; you know {listed(known)}."
    return ContextAnswer.of(view.scenario, view.agent, talking_to, found, note)


def common_ground(
    view: AgentView, person: Person, entity: OneEntity = None
) -> OwnCommonGroundAnswer:
    """What you and a person share as you see it: common, mutual to a depth, only believed by both,
    or distributed."""
    found = view.common_ground(person, entity)
    return OwnCommonGroundAnswer.of(view.scenario, [view.agent, person], found)


def handoff_delta(view: AgentView, receiver: Person, exclude: Exclude = None) -> OwnHandoffAnswer:
    """The shortest message that gives receiver what you think it lacks or has wrong, and who else
    is mistaken. Your mind keeps no transcript: its tokens are null."""
    return OwnHandoffAnswer.of(view.scenario, view.handoff_delta(receiver, exclude))
