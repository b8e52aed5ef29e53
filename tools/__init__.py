"""The one list of all tools. A server in supervisor mode or agent mode serves a selection of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from . import common, handoff, history, library, own_mind, plans, supervisor
from .answers import Answer

Mode = Literal["supervisor", "agent"]
Effect = Literal["reads", "appends", "destroys"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: a pure function over what its mode holds, and what it does to the store.

    ``effect`` decides the annotations that hosts see: ``reads`` changes nothing, ``appends`` adds
    to the scenario and destroys nothing, ``destroys`` cannot be taken back.
    """

    function: Callable[..., Answer]
    mode: Mode
    effect: Effect
    title: str

    @property
    def name(self) -> str:
        """The name a host calls it by."""
        return self.function.__name__


TOOLS: tuple[Tool, ...] = (
    Tool(supervisor.record, "supervisor", "appends", "Record what happened"),
    Tool(supervisor.believes, "supervisor", "reads", "Who believes what"),
    Tool(supervisor.false_beliefs, "supervisor", "reads", "Who is wrong"),
    Tool(supervisor.explain, "supervisor", "reads", "Why they believe it"),
    Tool(supervisor.who_knows, "supervisor", "reads", "Who knows"),
    Tool(history.timeline, "supervisor", "reads", "What happened"),
    Tool(history.missed, "supervisor", "reads", "What somebody missed"),
    Tool(history.replay, "supervisor", "reads", "Step by step"),
    Tool(common.common_ground, "supervisor", "reads", "What a group shares"),
    Tool(supervisor.context_for, "supervisor", "reads", "Before a conversation"),
    Tool(handoff.handoff_delta, "supervisor", "appends", "What to hand over"),
    Tool(plans.what_if, "supervisor", "reads", "What would change"),
    Tool(plans.plan_announcements, "supervisor", "reads", "Whom to tell, and how"),
    Tool(library.vocabulary, "supervisor", "appends", "Names"),
    Tool(library.scenarios, "supervisor", "reads", "Which scenarios there are"),
    Tool(library.load_scenario, "supervisor", "appends", "Load a sample"),
    Tool(library.reset_scenario, "supervisor", "destroys", "Delete this scenario"),
    Tool(own_mind.my_beliefs, "agent", "reads", "What I believe"),
    Tool(own_mind.what_does_person_believe, "agent", "reads", "What a person believes"),
    Tool(own_mind.nested_belief, "agent", "reads", "What they think of each other"),
    Tool(own_mind.explain, "agent", "reads", "Why I believe it"),
    Tool(own_mind.what_changed, "agent", "reads", "What is new to me"),
    Tool(own_mind.who_is_misinformed, "agent", "reads", "Who is misinformed"),
    Tool(own_mind.context_for, "agent", "reads", "Before a conversation"),
    Tool(own_mind.common_ground, "agent", "reads", "What we share"),
    Tool(own_mind.handoff_delta, "agent", "reads", "What to hand over"),
)


def tools_for(mode: Mode) -> list[Tool]:
    """The tools of one mode, in their fixed order."""
    return [tool for tool in TOOLS if tool.mode == mode]
