"""Bad input ends in an answer or in a clear error, whatever it is and whichever way it comes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from stores import Stores, environment, memory_of, view_of
from test_cli import COMMAND

import so_mcp.stdio
import so_mcp.tools
from eval.faults import inputs
from eval.faults.inputs import flaw_of, fuzz, fuzz_wire
from eval.faults.lines import Server, due, hostile_lines, message, served
from so_mcp import AgentView, Memory, scenarios
from so_mcp.calls import Source
from so_mcp.errors import InvalidEventError, InvalidInputError
from so_mcp.names import MAX_NAME, composed, folded, near_names, normal_name
from so_mcp.server import build_server
from so_mcp.tools import TOOLS, Tool
from so_mcp.tools.answers import BeliefsAnswer
from so_mcp.tools.history import replay
from so_mcp.tools.plans import what_if
from so_mcp.tools.supervisor import EVENTS_AT_ONCE, record

STORM = "a" + "\u0323\u0301" * 500_000  # sorting these marks takes a quarter of an hour
EXIT = {"kind": "exit", "agents": ["Ann"]}


# The fuzz ----------------------------------------------------------------------------------------


def test_no_argument_of_any_tool_makes_it_crash() -> None:
    found = fuzz(20261129, cases=12)
    assert found.crashes == ()
    assert found.tools == tuple(sorted({f"{tool.mode}-{tool.name}" for tool in TOOLS}))
    assert found.tried == found.results + found.refused > 300
    assert min(found.results, found.refused) > 80


def test_no_line_makes_a_server_process_crash() -> None:
    found = fuzz_wire(20261129, cases=25)
    assert found.crashes == ()
    assert found.tried > 2 * len(hostile_lines())
    assert found.results > 5


def _raises(memory: Memory) -> BeliefsAnswer:
    raise KeyError(memory.scenario)


def _leaks(memory: Memory) -> BeliefsAnswer:
    raise InvalidInputError(f"arguments: Traceback (most recent call last): {memory.scenario}")


def _names_no_field(memory: Memory) -> BeliefsAnswer:
    raise InvalidInputError(f"That did not work: {memory.scenario}.")


def _writes_before_it_refuses(memory: Memory) -> BeliefsAnswer:
    memory.set("refund_4411", "gone", by="Finance")
    raise InvalidInputError("arguments: expected less.")


def _hangs(memory: Memory) -> BeliefsAnswer:
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        memory.step()
    return BeliefsAnswer(scenario=memory.scenario, chain=["nobody"], beliefs=[])


def _cannot_be_sent(memory: Memory) -> BeliefsAnswer:
    return BeliefsAnswer(scenario=memory.scenario, chain=["\ud800"], beliefs=[])


BROKEN = {
    _raises: "an error that was not meant",
    _leaks: "an error that shows the inside (Traceback)",
    _names_no_field: "an error that names no field",
    _writes_before_it_refuses: "it was refused and has written",
    _hangs: "it took",
    _cannot_be_sent: "PydanticSerializationError",
}


def test_the_fuzz_notices_what_must_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in BROKEN:
        broken.__doc__ = "Break."
    tools = [Tool(broken, "supervisor", "appends", "Broken") for broken in BROKEN]
    monkeypatch.setattr(so_mcp.tools, "TOOLS", (*TOOLS, *tools))
    monkeypatch.setattr(inputs, "SECONDS_A_CALL", 0.2)
    found = fuzz(1, cases=2, only=[tool.name for tool in tools])
    assert [crash.target for crash in found.crashes] == [f"supervisor-{t.name}" for t in tools]
    for crash, expected in zip(found.crashes, BROKEN.values(), strict=True):
        assert crash.what.startswith(expected)
        assert crash.given == "{}", "it was not made as small as it could be"


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("believes.chain: expected a list; got 5.", True),
        ("Error executing tool believes: agent: no event has named 'x'.", True),
        ("Error executing tool believes", False),
        ("Error executing tool believes: oh no", False),
        ("believes.chain: 1 validation error for believesArguments", False),
        ("believes.chain: got <class 'int'>", False),
        ("believes.chain: mind/belief must be str", False),
        ("believes.chain: see https://errors.example.com/v/missing", False),
        ("believes.chain: " + "x" * 1_000, False),
        ("believes.chain: a\nb", False),
    ],
)
def test_what_a_clear_error_is(text: str, clear: bool) -> None:
    assert (flaw_of(text, {"chain": None, "entity": None}, "believes") is None) is clear


# What it found: time and memory -------------------------------------------------------------------


def test_many_marks_on_a_letter_take_no_time(memory: Memory) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidInputError, match="at most 200 characters, got 1000001"):
        normal_name(STORM, "agent")
    assert near_names(STORM, ["Ann"]) == []
    assert folded(STORM) == "a"
    assert composed(STORM) is STORM
    assert so_mcp.tools.library.vocabulary(memory, name=STORM).names["agent"] == {}
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("text", ["Ünïcode", "U\u0308n", "ᾳ\u0345", "ﷺ", "각" * 300, "e\u0301\u0323" * 400])
def test_a_long_text_is_folded_like_a_short_one(text: str) -> None:
    spread = f"{text} {'x' * 4 * MAX_NAME}"
    assert folded(spread) == f"{folded(text)} {'x' * 4 * MAX_NAME}"


def test_the_chains_of_many_agents_are_counted_before_they_are_made(memory: Memory) -> None:
    memory.set("e", "v", audience=[f"A{number}" for number in range(100)])
    for depth, agents, chains in ((3, None, 980_100), (4, None, 97_029_900), (4, ["A1"], 970_299)):
        with pytest.raises(InvalidInputError, match=f"asks {chains} chains, at most 20000"):
            memory.false_beliefs(depth, agents=agents)
    assert memory.false_beliefs(2) == []


def test_of_what_many_saw_it_is_not_followed_what_they_think_of_each_other(memory: Memory) -> None:
    memory.set("e", "v", audience=[f"A{number}" for number in range(150)])
    answer = replay(memory, "e")
    [step] = answer.steps
    [change] = step.changes
    assert (len(change.agents), change.of, change.each_other) == (150, [], False)
    assert answer.text().endswith("What they think of each other is left out: too many saw it.")
    memory.set("f", "v", audience=["A1", "A2"])
    assert replay(memory, "f").note is None


def test_a_chain_has_at_most_a_thousand_agents(support: Memory) -> None:
    with pytest.raises(InvalidInputError, match="chain: expected at most 1000 agents, got 1001"):
        support.believes(["Maya", "Billing"] * 500 + ["Maya"], "refund_4411")
    assert support.held(["Maya", "Billing"] * 500, "order_4411") is not None


def test_an_event_names_at_most_a_thousand_in_one_list_and_a_room_holds_more(
    memory: Memory,
) -> None:
    many = [f"A{number}" for number in range(1_001)]
    with pytest.raises(InvalidEventError) as caught:
        memory.set("e", "v", audience=many)
    for part in ("events[0].audience: expected at most 1000 names", "record it in several events",
                 "enter a room", "got 1001", "Nothing was recorded"):
        assert part in str(caught.value)
    memory.join(many[:1_000], "hall")
    memory.join(many[1_000:], "hall")
    memory.say("A0", "e", "v", room="hall")
    assert memory.believes(["A1000", "A999", "A1"], "e") == "v"


def test_a_call_takes_at_most_ten_thousand_events(memory: Memory) -> None:
    for tool in (record, what_if):
        with pytest.raises(InvalidEventError, match="events: expected at most 10000 in one call, got"):
            tool(memory, [EXIT] * (EVENTS_AT_ONCE + 1))
    assert memory.step() == 0
    assert len(record(memory, [EXIT] * 40).events) == 40


# What it found: lines that were never answered ----------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server process whose store is never needed."""
    with served(tmp_path_factory.mktemp("bad") / "store") as process:
        yield process


