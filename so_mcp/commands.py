"""`so-mcp record` and `so-mcp call`: the tools for hooks and scripts, without MCP.

Both are quick to start: nothing here imports ``mcp``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .calls import (
    Source,
    ask,
    missing_argument,
    parameters,
    source_of,
    tools_of,
    unfit_argument,
    unknown,
    unknown_argument,
)
from .config import Config
from .errors import InvalidInputError, UnknownNameError
from .events import EXAMPLES
from .memory import Memory
from .names import shown
from .tools import Tool
from .tools.answers import Answer

_EXAMPLE = json.dumps(EXAMPLES["say"])


def record(options: argparse.Namespace, memory: Memory) -> int:
    """Record what standard input holds: one event, a list of them, or one on each line."""
    events = events_of(sys.stdin.buffer.read())
    given = {"dry_run": True} if options.dry_run else {}
    with memory:
        answer = ask(tools_of(memory)["record"], memory, {"events": events, **given})
    return _print(answer, options)


def call(options: argparse.Namespace, config: Config) -> int:
    """Call any tool of this process's mode and print what it answers."""
    with source_of(config) as source:
        tools = tools_of(source)
        if options.tool not in tools:
            raise UnknownNameError(unknown("tool", options.tool, tools))
        tool = tools[options.tool]
        answer = ask(tool, source, arguments_of(tool, options.arguments, source))
    return _print(answer, options)


def events_of(given: bytes) -> list[Any]:
    """The events in JSON (one, or a list) or JSON lines; raises `InvalidInputError`."""
    try:
        text = given.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"record: standard input is not UTF-8 (byte {error.start + 1}). Give JSON in UTF-8."
        ) from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InvalidInputError(
            "record: standard input is empty. Give one event, a list of events, or one on each "
            f"line. Example: {_EXAMPLE}"
        )
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        # A line that is whole by itself says that each is an event; else the document is broken.
        if len(lines) > 1 and _is_json(lines[0][1]):
            return [_event(number, line) for number, line in lines]
        raise InvalidInputError(f"record: not JSON: {_why(error)}. Example: {_EXAMPLE}") from None
    if whole == []:
        raise InvalidInputError(f"record: the list is empty. Give an event, such as {_EXAMPLE}")
    return whole if isinstance(whole, list) else [whole]


def _event(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"record: line {number} is not JSON: {_why(error)}. Nothing was recorded."
        ) from None


def _why(error: ValueError | RecursionError) -> str:
    """What is wrong with JSON; Python's own words for two of these are about Python."""
    if isinstance(error, json.JSONDecodeError):
        return str(error)
    return "nested too deep" if isinstance(error, RecursionError) else "a number of too many digits"


def arguments_of(
    tool: Tool, words: Sequence[str], source: Source | None = None
) -> dict[str, Any]:
    """The arguments that ``key=value`` words give a tool; raises `InvalidInputError`.

    A value is JSON where it parses as JSON and the argument takes that, else text; a key that is
    repeated gives a list.
    """
    known = parameters(tool, source)
    given: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise InvalidInputError(
                f"{tool.name}: expected key=value, got {shown(word)}. "
                f"Arguments: {', '.join(known)}."
            )
        given.setdefault(key, []).append(value)
    if problem := unknown_argument(tool.name, given, known):
        raise InvalidInputError(problem)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise InvalidInputError(missing_argument(tool.name, name, known))
    return {
        name: _fitting(f"{tool.name}.{name}", known[name].annotation, values)
        for name, values in given.items()
    }


def _fitting(what: str, annotation: Any, values: list[str]) -> Any:
    """The first reading of the values that the argument takes."""
    takes = TypeAdapter(annotation)
    read = [json.loads(value) if _is_json(value) else value for value in values]
    readings: list[Any] = [read, values]
    if len(values) == 1:
        readings = [read[0], values[0], *([] if isinstance(read[0], list) else readings)]
    problems = []
    for reading in readings:
        try:
            return takes.validate_python(reading)
        except ValidationError as error:
            problems.append(error)
    raise InvalidInputError(unfit_argument(what, problems[0], ()))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _print(answer: Answer, options: argparse.Namespace) -> int:
    data = answer.model_dump(mode="json")
    said = answer.text() if options.text else json.dumps(data, ensure_ascii=False)
    sys.stdout.write(f"{said}\n")
    return 0
