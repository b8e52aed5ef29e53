r"""MCP on standard input and output, where a line that cannot be read is answered too.

The SDK's own reader drops such a line, and whoever sent it waits for an answer that never comes:
text cut off, bytes that are not UTF-8, half a character (``\ud800``), numbers of thousands of
digits, lists nested too deep, a batch. It also reads a line of any length into memory.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

LONGEST_LINE = 64 * 2**20  # bytes; ten thousand events with a page of words each
_PLACE = 200  # characters of it that are shown
_EXPECTED = "Send one JSON-RPC 2.0 message a line, as JSON in UTF-8."


def run(server: MCPServer[Any]) -> None:
    """Serve until standard input ends."""
    # Out of the group that tasks end in, too: the host stopped reading before it closed the input.
    with contextlib.suppress(BrokenPipeError):
        anyio.run(_serve, server)


async def _serve(server: MCPServer[Any]) -> None:
    stdin = sys.stdin.buffer
    lowlevel = server._lowlevel_server  # noqa: SLF001 - MCPServer.run has a reader of its own
    async with stdio_server(stdin=_Nothing()) as (_, write), anyio.create_task_group() as tasks:  # type: ignore[arg-type]
        send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        tasks.start_soon(_read, stdin, send, write)
        await lowlevel.run(read, write, lowlevel.create_initialization_options())


async def _read(
    stdin: BinaryIO, messages: MemoryObjectSendStream[SessionMessage | Exception], write: Any
) -> None:
    """Pass on what is a message, and answer what is not."""
    async with messages:
        try:
            while line := await anyio.to_thread.run_sync(stdin.readline, LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    await _skip_the_rest(stdin, line)
                    problem = f"a line has more than {LONGEST_LINE} bytes. Send less at once."
                    await write.send(_refusal(PARSE_ERROR, problem, None))
                elif line.strip():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValidationError as error:
                        await write.send(_unreadable(line, error))
                        continue
                    if isinstance(message, JSONRPCNotification) and "id" in json.loads(line):
                        # The SDK takes it for a notification, which nobody answers.
                        problem = "an id is text or a whole number."
                        await write.send(_refusal(INVALID_REQUEST, problem, None))
                    else:
                        await messages.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the server has ended first


async def _skip_the_rest(stdin: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = await anyio.to_thread.run_sync(stdin.readline, LONGEST_LINE)


def _unreadable(line: bytes, error: ValidationError) -> SessionMessage:
    """What is wrong with a line; under its id where it has one, so that the call ends."""
    first = error.errors(include_url=False, include_input=False)[0]
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    own = given.get("id") if isinstance(given, dict) else None
    if isinstance(own, bool) or not isinstance(own, int | str) or (
        isinstance(own, str) and _halved(own)
    ):
        own = None
    if first["type"] != "json_invalid":
        what = "a batch: send its messages one by one" if isinstance(given, list) else "no request"
        return _refusal(INVALID_REQUEST, f"this is {what}.", own)
    if place := _half_a_character(given):
        return _refusal(PARSE_ERROR, f"{place} has half a character (a lone surrogate).", own)
    detail = first.get("ctx", {}).get("error", "cut off")
    return _refusal(PARSE_ERROR, f"this is not JSON: {detail}.", own)


def _refusal(code: int, problem: str, own: int | str | None) -> SessionMessage:
    error = ErrorData(code=code, message=f"Cannot be read: {problem} {_EXPECTED}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=own, error=error))


def _half_a_character(given: Any) -> str | None:
    """Where in a message is text that no UTF-8 can hold, such as ``params.arguments.entity``."""
    left = [("", given)]
    while left:
        place, value = left.pop()
        inside = (
            value.items() if isinstance(value, dict)
            else enumerate(value) if isinstance(value, list)
            else ()
        )
        for key, item in inside:
            if _halved(key) or _halved(item):
                found = f"{place}.{key}".lstrip(".")
                return f"{found[:_PLACE]!a}".strip("'\"")
            left.append((f"{place}.{key}", item))
    return None


def _halved(value: object) -> bool:
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)


class _Nothing:
    """An input that is at its end: the SDK gets nothing to read."""

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration
