"""The command line, as a person or a host runs it."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from stores import Store, environment, memory_of

from so_mcp import Memory, __version__
from so_mcp.config import Config, ServerAddress
from so_mcp.grants import Grant
from so_mcp.registration import registrations, server_name

COMMAND = str(Path(sys.executable).parent / "so-mcp")


def so_mcp(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], env=env, capture_output=True, text=True, check=False)


def blocks(printed: str) -> tuple[list[str], list[dict[str, Any]]]:
    """What `grant` prints: the words of the Claude Code command, and the JSON for other hosts."""
    [line] = [line.strip() for line in printed.splitlines() if "claude mcp add" in line]
    decoder, found, rest = json.JSONDecoder(), [], printed
    while (start := rest.find("\n{")) >= 0:
        value, length = decoder.raw_decode(rest[start + 1 :])
        found.append(value)
        rest = rest[start + 1 + length :]
    return shlex.split(line), found


def asked(command: list[str], env: dict[str, str]) -> str:
    """Start a registration as a host does, from an empty environment, and ask."""

    async def main() -> str:
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
        async with Client(parameters) as client:
            result = await client.call_tool("my_beliefs", {})
            assert not result.is_error
            return str(result.content[0].text)

    return anyio.run(main)


@pytest.mark.parametrize("agent", ["Shipping", "Mary Ann", "李雷", "it's *"])
def test_what_grant_prints_starts_in_each_host_exactly_as_written(
    own_store: Store, agent: str
) -> None:
    with memory_of(own_store) as memory:
        memory.set("parcel", "packed", audience=[agent])
    done = so_mcp("grant", agent, **environment(own_store))
    assert done.returncode == 0, done.stderr
    words, (desktop, vscode) = blocks(done.stdout)
    assert words[:3] == ["claude", "mcp", "add"]
    split = words.index("--")
    env = dict(pair.split("=", 1) for flag, pair in itertools.pairwise(words) if flag == "-e")
    [entry] = desktop["mcpServers"].values()
    [server] = vscode["servers"].values()
    assert server.pop("type") == "stdio"
    assert words[3] == next(iter(desktop["mcpServers"])) == next(iter(vscode["servers"]))
    assert entry == {"command": words[split + 1], "args": [], "env": env}
    if isinstance(own_store, ServerAddress):
        [wanted] = vscode["inputs"]
        entry["env"]["FALKORDB_PASSWORD"] = f"${{input:{wanted['id']}}}"
    assert entry == server
    assert Path(entry["command"]).is_absolute()
    assert "- parcel: 'packed'" in asked([entry["command"]], env)


def test_on_a_server_the_password_is_shown_once_and_vs_code_asks_for_it() -> None:
    config = Config("desk", None, ServerAddress("db.example", 7000, "boss", "boss-password"), Path("/x"))
    printed = registrations(Grant("Shipping", "desk", "so-agent-1", "hunter2"), config)
    assert "boss" not in printed
    words, (desktop, vscode) = blocks(printed)
    [entry] = desktop["mcpServers"].values()
    assert entry["env"] == {
        "SO_AGENT": "Shipping", "SO_SCENARIO": "desk", "FALKORDB_HOST": "db.example",
        "FALKORDB_PORT": "7000", "FALKORDB_PASSWORD": "hunter2",
    }
    [server] = vscode["servers"].values()
    [wanted] = vscode["inputs"]
    assert server["env"]["FALKORDB_PASSWORD"] == f"${{input:{wanted['id']}}}"
    assert wanted["password"] is True
    assert "hunter2" not in json.dumps(vscode)
    assert words[3] == "shipping"


def test_a_server_name_is_plain_letters() -> None:
    assert server_name("Shipping") == "shipping"
    names = [server_name(agent) for agent in ("Mary Ann", "Mary-Ann!", "Tomás", "李雷", "*")]
    assert [name.rpartition("-")[0] for name in names] == [
        "mary-ann", "mary-ann", "tomas", "agent", "agent"
    ]
    assert len(set(names)) == len(names)


def test_grant_warns_of_a_name_that_no_event_has_named(own_store: Store) -> None:
    with memory_of(own_store) as memory:
        memory.set("e", "v", by="Shipping")
    assert "no event" not in so_mcp("grant", "Shipping", **environment(own_store)).stdout
    assert "no event of scenario 'support' has named 'shipping'" in so_mcp(
        "grant", "shipping", **environment(own_store)
    ).stdout


def test_an_agents_process_cannot_grant(own_store: Store) -> None:
    done = so_mcp("grant", "A", **environment(own_store), SO_AGENT="Shipping")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "so-mcp: SO_AGENT is set, so this process is that agent and can only read its own mind. "
        "Unset it to supervise.\n"
    )


def test_verify_says_whether_every_mind_equals_a_replay(own_store: Store) -> None:
    with memory_of(own_store) as memory:
        memory.set("e", "v", audience=["Ann", "Bob"])
        assert so_mcp("verify", **environment(own_store)).returncode == 0
        key = "so:{support}:mind:Bob"
        memory.database.command("GRAPH.QUERY", key, "MATCH (b:Belief) SET b.value = 'forged'")
        done = so_mcp("verify", **environment(own_store))
    assert done.returncode == 1
    assert [line.split(":")[:2] for line in done.stdout.splitlines()] == [
        ["the mind of Bob", " lost belief"], ["the mind of Bob", " extra belief"],
        ["The log is the truth", " so-mcp repair makes the rest of it again."],
    ]


@pytest.mark.runs_on("embedded", why="nobody but its operator stops a server")
def test_stop_says_whether_anything_ran(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        assert so_mcp("stop", FALKORDB_LITE_PATH=str(store_path)).stdout == "Stopped.\n"
    assert "No database is running" in so_mcp("stop", FALKORDB_LITE_PATH=str(store_path)).stdout


def test_wrong_settings_are_one_line_and_exit_code_1(tmp_path: Path) -> None:
    for env, expected in (
        ({"FALKORDB_HOST": "x", "FALKORDB_PORT": "99999"}, "FALKORDB_PORT: expected 1 to 65535"),
        ({"SO_AGENT": " x"}, "SO_AGENT: expected a name"),
    ):
        done = so_mcp("verify", FALKORDB_LITE_PATH=str(tmp_path / "s"), **env)
        assert done.returncode == 1
        assert done.stderr.startswith(f"so-mcp: {expected}")
        assert done.stderr.count("\n") == 1


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    done = so_mcp("verify", FALKORDB_HOST="127.0.0.1", FALKORDB_PORT="1")
    assert done.returncode == 1
    assert "check FALKORDB_HOST and FALKORDB_PORT" in done.stderr


def test_the_version_is_told_without_a_database() -> None:
    assert so_mcp("--version").stdout == f"so-mcp {__version__}\n"
