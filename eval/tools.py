"""Each tool's time through stdio beside the same call in Python, on the support story.

A real server process and a real client for each mode. The Python call is what the server does,
without the wire: the tool's function, the step, the answer as data and as text. All are taken in
turn, round after round, so that a slow moment meets them all; what writes comes last, and before
each call of a tool that destroys, the story is played again.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from eval import results
from eval.asks import AGENTS, asks_of, played
from so_mcp.calls import Source, ask
from so_mcp.embedded import EmbeddedStore
from so_mcp.tools import TOOLS, Mode, Tool

SCENARIO = "support"
MODES: tuple[Mode, ...] = ("supervisor", "agent")
Figures = dict[str, dict[str, float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m eval tools``."""
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--save", action="store_true", help="keep them for the README")
    parser.add_argument("--rounds", type=int, default=100, help="samples of each (default 100)")


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table or JSON."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        figures = anyio.run(measure, Path(folder) / "store", args.rounds)
    if args.save:
        results.save("tools", figures)
    print(json.dumps(figures, indent=2) if args.json else table(figures))
    return 0


async def measure(path: Path, rounds: int) -> Figures:
    """p50 in milliseconds of each tool: ``python``, ``stdio``, and what the wire adds."""
    figures: Figures = {}
    for mode in MODES:
        source = played(EmbeddedStore(path), SCENARIO, mode)
        tools = [tool for tool in TOOLS if tool.mode == mode]
        with source:
            async with Client(_server(path, mode)) as client:
                for effect in ("reads", "appends", "destroys"):
                    several = [tool for tool in tools if tool.effect == effect]
                    figures |= await _measured(source, client, several, path, rounds)
    order = [_name(tool) for tool in TOOLS]
    return {name: figures[name] for name in order}


def _server(path: Path, mode: Mode) -> StdioServerParameters:
    env = {"FALKORDB_LITE_PATH": str(path), "SO_SCENARIO": SCENARIO, "PATH": os.defpath}
    if mode == "agent":
        env["SO_AGENT"] = AGENTS[SCENARIO]
    return StdioServerParameters(command=sys.executable, args=["-m", "so_mcp"], env=env)


async def _measured(
    source: Source, client: Client, tools: list[Tool], path: Path, rounds: int
) -> Figures:
    samples: dict[str, tuple[list[float], list[float]]] = {_name(tool): ([], []) for tool in tools}
    gc.collect()
    gc.disable()
    try:
        for number in range(-3, rounds):  # the first few warm plans, connections and models
            for tool in tools:
                arguments = asks_of(tool, SCENARIO)[0]
                took = []
                for way in ("python", "stdio"):
                    if tool.effect == "destroys":
                        played(EmbeddedStore(path), SCENARIO, "supervisor").close()
                    start = time.perf_counter()
                    if way == "python":
                        answer = ask(tool, source, arguments)
                        answer.model_dump(mode="json")
                        answer.text()
                    else:
                        result = await client.call_tool(tool.name, arguments)
                    took.append(time.perf_counter() - start)
                assert not result.is_error, result.content
                if number >= 0:
                    for kept, seconds in zip(samples[_name(tool)], took, strict=True):
                        kept.append(seconds)
    finally:
        gc.enable()
    return {name: _figures(*kept) for name, kept in samples.items()}


def _figures(python: list[float], stdio: list[float]) -> dict[str, float]:
    """The wire's part is the median of the differences: the two of a pair met the same moment."""
    pairs = [after - before for before, after in zip(python, stdio, strict=True)]
    names = ("python", "stdio", "wire")
    return {name: _p50(times) for name, times in zip(names, (python, stdio, pairs), strict=True)}


def _p50(times: list[float]) -> float:
    return round(sorted(times)[len(times) // 2] * 1000, 2)


def _name(tool: Tool) -> str:
    return tool.name if tool.mode == "supervisor" else f"{tool.name} (agent)"


def table(figures: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{'p50, ms':34}{'Python':>9}{'stdio':>9}{'wire':>9}"]
    for name, figure in figures.items():
        cells = "".join(f"{figure[key]:9.2f}" for key in ("python", "stdio", "wire"))
        lines.append(f"{name:34}{cells}")
    wire = sorted(figure["wire"] for figure in figures.values())[len(figures) // 2]
    lines += ["", f"The wire adds {wire:.2f} ms to the tool in the middle. To reach: 3."]
    return "\n".join(lines)
