"""Names while they are typed: for the arguments of prompts and of resource addresses.

An agent is offered what its own mind holds, and nothing else.
"""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from mcp import MCPError
from mcp.server import MCPServer
from mcp.types import (
    INTERNAL_ERROR,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from .calls import SCENARIO, Source, scenarios_of, within
from .errors import SecondOrderError
from .minds import entities, people
from .view import AgentView

AT_MOST = 100  # the protocol's limit
_AGENTS = ("agent", "talking_to", "sender", "receiver", "person")


def add_completions(server: MCPServer[Any], source: Source) -> None:
    """Serve completions of names that ``source`` can know."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        address = isinstance(ref, ResourceTemplateReference)
        try:
            scenario = ((context and context.arguments) or {}).get(SCENARIO)
            names = await anyio.to_thread.run_sync(
                _names, source, argument.name, address, scenario
            )
        except SecondOrderError as error:
            raise MCPError(code=INTERNAL_ERROR, message=str(error)) from error
        found = matching(names, argument.value)
        return Completion(
            values=found[:AT_MOST], total=len(found), has_more=len(found) > AT_MOST
        )


def matching(names: list[str], typed: str) -> list[str]:
    """Those that begin with what was typed, then those that hold it, whatever the case."""
    typed = typed.casefold()
    first = [name for name in names if name.casefold().startswith(typed)]
    return first + [name for name in names if typed in name.casefold() and name not in first]


def _names(source: Source, argument: str, address: bool, scenario: str | None) -> list[str]:
    if argument == SCENARIO:
        return [*scenarios_of(source)]
    source = within(source, scenario)
    if isinstance(source, AgentView):
        if argument in _AGENTS:
            others = people(source.database, source.scenario, source.agent)
            return [source.agent] if address else others
        return entities(source.database, source.scenario, source.agent) * (argument == "entity")
    if argument in _AGENTS:
        return source.agents()
    return source.entities() if argument == "entity" else []
