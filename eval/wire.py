"""What the wire costs, through stdio and HTTP: real server processes, real clients.

- tokens of ``tools/list`` in each mode: exact (the vocabulary of `so_mcp.tokens`), and bytes / 4;
- start: from starting the process to its first ``tools/list``, which asks no database;
- a read (two deep) and a write (one event that five witness), in turn by either way, so that a slow
  moment meets both;
- 50 writes at once, 25 through each of two processes on one store: how many were acknowledged, how
  many are there, and in how many places a mind differs from a replay of the log.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from eval import results
from so_mcp import Memory
from so_mcp.log import log_calls, log_of
from so_mcp.tokens import count

WAYS = ("stdio", "HTTP")
MODES = ("supervisor", "agent")
AGENTS = ["Ann", "Bob", "Cyd", "Dan", "Eve"]
WRITES = 50
STARTS = 7
Figures = dict[str, dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m eval wire``."""
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--save", action="store_true", help="keep them for the README")
    parser.add_argument("--rounds", type=int, default=500, help="samples of each (default 500)")


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table or JSON; 1 if a write is missing."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        figures = anyio.run(measure, Path(folder), args.rounds)
    if args.save:
        results.save("wire", figures)
    print(json.dumps(figures, indent=2) if args.json else table(figures))
    whole = {"acknowledged": WRITES, "there": WRITES, "differences": 0}
    return int(any(figures["writers"][way] != whole for way in WAYS))


async def measure(folder: Path, rounds: int) -> Figures:
    """All figures: ``tools/list`` by mode; ``start``, ``read``, ``write``, ``writers`` by way."""
    path = folder / "store"
    with Memory(path=path) as memory:  # held open, so that no start has to start the database
        memory.set("e", "v", audience=AGENTS)
        memory.grant("Ann")
        return {
            "tools/list": {mode: await _listed(path, mode) for mode in MODES},
            "start": await _starts(path),
            **await _calls(path, rounds),
            "writers": {way: await _writers(path, way) for way in WAYS},
        }


@asynccontextmanager
async def connected(path: Path, way: str, **env: str) -> AsyncIterator[Client]:
    """A client of a server process of its own."""
    env = {"FALKORDB_LITE_PATH": str(path), "PATH": os.defpath, **env}
    if way == "stdio":
        async with Client(
            StdioServerParameters(command=sys.executable, args=["-m", "so_mcp"], env=env)
        ) as client:
            yield client
        return
    token = secrets.token_hex(32)
    command = [sys.executable, "-m", "so_mcp", "serve", "--http", "--port", "0", "--rate", "100000"]
    async with await anyio.open_process(
        command, env={**env, "SO_HTTP_TOKEN": token}, stderr=None
    ) as process:
        try:
            assert process.stdout is not None
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 10_000)
            url = line.decode().split()[-1]
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                yield client
        finally:
            process.terminate()


async def _listed(path: Path, mode: str) -> dict[str, int]:
    env = {"SO_AGENT": "Ann"} if mode == "agent" else {}
    found = []
    for way in WAYS:
        async with connected(path, way, **env) as client:
            tools = (await client.list_tools()).tools
            dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
            found.append(json.dumps(dumped, separators=(",", ":"), ensure_ascii=False))
    assert found[0] == found[1]
    return {
        "tools": len(tools), "tokens": count(found[0]), "bytes / 4": len(found[0].encode()) // 4
    }


async def _starts(path: Path) -> dict[str, dict[str, float]]:
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for way in [*WAYS] * STARTS:
        start = time.perf_counter()
        async with connected(path, way) as client:
            await client.list_tools()
            seconds[way].append(time.perf_counter() - start)
    return {
        way: {"p50 s": round(sorted(of)[STARTS // 2], 2), "max s": round(max(of), 2)}
        for way, of in seconds.items()
    }


async def _calls(path: Path, rounds: int) -> Figures:
    numbers = itertools.count()
    samples: dict[tuple[str, str], list[float]] = {
        (kind, way): [] for kind in ("read", "write") for way in WAYS
    }
    async with connected(path, "stdio") as stdio, connected(path, "HTTP") as http:
        for number in range(-5, rounds):  # the first few warm plans, connections and models
            for way, client in zip(WAYS, (stdio, http), strict=True):
                for kind, ask in (("read", _read(client)), ("write", _write(client, next(numbers)))):
                    start = time.perf_counter()
                    await ask()
                    if number >= 0:
                        samples[kind, way].append(time.perf_counter() - start)
    return {kind: {way: _figures(samples[kind, way]) for way in WAYS} for kind in ("read", "write")}


def _read(client: Client) -> Callable[[], Awaitable[None]]:
    return lambda: _told(client, "believes", {"chain": AGENTS[:2], "entity": "e"})


def _write(client: Client, number: int) -> Callable[[], Awaitable[None]]:
    event = {
        "kind": "say", "speaker": AGENTS[number % 5], "audience": AGENTS, "entity": "e",
        "value": f"value {number}",
    }
    return lambda: _told(client, "record", {"events": [event]})


async def _told(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content


async def _writers(path: Path, way: str) -> dict[str, int]:
    scenario = f"writers through {way}"
    acknowledged: list[str] = []

    async def write(client: Client, name: str) -> None:
        event = {
            "kind": "say", "speaker": name, "audience": AGENTS, "entity": "e", "value": name, "id": name
        }
        await _told(client, "record", {"events": [event]})
        acknowledged.append(name)

    env = {"SO_SCENARIO": scenario}
    async with (
        connected(path, way, **env) as one, connected(path, way, **env) as two,
        anyio.create_task_group() as group,
    ):
        for number in range(WRITES):
            group.start_soon(write, (one, two)[number % 2], f"writer {number}")
    with Memory(scenario, path=path) as memory:
        log = log_of(memory.database.read_together(log_calls(scenario)))
        there = {event.id for event in log} & set(acknowledged)
        return {
            "acknowledged": len(acknowledged), "there": len(there),
            "differences": len(memory.verify()),
        }


def _figures(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {"p50 ms": len(ordered) // 2, "p99 ms": min(len(ordered) - 1, len(ordered) * 99 // 100)}
    return {name: round(ordered[place] * 1000, 2) for name, place in at.items()}


def table(figures: Figures) -> str:
    """The figures as text."""
    lines = [f"{'':26}{WAYS[0]:>10}{WAYS[1]:>10}"]
    for what in ("start", "read", "write", "writers"):
        for name in figures[what]["stdio"]:
            cells = "".join(f"{figures[what][way][name]:>10}" for way in WAYS)
            lines.append(f"{f'{what}, {name}':26}{cells}")
    lines.append("")
    for mode, listed in figures["tools/list"].items():
        said = ", ".join(f"{name} {value:,}" for name, value in listed.items())
        lines.append(f"tools/list, {mode}: {said}")
    lines += ["", f"To reach: start <= 1.5 s; {WRITES} of {WRITES} there, no differences."]
    return "\n".join(lines)