def call(arguments: str) -> bytes:
    return (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call",'
        f'"params":{{"name":"who_knows","arguments":{arguments}}}}}'
    ).encode()


@pytest.mark.parametrize(
    ("line", "own", "code", "expected"),
    [
        (b'{"jsonrpc":', None, -32700, "this is not JSON: EOF while parsing"),
        (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', None, -32700, "this is not JSON: invalid unicode"),
        (call('{"entity":"\\ud800"}'), 7, -32700, "params.arguments.entity has half a character"),
        (call('{"entity":["a","\\udfff"]}'), 7, -32700, "params.arguments.entity.1 has half a"),
        (call('{"\\ud800\\n":1}'), 7, -32700, "params.arguments.\\ud800\\n has half a character"),
        (call(f'{{"entity":{"[" * 500}{"]" * 500}}}'), 7, -32700, "recursion limit exceeded"),
        (call(f'{{"entity":{"[" * 10**5}{"]" * 10**5}}}'), None, -32700, "recursion limit exceeded"),
        (call(f'{{"entity":{"9" * 5_000}}}'), None, -32700, "this is not JSON: number out of range"),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, -32600, "this is a batch"),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600, "this is no request"),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, -32700, "id has half a character"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600, "an id is text or a whole number"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600, "an id is text or a whole"),
    ],
)
def test_a_line_that_cannot_be_read_is_answered(
    server: Server, line: bytes, own: int | None, code: int, expected: str
) -> None:
    [answer] = server.send(line)
    assert (answer["id"], answer["error"]["code"]) == (own, code)
    assert answer["error"]["message"].startswith("Cannot be read: ")
    assert expected in answer["error"]["message"]


