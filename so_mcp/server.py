"""The MCP server: one process, one mode, the tools of `so_mcp.tools` on the wire.

Answers carry complete structured content and a compact text. Errors teach: only the text of a
`ToolError` reaches the model, so it holds everything: what was wrong, what was expected, what to
do next. Nothing connects to the database before a tool is called.
"""

from __future__ import annotations

import concurrent.futures
import inspect
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, get_type_hints

import anyio.from_thread
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from . import __version__
from .calls import (
    Source,
    ask,
    parameters,
    scenarios_of,
    tools_of,
    unfit_argument,
    unknown,
    unknown_argument,
)
from .completions import add_completions
from .diagnostics import debug, note, timed
from .errors import InvalidInputError, SecondOrderError, message_of
from .names import type_of
from .progress import Progress
from .prompts import add_prompts
from .resources import SECURITY, add_resources
from .tools import Tool
from .tools.answers import Answer
from .view import AgentView
from .wording import some

Format = Literal["concise", "detailed"]
_LONGEST_METHOD = 100  # characters of it that are logged

# Of what only reads, the protocol gives no meaning to the other hints.
_ANNOTATIONS = {
    "reads": ToolAnnotations(read_only_hint=True, open_world_hint=False),
    "appends": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, open_world_hint=False
    ),
    "destroys": ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    ),
}

_SUPERVISOR = (
    "SecondOrder remembers who witnessed what in scenario {scenario}, and so who believes what "
    "about whom, to any depth. record what happens; ask false_beliefs who is wrong, context_for "
    "before one agent talks to another, explain why."
)
_AGENT = (
    "You are {agent} in scenario {scenario}. These tools read your own mind: what you believe, and "
    "what you think that others believe. Ask context_for before you talk to somebody."
)
_SEVERAL = " Each scenario is a world of its own: name the one you ask about."


def build_server(source: Source) -> MCPServer[Any]:
    """A server for what ``source`` may do: a supervisor's memory or one agent's own mind."""
    agent = source.agent if isinstance(source, AgentView) else None
    served = {name: _served(tool, source) for name, tool in tools_of(source).items()}
    text = _SUPERVISOR if agent is None else _AGENT
    where, several = some(scenarios_of(source)), len(scenarios_of(source)) > 1

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            source.close()

    async def check_arguments(ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        """Refuse arguments that do not fit, in our words: the SDK drops unknown ones silently."""
        if ctx.method == "tools/call" and isinstance(ctx.params, dict):
            name, arguments = str(ctx.params.get("name")), ctx.params.get("arguments")
            debug("call", **_known(served, name, arguments))
            if problem := _problem(served, name, arguments):
                named = name if name in served else None
                note("tool", tool=named, ms=0.0, error=InvalidInputError.__name__)
                return CallToolResult(
                    content=[TextContent(type="text", text=problem)], is_error=True
                )
            return await call_next(ctx)
        with timed("request", level=logging.DEBUG, method=str(ctx.method)[:_LONGEST_METHOD]):
            return await call_next(ctx)

    server: MCPServer[Any] = MCPServer(
        name="so-mcp" if agent is None else "so-mcp-agent",
        title=f"SecondOrder: {agent or 'supervisor'} in {where}",
        instructions=text.format(agent=agent, scenario=where) + (_SEVERAL if several else ""),
        version=__version__,
        tools=list(served.values()),
        lifespan=lifespan,
        log_level="ERROR",
        resource_security=SECURITY,
        middleware=[check_arguments],
    )
    add_resources(server, source)
    add_prompts(server, source)
    add_completions(server, source)
    return server


def _served(tool: Tool, source: Source) -> ServedTool:
    """A tool as the SDK serves it: its function bound to ``source``, run beside the event loop."""

    def call(progress: Progress, response_format: Format, arguments: dict[str, Any]) -> CallToolResult:
        answer = ask(tool, source, arguments, progress)
        data = answer.model_dump(mode="json")
        text = answer.text() if response_format == "concise" else _json(data)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=data
        )

    async def run(
        ctx: Context[Any, Any], response_format: Format = "concise", **arguments: Any
    ) -> CallToolResult:
        # A cancelled call is waited for: it ends at its next step, and has put away what it made.
        try:
            return await anyio.to_thread.run_sync(
                call, _reporting_to(ctx), response_format, arguments
            )
        except SecondOrderError as error:
            raise ToolError(message_of(error)) from error

    given = [
        *parameters(tool, source).values(),
        inspect.Parameter(
            "response_format", inspect.Parameter.KEYWORD_ONLY, default="concise", annotation=Format
        ),
    ]
    run.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in given}
    served = ServedTool.from_function(
        run,
        name=tool.name,
        title=tool.title,
        description=" ".join((inspect.getdoc(tool.function) or "").split()),
        context_kwarg="ctx",
        annotations=_ANNOTATIONS[tool.effect],
    )
    served.parameters = _slim(served.parameters)
    served.fn_metadata.output_schema = _outline(get_type_hints(tool.function)["return"])
    return served


