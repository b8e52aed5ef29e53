"""MCP on standard input and output, where a line that cannot be read is answered too.

The SDK's own reader drops such a line, and whoever sent it waits for an answer that never comes. It
also reads a line of any length into memory.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from .incoming import LONGEST, UnreadableError, message_in, too_long

LONGEST_LINE = LONGEST  # bytes


def run(server: MCPServer[Any]) -> bool:
    """Serve until standard input ends; False: until nobody reads the answers, which is the end too.

    A thread may still wait for a line then.
    """
    with contextlib.suppress(BrokenPipeError):  # out of the group that tasks end in, too
        anyio.run(_serve, server)
        return True
    return False


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
            while line := await _line(stdin, LONGEST_LINE + 1):
                try:
                    if len(line) > LONGEST_LINE:
                        await _skip_the_rest(stdin, line)
                        raise too_long("line", LONGEST_LINE)
                    if line.strip():
                        await messages.send(SessionMessage(message_in(line)))
                except UnreadableError as error:
                    await write.send(SessionMessage(error.answer))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the server has ended first


async def _skip_the_rest(stdin: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = await _line(stdin, LONGEST_LINE)


async def _line(stdin: BinaryIO, longest: int) -> bytes:
    return await anyio.to_thread.run_sync(stdin.readline, longest, abandon_on_cancel=True)


class _Nothing:
    """An input that is at its end: the SDK gets nothing to read."""

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        raise StopAsyncIteration
