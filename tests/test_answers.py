"""What every tool says on `support` and `org`: texts that a person has read and found right.

Renew with: SO_GOLDEN=1 make test (then read the difference as the one who has to act on it).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from stores import Store, Stores

from eval.asks import ASKS, SCENARIOS, asks_of, command_of, played
from so_mcp.calls import ask
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import SecondOrderError
from so_mcp.server import build_server
from so_mcp.tools import TOOLS, Tool

GOLDEN = Path(__file__).parent / "golden" / "answers"


@pytest.fixture(scope="module")
def unchanged(stores: Stores) -> Iterator[Store]:
    """A database in which every tool that only reads is asked."""
    with stores.new() as store:
        if isinstance(store, EmbeddedStore):
            store.attach()
        for scenario in SCENARIOS:
            played(store, scenario, "supervisor").close()
        yield store


def answers(tool: Tool, scenario: str, store: Store) -> str:
    """Everything that a tool is asked there, and what it says."""
    said = []
    with played(store, scenario, tool.mode) as source:
        for arguments in asks_of(tool, scenario):
            try:
                text = ask(tool, source, arguments).text()
            except SecondOrderError as error:
                text = f"Error: {error}"
            said.append(f"> {command_of(tool.name, arguments)}\n{text}\n")
    return "\n".join(said)


def golden(tool: Tool, scenario: str) -> Path:
    return GOLDEN / scenario / f"{tool.mode}-{tool.name}.txt"


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.mode}-{tool.name}")
def test_each_tool_says_on_each_scenario_what_was_found_right(
    tool: Tool, scenario: str, unchanged: Store, own_store: Store
) -> None:
    found = answers(tool, scenario, unchanged if tool.effect == "reads" else own_store)
    file = golden(tool, scenario)
    if os.environ.get("SO_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found, "utf-8")
    assert file.exists(), f"no snapshot {file.name}: SO_GOLDEN=1 make test makes it; read it"
    assert found == file.read_text("utf-8"), "SO_GOLDEN=1 make test renews the snapshot"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.mode}-{tool.name}")
def test_a_host_gets_the_same_text_and_data_that_fit_the_schema(
    tool: Tool, unchanged: Store, own_store: Store
) -> None:
    store = unchanged if tool.effect == "reads" else own_store
    said = golden(tool, "support").read_text("utf-8").split("\n> ")

    async def main() -> None:
        with played(store, "support", tool.mode) as source:
            async with Client(build_server(source)) as client:
                served = {tool.name: tool for tool in (await client.list_tools()).tools}[tool.name]
                for arguments, expected in zip(asks_of(tool, "support"), said, strict=True):
                    result = await client.call_tool(tool.name, arguments)
                    text = expected.partition("\n")[2].rstrip("\n")
                    if result.is_error:
                        told = text.removeprefix("Error: ")
                        assert result.content[0].text == f"Error executing tool {tool.name}: {told}"
                    else:
                        assert result.content[0].text == text
                        assert result.structured_content.keys() == served.output_schema["properties"].keys()
                if tool.effect == "reads":
                    detailed = {**arguments, "response_format": "detailed"}
                    full = await client.call_tool(tool.name, detailed)
                    assert full.is_error or json.loads(full.content[0].text) == full.structured_content

    anyio.run(main)


def test_there_is_no_snapshot_and_no_ask_of_a_tool_that_is_not_there() -> None:
    names = {(tool.mode, tool.name) for tool in TOOLS}
    kept = {path.relative_to(GOLDEN) for path in GOLDEN.rglob("*.txt")}
    expected = {golden(tool, scenario).relative_to(GOLDEN) for tool in TOOLS for scenario in SCENARIOS}
    assert kept <= expected
    assert {(mode, name) for (_, mode), asks in ASKS.items() for name in asks} <= names