def _reporting_to(ctx: Context[Any, Any]) -> Progress:
    """What a long call tells of itself goes to the host; when the host cancelled it, it ends."""

    def report(done: int, total: int, what_next: str) -> None:
        anyio.from_thread.check_cancelled()
        try:
            anyio.from_thread.run(ctx.report_progress, done, total, what_next)
        except concurrent.futures.CancelledError:  # while the host was slow to take it
            anyio.from_thread.check_cancelled()
            raise

    return report


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _outline(answer: type[Answer]) -> dict[str, Any]:
    """The names and kinds of an answer's fields; what is inside a list or object shows in it."""
    schema = answer.model_json_schema(mode="serialization")
    kept = {}
    for name, field in schema["properties"].items():
        kinds = [option.get("type", "object") for option in field.get("anyOf", [field])]
        kept[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    return {"type": "object", "properties": kept}


def _slim(schema: Any) -> Any:
    """A JSON schema without what costs a context and tells nothing: titles, null defaults, types.

    Optional arguments are left out rather than null.
    """
    if isinstance(schema, list):
        return [_slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _slim(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and (key, value) != ("default", None)
    }
    if "enum" in kept:  # its values say of what type they are
        kept.pop("type", None)
    options = kept.pop("anyOf", None)
    if options is None:
        return kept
    null = {"type": "null"}
    real = [option for option in options if option != null]
    if all(option.keys() == {"type"} for option in real):
        types = [option["type"] for option in real]
        return {"type": types if len(types) > 1 else types[0], **kept}
    return {**real[0], **kept} if len(real) == 1 else {"anyOf": real, **kept}


def _problem(served: dict[str, ServedTool], name: str, arguments: Any) -> str | None:
    """What is wrong with a call, in one sentence with the next step; None if nothing."""
    tool = served.get(name)
    if tool is None:
        return unknown("tool", name, served)
    if not isinstance(arguments, dict | None):
        return f"{name}: arguments must be an object, got {type_of(arguments)}."
    arguments = arguments or {}
    known = tool.parameters.get("properties", {})
    if problem := unknown_argument(name, map(str, arguments), known):
        return problem
    try:
        tool.fn_metadata.validate_arguments(arguments)
    except ValidationError as error:
        return unfit_argument(name, error, known)
    except InvalidInputError as error:
        return f"{name}: {error}"
    return None


def _known(served: dict[str, ServedTool], name: str, arguments: Any) -> dict[str, Any]:
    """Of a call, what may be logged: the tool's name and its arguments', those that there are."""
    if name not in served:
        return {"tool": None}
    known = served[name].parameters.get("properties", {})
    given = arguments if isinstance(arguments, dict) else {}
    return {"tool": name, "arguments": [argument for argument in given if argument in known]}
