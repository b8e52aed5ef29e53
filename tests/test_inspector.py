"""The MCP Inspector in front of real servers: stdio and HTTP, both protocol eras, both modes.

What is tried is in `eval/hosts/inspector.py`; `python -m eval hosts` tries every call in every
combination.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkers import need

from eval.hosts.inspector import (
    CALLS,
    ERAS,
    NO_TOKEN,
    OF_BOTH,
    TOOL_FAILED,
    Call,
    Inspector,
    every_call,
    every_list,
    inspectors,
)
from eval.hosts.served import MODES, WAYS, Listening


@pytest.fixture(scope="module")
def all_of_them() -> Iterator[list[Inspector]]:
    need("mcp-inspector")
    with inspectors() as found:
        yield found


def chosen(found: list[Inspector], *of: tuple[str, str, str]) -> list[Inspector]:
    return [one for one in found if (one.mode, one.way, one.era) in of]


def test_its_strict_list_finds_no_error_in_any_tools_schemas(all_of_them: list[Inspector]) -> None:
    assert len(all_of_them) == len(MODES) * len(WAYS) * len(ERAS) == 8
    assert every_list(all_of_them) == "8 of 8"


def test_a_schema_that_some_host_would_not_take_is_noticed(
    all_of_them: list[Inspector], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "from mcp.server import MCPServer\n"
        "server = MCPServer('other')\n"
        "@server.tool()\n"
        "def tool(anything: object) -> str: return ''\n"
        "server.run()\n"
    )
    monkeypatch.setattr("eval.hosts.inspector.COMMAND", [sys.executable, str(program)])
    [other] = chosen(all_of_them, ("agent", "stdio", "legacy"))
    with pytest.raises(AssertionError, match="Schema carries no validation keyword"):
        other.strict()


def test_it_is_answered_whatever_a_host_asks_for(all_of_them: list[Inspector]) -> None:
    over_http = chosen(all_of_them, ("supervisor", "HTTP", "modern"), ("agent", "HTTP", "legacy"))
    own = [call for call in CALLS["agent"] if call not in OF_BOTH]
    count = len(CALLS["supervisor"]) + len(own)
    calls = {"supervisor": CALLS["supervisor"], "agent": own}
    assert every_call(over_http, calls) == f"{count} of {count}"


def test_on_stdio_a_tool_answers_and_one_that_fails_says_so(all_of_them: list[Inspector]) -> None:
    on_stdio = chosen(all_of_them, ("agent", "stdio", "modern"))
    answers, fails = [
        next(call for call in CALLS["agent"] if call.words[1:3] == ("--tool-name", "my_beliefs")
             and call.code == code)
        for code in (0, TOOL_FAILED)
    ]
    assert every_call(on_stdio, {"agent": [answers, fails]}) == "2 of 2"


def test_without_the_token_it_is_told_that_one_is_needed(all_of_them: list[Inspector]) -> None:
    [agent] = chosen(all_of_them, ("agent", "HTTP", "legacy"))
    assert agent.server is not None
    stranger = Inspector(agent.mode, agent.way, agent.era, agent.store, Listening(agent.server.url, "no"))
    stranger.call(Call(("tools/list",), "Expected the header Authorization: Bearer TOKEN", NO_TOKEN))