@pytest.mark.parametrize("line", [b"", b"  ", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'])
def test_what_needs_no_answer_gets_none(server: Server, line: bytes) -> None:
    assert (due(line), server.send(line)) == (0, [])


@pytest.mark.parametrize("given", ["NaN", "-Infinity", "1e400"])
def test_what_is_no_number_is_said_to_be_none(server: Server, given: str) -> None:
    line = call(f'{{"limit":{given}}}').replace(b"who_knows", b"false_beliefs")
    [answer] = server.send(line)
    [content] = answer["result"]["content"]
    assert content["text"].startswith("false_beliefs.limit: expected a whole number; got ")


def test_a_prompt_says_which_argument_is_not_text(server: Server) -> None:
    given = {"name": "brief", "arguments": {"agent": 5, "talking_to": "Maya"}}
    [answer] = server.send(message("prompts/get", given))
    assert answer["error"]["message"] == "brief.agent: expected text, got int."


def test_a_line_without_end_is_not_read_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(so_mcp.stdio, "LONGEST_LINE", 100)
    ping = message("ping", None)
    given = io.BytesIO(b"x" * 101 + b"\n" + ping + b"\n" + b"[" * 1_000 + b"\n" + ping)

    async def main() -> None:
        messages, passed = anyio.create_memory_object_stream[Any](9)
        write, answers = anyio.create_memory_object_stream[Any](9)
        async with messages, passed, write, answers:
            await so_mcp.stdio._read(given, messages, write)
            assert (passed.statistics().current_buffer_used, given.read()) == (2, b"")
            for _ in range(2):
                refused = (await answers.receive()).message.error
                assert "a line has more than 100 bytes" in refused.message

    anyio.run(main)


# What it found: errors that did not teach ---------------------------------------------------------


def _view(memory: Memory) -> AgentView:
    memory.grant("Escalation")
    return view_of("Escalation", memory.scenario, memory.store)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("false_beliefs", {"limit": 1e300}, "limit: expected a whole number; got 1e+300."),
        ("who_knows", {"entity": "e", "as_of": True}, "as_of: expected text or a whole number; got true"),
        ("timeline", {"since": False}, "since: expected text or a whole number; got false"),
        ("who_knows", {"entity": "e", "as_of": 10**4_000}, "as_of: expected milliseconds between 0"),
        ("explain", {"chain": ["Maya"], "entity": "e", "as_recorded": 10**5_000}, "as_recorded: expected"),
        ("timeline", {"since": 10**4_000}, "since: expected a step as a number from 0"),
        ("who_knows", {"entity": "e", "response_format": "\ud800"}, 'format: expected text; got "\\ud800"'),
        ("believes", {"chain": "x" * 10**6, "entity": "e"}, 'chain: expected a list; got "xxx'),
        ("believes", {"chain": None, "entity": "e"}, "chain: expected a list; got null."),
        ("record", {"events": [None]}, "events[0]: expected an object, got null."),
        ("record", {"events": [{"kind": "exit", "a\n\x1b" + "b" * 10**6: 1}]}, "a\\n\\x1bbbb"),
        ("record", {"events": [{**EXIT, "happened_at": 1.5}]}, "events[0].happened_at: expected a"),
        ("record", {"events": [{"kind": "exit", "agents": 10**5_000}]}, "got something too large to"),
        ("vocabulary", {"name": "Maya", "rename_to": "x" * 201}, "rename_to: expected at most 200"),
        ("vocabulary", {"name": "\x00", "alias": "x"}, "name: character 1 of '\\x00' is U+0000"),
        ("what_does_person_believe", {"person": ""}, "person: expected a name that is not empty"),
        ("explain", {"entity": "e", "person": ""}, "person: expected a name that is not empty"),
    ],
)
def test_an_error_names_the_field_in_few_words(
    support: Memory, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    own = tool == "what_does_person_believe" or "person" in arguments
    source: Source = _view(support) if own else support

    async def main() -> None:
        async with Client(build_server(source)) as client:
            result = await client.call_tool(tool, arguments)
            text = str(result.content[0].text)
            assert result.is_error, text
            assert expected in text
            assert flaw_of(text, arguments, tool) is None

    before = support.step()
    anyio.run(main)
    assert support.step() == before


# The command line ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(stores: Stores) -> Iterator[dict[str, str]]:
    """The environment of a database that runs as long as this module."""
    with stores.new() as made, memory_of(made) as memory:
        scenarios.play(memory, scenarios.load("support"))
        yield {**environment(made), "PATH": "/bin"}


@pytest.mark.parametrize(
    ("words", "given", "expected"),
    [
        (["record"], "[" * 10**5 + "]" * 10**5, "record: not JSON: nested too deep."),
        (["record"], f'{json.dumps(EXIT)}\n{"[" * 10**5}', "record: line 2 is not JSON: nested too deep."),
        (["record"], '{"kind":' + "[" * 900 + "]" * 900 + "}", "events[0].kind: expected one of"),
        (["record"], '{"kind":"exit","happened_at":' + "9" * 5_000 + "}", "record: not JSON: a number of too"),
        (["record"], f"[{','.join([json.dumps(EXIT)] * 10_001)}]", "events: expected at most 10000"),
        (["record"], json.dumps({"kind": "exit", "agents": [STORM]}), "events[0].agents: expected at"),
        (["record"], '{"kind":"exit","agents":["\\ud800"]}', "events[0].agents: character 1 of '\\ud800'"),
        (["record"], '{"kind":"exit","agents":NaN}', "events[0].agents: "),
        (["call", "believes", "x" * 10**5], "", "believes: expected key=value, got 'xxx"),
        (["call", "believes", "chain=" + "[" * 10**5, "entity=e"], "", "chain[0]: expected at most 200"),
        (["call", "who_knows", b"entity=\xff"], "", "entity: character 1 of '\\udcff'"),
        (["call", "false_beliefs", "limit=1e400"], "", "false_beliefs.limit: expected a whole number"),
    ],
)
def test_the_command_line_answers_in_one_line(
    store: dict[str, str], words: list[str | bytes], given: str, expected: str
) -> None:
    done = subprocess.run(
        [COMMAND, *words], env=store, input=given.encode(), capture_output=True, check=False
    )
    said = done.stderr.decode()
    assert (done.returncode, done.stdout, said.count("\n")) == (1, b"", 1)
    assert said.startswith(f"so-mcp: {expected}")
    assert len(said) < 1_000


def test_who_stops_reading_what_is_printed_gets_no_traceback(store: dict[str, str]) -> None:
    """As in `so-mcp grant Ann | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [COMMAND, "grant", "Ann"], env=store, stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_host_that_stops_reading_gets_no_traceback(store: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [COMMAND], env=store, input=message("ping", None) + b"\n", stdout=closed,
            stderr=subprocess.PIPE, check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(store: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, "call", "scenarios"], env=store, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"so-mcp: [Errno 28] No space left on device\n")


def test_any_name_is_printed_whatever_the_locale(store: dict[str, str]) -> None:
    event = {"kind": "say", "speaker": "李雷", "audience": ["Maya"], "text": "x"}
    done = subprocess.run(
        [COMMAND, "record", "--scenario", "other"], env={**store, "PYTHONIOENCODING": "ascii"},
        input=json.dumps(event).encode(), capture_output=True, check=True,
    )
    assert json.loads(done.stdout.decode("utf-8"))["new_agents"] == ["李雷", "Maya"]
