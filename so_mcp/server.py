"""The MCP server: one process, one mode, the tools of `so_mcp.tools` on the wire.

Answers carry complete structured content and a compact text. Errors teach: only the text of a
`ToolError` reaches the model, so it holds everything: what was wrong, what was expected, what to
do next. Nothing connects to the database before a tool is called.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, get_type_hints

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from . import __version__
from .config import Config, from_environment
from .embedded import EmbeddedStore
from .errors import InvalidInputError, SecondOrderError
from .memory import Memory
from .names import near_names, shown
from .tools import Tool, tools_for
from .view import AgentView

Format = Literal["concise", "detailed"]

_SUPERVISOR = (
    "SecondOrder remembers who witnessed what in scenario {scenario}, and so who believes what "
    "about whom, to any depth. record what happens; ask false_beliefs who is wrong, context_for "
    "before one agent talks to another, explain why."
)
_AGENT = (
    "You are {agent} in scenario {scenario}. These tools read your own mind: what you believe, and "
    "what you think that others believe. Ask context_for before you talk to somebody."
)


def build_server(source: Memory | AgentView) -> MCPServer[Any]:
    """A server for what ``source`` may do: a supervisor's memory or one agent's own mind."""
    agent = source.agent if isinstance(source, AgentView) else None
    served = [
        _served(tool, source) for tool in tools_for("supervisor" if agent is None else "agent")
    ]
    by_name = {tool.name: tool for tool in served}
    text = _SUPERVISOR if agent is None else _AGENT

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            source.close()

    async def check_arguments(ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        """Refuse arguments that do not fit, in our words: the SDK drops unknown ones silently."""
        if ctx.method == "tools/call" and isinstance(ctx.params, dict):
            tool = by_name.get(str(ctx.params.get("name")))
            arguments = ctx.params.get("arguments") or {}
            if tool is not None and (problem := _problem(tool, arguments)):
                return CallToolResult(
                    content=[TextContent(type="text", text=problem)], is_error=True
                )
        return await call_next(ctx)

    return MCPServer(
        name="so-mcp" if agent is None else "so-mcp-agent",
        title=f"SecondOrder: {agent or 'supervisor'} in {source.scenario}",
        instructions=text.format(agent=agent, scenario=source.scenario),
        version=__version__,
        tools=served,
        lifespan=lifespan,
        log_level="ERROR",
        middleware=[check_arguments],
    )


def source_of(config: Config) -> Memory | AgentView:
    """The supervisor's memory, or with ``SO_AGENT`` that agent's own mind and nothing else."""
    if config.agent is not None:
        store = config.server or EmbeddedStore(config.path)
        return AgentView(config.agent, config.scenario, store)
    if config.server is not None:
        server = config.server
        return Memory(
            config.scenario, host=server.host, port=server.port,
            username=server.username, password=server.password,
        )
    return Memory(config.scenario, path=config.path)


def serve() -> None:
    """Serve on stdio until the host closes it (or a signal, see `cli.main`)."""
    build_server(source_of(from_environment())).run("stdio")


def _served(tool: Tool, source: Memory | AgentView) -> ServedTool:
    """A tool as the SDK serves it: its function bound to ``source``, run beside the event loop."""

    def call(response_format: Format = "concise", **arguments: Any) -> CallToolResult:
        answer = tool.function(source, **arguments)
        answer.step = source.step()
        data = answer.model_dump(mode="json")
        text = answer.text() if response_format == "concise" else _json(data)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=data
        )

    async def run(**arguments: Any) -> CallToolResult:
        try:
            return await anyio.to_thread.run_sync(
                functools.partial(call, **arguments), abandon_on_cancel=True
            )
        except SecondOrderError as error:
            raise ToolError(str(error)) from error

    hints = get_type_hints(tool.function, include_extras=True)
    returns = Annotated[CallToolResult, hints.pop("return")]
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in list(inspect.signature(tool.function).parameters.items())[1:]
    ]
    parameters.append(
        inspect.Parameter(
            "response_format", inspect.Parameter.KEYWORD_ONLY, default="concise", annotation=Format
        )
    )
    run.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
    served = ServedTool.from_function(
        run,
        name=tool.name,
        title=tool.title,
        description=" ".join((inspect.getdoc(tool.function) or "").split()),
        annotations=ToolAnnotations(
            read_only_hint=tool.effect == "reads",
            destructive_hint=False,
            idempotent_hint=tool.effect == "reads",
            open_world_hint=False,
        ),
    )
    served.parameters = _slim(served.parameters)
    if served.fn_metadata.output_schema is not None:
        served.fn_metadata.output_schema = _outline(served.fn_metadata.output_schema)
    return served


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _outline(schema: dict[str, Any]) -> dict[str, Any]:
    """The names and kinds of an answer's fields; what is inside a list or object shows in it."""
    kept = {}
    for name, field in schema["properties"].items():
        kinds = [option.get("type", "object") for option in field.get("anyOf", [field])]
        kept[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    return {"type": "object", "properties": kept, "required": schema["required"]}


def _slim(schema: Any) -> Any:
    """A JSON schema without what costs a context and tells nothing: titles, null defaults.

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
    options = kept.pop("anyOf", None)
    if options is None:
        return kept
    null = {"type": "null"}
    real = [option for option in options if option != null]
    if all(option.keys() == {"type"} for option in real):
        types = [option["type"] for option in real]
        return {"type": types if len(types) > 1 else types[0], **kept}
    return {**real[0], **kept} if len(real) == 1 else {"anyOf": real, **kept}


def _problem(tool: ServedTool, arguments: Any) -> str | None:
    """What is wrong with a call's arguments, in one sentence with the next step; None if nothing."""
    if not isinstance(arguments, dict):
        return f"{tool.name}: arguments must be an object, got {type(arguments).__name__}."
    known = tool.parameters.get("properties", {})
    for name in arguments:
        if name not in known:
            near = near_names(str(name), known) or list(known)
            return (
                f"{tool.name}: there is no argument {shown(str(name))}. "
                f"Did you mean {' or '.join(near)}? Arguments: {', '.join(known) or 'none'}."
            )
    try:
        tool.fn_metadata.validate_arguments(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            return f"{tool.name}: argument {place} is missing. Arguments: {', '.join(known)}."
        got = shown(str(first["input"]))
        message = first["msg"].replace("Input should be", "expected")
        return f"{tool.name}.{place}: {message}; got {got}."
    except InvalidInputError as error:
        return f"{tool.name}: {error}"
    return None
