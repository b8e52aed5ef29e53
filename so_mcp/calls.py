"""How a tool is called, whoever calls it: a host over MCP, or the command line.

Nothing here imports ``mcp``, which takes most of a second.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ValidationError
from pydantic_core import ErrorDetails

from .config import Config
from .diagnostics import timed
from .embedded import EmbeddedStore
from .memory import Memory, supervising
from .names import composed, near_names, shown
from .progress import Progress, silent
from .tools import Tool, tools_for
from .tools.answers import Answer
from .view import AgentView

Source = Memory | AgentView
SCENARIO = "scenario"
_PROGRESS = "progress"
_SHOWN = 60  # characters of a wrong value


def source_of(config: Config) -> Source:
    """The supervisor's memory, or with ``SO_AGENT`` that agent's own mind and nothing else."""
    if config.agent is not None:
        store = config.server or EmbeddedStore(config.path)
        return AgentView(config.agent, config.scenarios, store)
    return supervising(config)


def tools_of(source: Source) -> dict[str, Tool]:
    """The tools that answer from ``source``, by name, in their fixed order."""
    mode = tools_for("agent" if isinstance(source, AgentView) else "supervisor")
    return {tool.name: tool for tool in mode}


def parameters(tool: Tool, source: Source | None = None) -> dict[str, inspect.Parameter]:
    """What a caller may give a tool: all but what it answers from, and ``progress``.

    And which of its scenarios is meant, where ``source`` is an agent that has several.
    """
    hints = get_type_hints(tool.function, include_extras=True)
    _, *given = inspect.signature(tool.function).parameters.items()
    found = {
        name: parameter.replace(annotation=hints[name])
        for name, parameter in given
        if name != _PROGRESS
    }
    if source is not None and len(of := scenarios_of(source)) > 1:
        found[SCENARIO] = inspect.Parameter(
            SCENARIO, inspect.Parameter.KEYWORD_ONLY, default=of[0], annotation=one_of(of)
        )
    return found


def scenarios_of(source: Source) -> tuple[str, ...]:
    """Those that ``source`` can be asked about; the first is, unless another is named."""
    return source.scenarios if isinstance(source, AgentView) else (source.scenario,)


def one_of(scenarios: tuple[str, ...]) -> Any:
    """The type of an argument that is one of these names, however its accents are written."""
    return Annotated[Literal[scenarios], BeforeValidator(_composed)]


def within(source: Source, scenario: str | None) -> Source:
    """``source`` in another of its scenarios; None is the one that it is in."""
    return source.within(scenario) if isinstance(source, AgentView) and scenario else source


def _composed(name: object) -> object:
    return composed(name) if isinstance(name, str) else name


def ask(
    tool: Tool, source: Source, arguments: Mapping[str, Any], progress: Progress = silent
) -> Answer:
    """Call a tool with arguments that fit it; the answer says as of which step it is."""
    arguments = dict(arguments)
    if isinstance(source, AgentView):
        source = within(source, arguments.pop(SCENARIO, None))
    heard = {_PROGRESS: progress} if _PROGRESS in tool.function.__annotations__ else {}
    with timed("tool", tool=tool.name):
        # Of a read, the step before it: what comes in meanwhile is new to who asks "since" then.
        before = source.step() if tool.effect == "reads" else None
        answer = tool.function(source, **arguments, **heard)
        answer.step = source.step() if before is None else before
        return answer


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a tool or a prompt that is not there."""
    return f"Unknown {what} {shown(name)}. {_instead(name, known, f'{what.capitalize()}s')}"


def unknown_argument(what: str, given: Iterable[str], known: Iterable[str]) -> str | None:
    """What is wrong with the names of arguments given to ``what``; None if nothing."""
    known = list(known)
    for name in given:
        if name not in known:
            return (
                f"{what}: there is no argument {shown(name)}. {_instead(name, known, 'Arguments')}"
            )
    return None


def missing_argument(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an argument that has to be given."""
    return f"{what}: argument {name} is missing. Arguments: {', '.join(known)}."


def unfit_argument(what: str, error: ValidationError, known: Iterable[str]) -> str:
    """The first of what does not fit, in our words: the library's name its types and its pages."""
    problems = error.errors(include_url=False)
    first = problems[0]
    place = _place(first)
    if first["type"] == "missing":
        return missing_argument(what, place, known)
    # What may be one of several types is wrong once for each.
    expected = dict.fromkeys(_expected(problem) for problem in problems if _place(problem) == place)
    where = f"{what}.{place}" if place else what
    return f"{where}: expected {' or '.join(expected)}; got {_as_json(first['input'])}."


def _as_json(value: Any) -> str:
    """A value as the caller wrote it, cut; of one that cannot be written, what it is."""
    try:
        text = json.dumps(value, default=str)
    except (ValueError, RecursionError):  # a number of thousands of digits, a thousand lists deep
        return f"a value of type {type(value).__name__} that is too large to show"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _place(problem: ErrorDetails) -> str:
    return ".".join(str(part) for part in problem["loc"] if part not in ("str", "int"))


_EXPECTED = {
    "string_type": "text",
    "string_unicode": "text",
    "list_type": "a list",
    "too_short": "at least {min_length} of them",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "int_type": "a whole number",
    "int_parsing_size": "a whole number",
    "finite_number": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "literal_error": "{expected}",
}


def _expected(problem: ErrorDetails) -> str:
    kind, given = problem["type"], problem["input"]
    message = problem["msg"].removeprefix("Input should be ")
    expected = _EXPECTED.get(kind, "{msg}").format(msg=message, **problem.get("ctx", {}))
    if kind == "list_type" and isinstance(given, str) and len(given) <= _SHOWN:
        return f"{expected}, such as {json.dumps([given])}"
    if kind == "string_type" and isinstance(given, int | float) and not isinstance(given, bool):
        return f'{expected}, such as "{_as_json(given)}"'
    return expected


def _instead(name: str, known: Iterable[str], what: str) -> str:
    known = list(known)
    near = near_names(name, known)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}{what}: {', '.join(known) or 'none'}."
