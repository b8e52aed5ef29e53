"""How fast, as ratios to floors measured in the same run on the same engine.

These machines are noisy, so a time alone says little: each figure stands beside its floor, and all
are taken in turn, round after round, so that a slow moment meets them all.

Floors: PING; ``RO_QUERY RETURN 1``; six minimal CREATEs to six graphs in one MULTI. Measured:
`Memory.record` of one event with 5, 16 and 32 witnesses, from call to return; `Memory.believes` at
depths 1, 2, 4 and 6, after 100 and after 10,000 events on ten entities.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eval import results
from so_mcp import Memory

ENTITIES = [f"entity-{number}" for number in range(10)]
WITNESSES = (5, 16, 32)
DEPTHS = (1, 2, 4, 6)
SIZES = (100, 10_000)
Figures = dict[str, dict[str, float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m eval speed``."""
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--save", action="store_true", help="keep them for the README")
    parser.add_argument("--rounds", type=int, default=400, help="samples of each (default 400)")
    parser.add_argument("--events", type=int, default=SIZES[-1], help="size of the large scenario")


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table or JSON."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        figures = measure(Path(folder) / "store", args.rounds, args.events)
    if args.save:
        results.save("speed", figures)
    if args.json:
        print(json.dumps(figures, indent=2))
    else:
        print(table(figures))
    return 0


def measure(path: Path, rounds: int, events: int) -> Figures:
    """p50 and p99 in milliseconds, and ratios of p50 to the floor, by what was measured."""
    with Memory("floor", path=path) as floor:
        floor.set(ENTITIES[0], "x", by="A")  # so that the scenario and its graphs exist
        cases = _floors(floor) | _events(path) | _reads(path, events)
        samples = _sampled(cases, rounds)
    figures = {name: _figures(times) for name, times in samples.items()}
    for name, figure in figures.items():
        base = "six creates" if name.startswith("event") else "RETURN 1"
        if name not in ("PING", "RETURN 1", "six creates"):
            figure["ratio"] = round(figure["p50"] / figures[base]["p50"], 2)
    for depth in DEPTHS:
        small, large = (f"read, depth {depth}, {size} events" for size in (SIZES[0], events))
        figures[large]["growth"] = round(figures[large]["p50"] / figures[small]["p50"], 2)
    return figures


def _floors(memory: Memory) -> dict[str, Callable[[], Any]]:
    database = memory.database
    graphs = [f"bare-{number}" for number in range(6)]
    for graph in graphs:
        database.command("GRAPH.QUERY", graph, "CREATE (:Bare)")

    def in_one_packet(*commands: tuple[str, ...]) -> Callable[[], None]:
        def send() -> None:
            with database._connection(None) as connection:  # noqa: SLF001 - the bare floor
                connection.send_packed_command(connection.pack_commands(commands))
                for _ in commands:
                    connection.read_response()

        return send

    creates = [("GRAPH.QUERY", graph, "CREATE (:Bare {number: 1})", "--compact") for graph in graphs]
    return {
        "PING": in_one_packet(("PING",)),
        "RETURN 1": in_one_packet(("GRAPH.RO_QUERY", graphs[0], "RETURN 1", "--compact")),
        "six creates": in_one_packet(("MULTI",), *creates, ("EXEC",)),
    }


def _events(path: Path) -> dict[str, Callable[[], Any]]:
    return {f"event, {size} witnesses": _event(path, size) for size in WITNESSES}


def _event(path: Path, size: int) -> Callable[[], Any]:
    memory = Memory(f"witnesses-{size}", path=path)
    agents = [f"Agent {number}" for number in range(size)]
    memory.join(agents, "room")
    numbers = itertools.count()

    def say() -> None:
        number = next(numbers)
        memory.say(
            agents[number % size], ENTITIES[number % 10], f"value {number}", room="room",
            text="The refund for order 4411 is approved.",
        )

    return say


def _reads(path: Path, events: int) -> dict[str, Callable[[], Any]]:
    cases = {}
    for size in (SIZES[0], events):
        memory = Memory(f"events-{size}", path=path)
        agents = [f"Agent {number}" for number in range(6)]
        chooser = random.Random(size)  # noqa: S311 - the same scenario in every run
        memory.join(agents, "room")
        batch = [
            {
                "kind": "say", "speaker": agents[number % 6], "entity": ENTITIES[number % 10],
                "value": f"value {number}",
                "audience": chooser.sample(agents, chooser.choice((3, 4, 5, 6, 6, 6))),
            }
            for number in range(size)
        ]
        for start in range(0, size, 500):
            memory.record(batch[start : start + 500])
        for depth in DEPTHS:
            cases[f"read, depth {depth}, {size} events"] = _read(memory, agents, depth)
    return cases


def _read(memory: Memory, agents: list[str], depth: int) -> Callable[[], Any]:
    numbers = itertools.count()
    return lambda: memory.believes(agents[:depth], ENTITIES[next(numbers) % 10])


def _sampled(cases: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        for _ in range(20):
            case()  # plans are cached, connections open
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in random.sample(list(cases), len(cases)):
                start = time.perf_counter()
                cases[name]()
                samples[name].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return samples


def _figures(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50": round(ordered[len(ordered) // 2] * 1000, 3),
        "p99": round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1000, 3),
    }


def table(figures: Figures) -> str:
    """The figures as text, with what was to be reached."""
    lines = [f"{'':34}{'p50 ms':>8}{'p99 ms':>8}{'ratio':>8}{'growth':>8}"]
    for name, figure in figures.items():
        cells = [f"{figure['p50']:8.3f}", f"{figure['p99']:8.3f}"]
        cells += [f"{figure[key]:8.2f}" if key in figure else " " * 8 for key in ("ratio", "growth")]
        lines.append(f"{name:34}{''.join(cells)}".rstrip())
    lines += [
        "",
        "ratio: p50 to its floor (events: six creates; reads: RETURN 1). growth: to 100 events.",
        "To reach: event with 5 witnesses <= 3 (beyond: 2); reads <= 2 (beyond: 1.7); growth <= 1.3.",
    ]
    return "\n".join(lines)
