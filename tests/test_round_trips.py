"""How often each tool goes to the database: a round trip costs more than what is asked in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from stores import Store
from test_answers import unchanged  # noqa: F401 - a fixture

from eval.asks import asks_of, played
from so_mcp import Memory
from so_mcp.calls import Source, ask, tools_of
from so_mcp.tools import TOOLS, Mode, Tool

# Round trips of one call on `support`, the one for the step included. A new tool needs a line.
TRIPS: dict[tuple[Mode, str], int] = {
    ("supervisor", "record"): 5,  # one of them reads the world, once a process
    ("supervisor", "believes"): 2,
    ("supervisor", "false_beliefs"): 5,
    ("supervisor", "explain"): 4,
    ("supervisor", "who_knows"): 3,
    ("supervisor", "timeline"): 3,
    ("supervisor", "missed"): 4,
    ("supervisor", "replay"): 5,
    ("supervisor", "common_ground"): 3,
    ("supervisor", "context_for"): 3,
    ("supervisor", "handoff_delta"): 5,
    ("supervisor", "what_if"): 15,
    ("supervisor", "plan_announcements"): 67,  # six plans, each on a fork of its own
    ("supervisor", "vocabulary"): 2,
    ("supervisor", "scenarios"): 3,
    ("supervisor", "load_scenario"): 7,
    ("supervisor", "reset_scenario"): 6,
    ("agent", "my_beliefs"): 2,
    ("agent", "what_does_person_believe"): 2,
    ("agent", "nested_belief"): 2,
    ("agent", "explain"): 2,
    ("agent", "what_changed"): 3,
    ("agent", "who_is_misinformed"): 3,
    ("agent", "context_for"): 2,
    ("agent", "common_ground"): 2,
    ("agent", "handoff_delta"): 3,
}
GROWN = 12  # agents, beside 3


@contextmanager
def trips_of(source: Source) -> Iterator[list[list[str]]]:
    """What is sent inside the block: one list a round trip."""
    trips: list[list[str]] = []

    def note(commands: list[tuple[str, ...]]) -> None:
        trips.append([command[0] for command in commands])

    source.database.observers.append(note)
    yield trips
    source.database.observers.remove(note)


@pytest.mark.runs_on("embedded", "server", why="in a cluster each node is asked what it has")
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.mode}-{tool.name}")
def test_each_tool_takes_as_many_round_trips_as_its_line_says(
    tool: Tool, unchanged: Store, own_store: Store  # noqa: F811
) -> None:
    store = unchanged if tool.effect == "reads" else own_store
    with played(store, "support", tool.mode) as source, trips_of(source) as trips:
        ask(tool, source, asks_of(tool, "support")[0])
    trips = [trip for trip in trips if trip != ["INFO"]]  # of a server once: is it a cluster?
    expected = TRIPS.get((tool.mode, tool.name))
    assert expected is not None, (
        f"tests/test_round_trips.py: TRIPS has no line for {(tool.mode, tool.name)}; it took "
        f"{len(trips)}: {trips}"
    )
    assert len(trips) == expected, trips


def test_there_is_no_line_of_a_tool_that_is_not_there() -> None:
    assert set(TRIPS) <= {(tool.mode, tool.name) for tool in TOOLS}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("false_beliefs", {}),
        ("false_beliefs", {"depth": 3}),
        ("who_knows", {"entity": "refund"}),
        ("context_for", {"agent": "Agent 0", "talking_to": "Agent 1"}),
    ],
)
def test_more_agents_take_no_more_round_trips(
    new_memory: Callable[..., Memory], name: str, arguments: dict[str, object]
) -> None:
    taken = []
    for size in (3, GROWN):
        memory = new_memory()
        agents = [f"Agent {number}" for number in range(size)]
        memory.set("refund", "approved", audience=agents)
        memory.set("refund", "rejected", audience=agents[:2])
        tool = tools_of(memory)[name]
        with trips_of(memory) as trips:
            text = ask(tool, memory, arguments).text()
        assert "'rejected'" in text
        taken.append(trips)
    assert len(taken[0]) == len(taken[1])
