"""The server as hosts meet it: real clients, in memory and over stdio, in both protocol eras."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from stores import Store, environment, memory_of, view_of

from so_mcp import Memory, __version__
from so_mcp.embedded import EmbeddedStore, is_answering
from so_mcp.server import build_server
from so_mcp.tools import TOOLS, tools_for

GOLDEN = Path(__file__).parent / "golden"
ERAS = ("2026-07-28", "legacy")
COMMAND = str(Path(sys.executable).parent / "so-mcp")
STORY: list[dict[str, Any]] = [
    {"kind": "enter", "agents": ["Maya", "Billing"], "room": "chat"},
    {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved", "room": "chat"},
    {"kind": "exit", "agents": ["Maya"]},
    {"kind": "state", "entity": "refund", "value": "rejected", "by": "Finance", "room": "chat"},
]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """How the client talks: the stateless protocol, or the handshake of before."""
    return str(request.param)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def told(client: Client, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """A call that must succeed: its text and its structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result), result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """A call that must fail: the text of its error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


async def ask_as_supervisor(client: Client) -> None:
    """The main job, by any client."""
    recorded, data = await told(client, "record", events=STORY)
    assert "Event 4 recorded, seen by Billing and Finance." in recorded
    assert data["new_agents"] == ["Maya", "Billing", "Finance"]
    text, data = await told(client, "believes", chain=["Billing", "Maya"], entity="refund")
    assert text.startswith("Billing thinks Maya believes refund is 'approved' (said by Billing, ")
    assert data["value"] == "approved"
    text, data = await told(client, "false_beliefs")
    assert text.splitlines()[0] == (
        "- Maya believes refund is 'approved', the truth is 'rejected'; missed: Finance set refund "
        "to 'rejected' in chat (event 4)"
    )
    assert [item["chain"] for item in data["wrong"]] == [["Maya"], ["Maya", "Billing"]]
    text, data = await told(client, "who_knows", entity="refund")
    assert data["out_of_date"] == {"Maya": "approved"}
    text, data = await told(client, "explain", chain=["Maya"], entity="refund")
    assert "Maya missed event 4" in text
    text, data = await told(client, "context_for", agent="Billing", talking_to="Maya")
    assert data["context"] == text == (
        "- refund: you believe 'rejected', but Maya believes 'approved'. "
        "Correct this before relying on it."
    )


async def ask_as_billing(client: Client) -> None:
    """What Billing can ask of its own mind, by any client."""
    _, data = await told(client, "my_beliefs")
    assert [(b["entity"], b["value"]) for b in data["beliefs"]] == [("refund", "rejected")]
    text, data = await told(client, "who_is_misinformed")
    assert text == "- Maya believes refund is 'approved'; you believe 'rejected'"
    _, data = await told(client, "what_does_person_believe", person="Finance", entity="refund")
    assert data["beliefs"][0]["value"] == "rejected"
    _, data = await told(client, "nested_belief", chain=["Maya", "Billing"], entity="refund")
    assert (data["chain"], data["value"]) == (["Billing", "Maya", "Billing"], "approved")
    text, _ = await told(client, "context_for", talking_to="Maya")
    assert text.startswith("- refund: you believe 'rejected', but Maya believes 'approved'.")
    assert "Unknown tool" in await refused(client, "believes", chain=["Maya"], entity="refund")
    assert "no argument 'agent'" in await refused(client, "my_beliefs", agent="Maya")


def test_both_modes_in_memory_in_both_eras(memory: Memory, era: str) -> None:
    async def main() -> None:
        async with Client(build_server(memory), mode=era) as client:
            await ask_as_supervisor(client)
        memory.grant("Billing")
        view = view_of("Billing", memory.scenario, memory.store)
        async with Client(build_server(view), mode=era) as client:
            await ask_as_billing(client)

    anyio.run(main)


@asynccontextmanager
async def over_stdio(env: dict[str, str], era: str, **more: str) -> Any:
    """A client whose server is a process of its own, started as a host starts it."""
    parameters = StdioServerParameters(
        command=COMMAND, args=[], env={"PATH": "/bin", **env, **more}
    )
    async with Client(parameters, mode=era) as client:
        yield client


def test_two_stdio_servers_use_both_modes_at_once_in_both_eras(own_store: Store, era: str) -> None:
    async def main() -> None:
        async with over_stdio(environment(own_store), era, SO_SCENARIO="desk") as supervisor:
            await ask_as_supervisor(supervisor)
            grant(own_store, "Billing", "desk")
            async with over_stdio(
                environment(own_store, "Billing"), era, SO_SCENARIO="desk"
            ) as billing:
                await ask_as_billing(billing)
                await told(supervisor, "record", events=[
                    {"kind": "tell", "speaker": "Finance", "listeners": ["Maya"],
                     "entity": "refund", "value": "rejected"},
                ])
                text, _ = await told(billing, "who_is_misinformed")
                assert "Maya believes" in text  # Billing did not hear it

    anyio.run(main)


def grant(store: Store, agent: str, scenario: str) -> str:
    return subprocess.run(
        [COMMAND, "grant", agent, "--scenario", scenario],
        env=environment(store), check=True, capture_output=True, text=True,
    ).stdout


def test_lists_and_greeting_work_without_a_database(tmp_path: Path) -> None:
    """A file where the store should be: the server still comes up, and a call says what to do."""
    blocked = tmp_path / "store"
    blocked.write_text("")

    async def main() -> None:
        async with over_stdio({"FALKORDB_LITE_PATH": str(blocked)}, "legacy") as client:
            assert len((await client.list_tools()).tools) == len(tools_for("supervisor"))
            assert "expected a folder of its own" in await refused(
                client, "who_knows", entity="refund"
            )

    anyio.run(main)


def test_an_agent_without_a_login_gets_an_error_that_says_what_to_run(own_store: Store) -> None:
    with memory_of(own_store) as memory:
        memory.set("e", "v", by="Shipping")

    async def main() -> None:
        async with over_stdio(environment(own_store, "Shipping"), "legacy") as client:
            who = "Shipping" if isinstance(own_store, EmbeddedStore) else "AGENT"
            assert f"so-mcp grant {who}" in await refused(client, "my_beliefs")

    anyio.run(main)


def test_errors_say_what_was_wrong_and_what_to_do(memory: Memory) -> None:
    async def main() -> None:
        async with Client(build_server(memory)) as client:
            await told(client, "record", events=STORY)
            for tool, arguments, expected in (
                ("believes", {"chain": ["maya"], "entity": "refund"}, "Did you mean 'Maya'?"),
                ("believes", {"chian": ["Maya"], "entity": "x"}, "Did you mean chain?"),
                ("believes", {"chain": 5, "entity": "x"}, "chain: expected a list; got 5."),
                ("believes", {"entity": "x"}, "argument chain is missing"),
                ("believes", {"chain": [], "entity": "x"}, "chain: expected at least 1 of them; got []."),
                ("false_beliefs", {"depth": 9}, "depth: expected at most 4; got 9."),
                ("record", {"events": [{"kind": "sai"}]}, "events[0].kind: expected one of enter"),
                ("record", {"events": [{"kind": "say", "speaker": "A"}]}, 'Example: {"kind": "say"'),
                ("who_knows", {"entity": "a\x00"}, "U+0000"),
            ):
                message = await refused(client, tool, **arguments)
                assert expected in message
                assert "pydantic" not in message
            text, data = await told(client, "believes", chain=["Maya"], entity="refnd")
            assert "No event of this scenario is about 'refnd'. Did you mean refund?" in text
            assert data["value"] is None

    anyio.run(main)


def test_what_is_hidden_from_an_agent_and_what_does_not_exist_answer_the_same(
    memory: Memory,
) -> None:
    memory.record(STORY)
    memory.set("plan", "secret", audience=["Escalation"])
    memory.grant("Maya")
    view = view_of("Maya", memory.scenario, memory.store)

    async def main() -> None:
        async with Client(build_server(view)) as client:
            for tool, hidden, absent in (
                ("my_beliefs", {"entity": "plan"}, {"entity": "nalp"}),
                ("what_does_person_believe", {"person": "Escalation"}, {"person": "Noitalacse"}),
                ("nested_belief", {"chain": ["Escalation"], "entity": "plan"},
                 {"chain": ["Noitalacse"], "entity": "nalp"}),
                ("context_for", {"talking_to": "Escalation"}, {"talking_to": "Noitalacse"}),
            ):
                answers = []
                for arguments in (hidden, absent):
                    result = (await client.call_tool(tool, arguments)).model_dump_json()
                    renamed = result.replace("Escalation", "Noitalacse").replace("plan", "nalp")
                    answers.append(renamed)
                assert answers[0] == answers[1]

    anyio.run(main)


def test_annotations_follow_from_each_tools_effect(memory: Memory) -> None:
    async def main() -> None:
        async with Client(build_server(memory)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools_for("supervisor"):
            annotations = tools[tool.name].annotations
            assert annotations is not None
            assert annotations.read_only_hint is (tool.effect == "reads")
            assert tools[tool.name].output_schema

    anyio.run(main)


def test_no_agent_tool_takes_whose_mind_it_is() -> None:
    for tool in tools_for("agent"):
        assert tool.effect == "reads"
        names = set(tool.function.__annotations__)
        assert not names & {"agent", "owner", "mind", "as_agent", "scenario"}


@pytest.mark.parametrize(("mode", "tokens"), [("supervisor", 4_500), ("agent", 1_800)])
def test_the_tool_list_is_as_snapshotted_and_small(
    memory: Memory, mode: str, tokens: int, era: str
) -> None:
    """Renew with: SO_GOLDEN=1 make test (then read the difference)."""
    source = memory if mode == "supervisor" else view_of("A", memory.scenario, memory.store)

    async def listed() -> str:
        async with Client(build_server(source), mode=era) as client:
            tools = (await client.list_tools()).tools
        return json.dumps(
            [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            indent=1, ensure_ascii=False, sort_keys=True,
        ) + "\n"

    found = anyio.run(listed)
    golden = GOLDEN / f"tools-{mode}.json"
    if os.environ.get("SO_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, "utf-8")
    assert found == golden.read_text("utf-8"), "SO_GOLDEN=1 make test renews the snapshot"
    assert len(json.dumps(json.loads(found), separators=(",", ":")).encode()) / 4 <= tokens


def test_two_servers_in_one_host_can_be_told_apart(memory: Memory) -> None:
    view = view_of("Maya", memory.scenario, memory.store)
    names = [(build_server(s).name, build_server(s).title) for s in (memory, view)]
    assert names[0][0] != names[1][0]
    assert names[1][1] == f"SecondOrder: Maya in {memory.scenario}"


@pytest.fixture
def raw_server(own_store: Store) -> Iterator[subprocess.Popen[str]]:
    """A server process whose pipes the test holds."""
    process = subprocess.Popen(
        [COMMAND], env=environment(own_store), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    yield process
    process.kill()
    process.communicate()


def exchange(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, **message}) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize("end", ["EOF", "SIGTERM", "SIGINT"])
def test_stdout_is_json_rpc_only_stderr_quiet_and_no_end_leaves_anything_behind(
    raw_server: subprocess.Popen[str], own_store: Store, end: str
) -> None:
    greeting = exchange(raw_server, INITIALIZE)
    assert greeting["result"]["serverInfo"]["version"] == __version__
    assert raw_server.stdin is not None
    raw_server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    answer = exchange(raw_server, {
        "method": "tools/call",
        "params": {"name": "record", "arguments": {"events": STORY}},
    })
    assert answer["result"]["structuredContent"]["events"][3]["number"] == 4
    if end == "EOF":
        raw_server.stdin.close()
        raw_server.stdin = None
    else:
        raw_server.send_signal(getattr(signal, end))
    out, err = raw_server.communicate(timeout=30)
    assert out == ""
    assert err == ""
    if isinstance(own_store, EmbeddedStore):
        assert not is_answering(own_store.socket_path)
    with memory_of(own_store) as memory:
        assert memory.believes("Maya", "refund") == "approved"


def test_every_tool_is_in_the_one_list_and_has_a_description() -> None:
    names = [(tool.mode, tool.name) for tool in TOOLS]
    assert len(names) == len(set(names))
    for tool in TOOLS:
        assert tool.function.__doc__
        assert len(tool.function.__doc__) < 2_000
