"""Prompts: `brief`, `handoff` and `correct`, each one message made of answers of this moment.

An agent's own answer from its own mind alone and take no owner.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.types import INVALID_PARAMS
from pydantic import Field

from .calls import SCENARIO, Source, missing_argument, unknown, unknown_argument
from .errors import SecondOrderError
from .memory import Memory
from .names import normal_name, type_of
from .view import AgentView
from .wording import belief, quoted

Speaker = Annotated[str, Field(description="who is about to speak")]
Listener = Annotated[str, Field(description="to whom")]
Sender = Annotated[str, Field(description="who hands over")]
Receiver = Annotated[str, Field(description="who takes over")]
Person = Annotated[str, Field(description="who is to be put right")]
Entity = Annotated[str, Field(description="about what")]

_PROMPTS = (
    ("brief", "Before a conversation", "What to have in mind before talking to somebody."),
    ("handoff", "Hand over", "The smallest message that lets somebody take over."),
    ("correct", "Put somebody right", "The message that puts a person right about an entity."),
)


def add_prompts(server: MCPServer[Any], source: Source) -> None:
    """Serve the three prompts from what ``source`` can answer."""
    made = _own(source) if isinstance(source, AgentView) else _supervised(source)
    known: dict[str, Mapping[str, inspect.Parameter]] = {}
    for prompt, (name, title, description) in zip(made, _PROMPTS, strict=True):
        known[name] = inspect.signature(prompt).parameters
        server.prompt(name, title=title, description=description)(_teaching(prompt))

    async def check_arguments(ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        """Refuse in our words; of the SDK's own a host gets to see the prompt's name alone."""
        if ctx.method == "prompts/get" and isinstance(ctx.params, dict):
            name, given = str(ctx.params.get("name")), ctx.params.get("arguments")
            if problem := _problem(known, name, given if isinstance(given, dict) else {}):
                raise MCPError(code=INVALID_PARAMS, message=problem)
        return await call_next(ctx)

    server.middleware.append(check_arguments)


def _problem(
    known: Mapping[str, Mapping[str, inspect.Parameter]], name: str, given: Mapping[str, Any]
) -> str | None:
    if name not in known:
        return unknown("prompt", name, known)
    if problem := unknown_argument(name, given, known[name]):
        return problem
    for argument, value in given.items():
        if not isinstance(value, str):
            return f"{name}.{argument}: expected text, got {type_of(value)}."
    missing = [
        argument for argument, parameter in known[name].items()
        if parameter.default is parameter.empty and argument not in given
    ]
    return missing_argument(name, missing[0], known[name]) if missing else None


def _supervised(memory: Memory) -> tuple[Callable[..., str], ...]:
    def brief(agent: Speaker, talking_to: Listener) -> str:
        return _brief(agent, talking_to, memory.context_for(agent, talking_to))

    def handoff(sender: Sender, receiver: Receiver) -> str:
        return _handoff(sender, receiver, memory.handoff_delta(sender, receiver).text)

    def correct(person: Person, entity: Entity) -> str:
        why = memory.explain([normal_name(person, "person")], entity)
        return _correct(person, entity, why.value, memory.truth(entity), why.sentence)

    return brief, handoff, correct


def _own_brief(view: AgentView, talking_to: Listener) -> str:
    return _brief(view.agent, talking_to, view.context_for(talking_to))


def _own_handoff(view: AgentView, receiver: Receiver) -> str:
    return _handoff(view.agent, receiver, view.handoff_delta(receiver).text)


def _own_correct(view: AgentView, person: Person, entity: Entity) -> str:
    theirs = view.nested_belief([normal_name(person, "person")], entity)
    mine = [held.value for held in view.my_beliefs(entity)]
    believed = None if theirs is None else theirs.value
    why = f"As far as you know, {belief([person], entity, believed)}."
    return _correct(person, entity, believed, mine[0] if mine else None, why)


def _own(view: AgentView) -> tuple[Callable[..., str], ...]:
    return tuple(_asked_of(view, prompt) for prompt in (_own_brief, _own_handoff, _own_correct))


def _asked_of(view: AgentView, prompt: Callable[..., str]) -> Callable[..., str]:
    """The prompt, asked of ``view``; where that has several scenarios, an argument says of which."""

    def asked(scenario: str = view.scenario, **arguments: str) -> str:
        return prompt(view.within(scenario), **arguments)

    _, *given = inspect.signature(prompt, eval_str=True).parameters.values()
    if len(view.scenarios) > 1:
        one = Annotated[str, Field(description=f"one of {', '.join(view.scenarios)}")]
        given.append(inspect.Parameter(
            SCENARIO, inspect.Parameter.KEYWORD_ONLY, default=view.scenario, annotation=one
        ))
    asked.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    asked.__annotations__ = {parameter.name: parameter.annotation for parameter in given}
    return asked


def _brief(agent: str, talking_to: str, context: str) -> str:
    return (
        f"You are {agent} and about to talk to {talking_to}. Before you say anything, take this "
        f"into account:\n\n{context}"
    )


def _handoff(sender: str, receiver: str, text: str) -> str:
    return (
        f"You are {sender} and hand over to {receiver}. Tell {receiver} this, and nothing that is "
        f"not in it:\n\n{text}"
    )


def _correct(person: str, entity: str, believed: str | None, actual: str | None, why: str) -> str:
    if actual is None:
        return f"{why}\n\nWhat is so of {entity} is not known, so there is nothing to put right."
    if believed == actual:
        return f"{why}\n\nThat is so: there is nothing to put right."
    instead = "" if believed is None else f", not {quoted(believed)}"
    return (
        f"{why}\n\nWrite one short message to {person} that puts this right: "
        f"{entity} is {quoted(actual)}{instead}."
    )


def _teaching(prompt: Callable[..., str]) -> Callable[..., str]:
    """Let the text of an error through: of any other the SDK shows the prompt's name alone."""

    @functools.wraps(prompt)
    def teaching(**arguments: str) -> str:
        try:
            return prompt(**arguments)
        except SecondOrderError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error

    return teaching
