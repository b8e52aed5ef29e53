"""Every registration that is printed is one its host documents, and starts exactly as written."""

from __future__ import annotations

import itertools
import json
import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest
from pydantic import ValidationError

from eval.hosts import formats, programs
from eval.hosts.formats import READERS, Server
from eval.hosts.registrations import (
    AGENT,
    COMMAND,
    DATABASES,
    README_AGENT,
    Desk,
    Unasked,
    absolute,
    ask,
    connected,
    desk,
    granted,
    knows_of_the_parcel,
    mode_of,
    printed,
    readme,
    serving,
)
from eval.hosts.trials import outcome
from so_mcp.config import Config, ServerAddress
from so_mcp.grants import Grant
from so_mcp.registration import HOSTS, notes, registration, registrations, server_name
from so_mcp.tools import TOOLS

NAMES = (
    "Shipping", "Mary Ann", "Tomás", "李雷", "🚚", "it's *", 'say "no"', "a\\b", "`id`", "$(id)", "$5",
    "-e", "--", "=", "a=b", "#", ";", "&& rm", "x" * 200, "~", "!", "%PATH%", "null", AGENT,
)
PUT_IN = ("$HOME", "${HOME}", "${env:HOME}", "${HOME:-x}", "$HOMER", "a$b")
SERVER = ServerAddress("db.example", 7000, "boss", "boss-password")
ENVIRON = {"HOME": "/home/ann", "HOMER": "x", "b": "x"}


def grant_of(agent: str, *scenarios: str, password: str | None = None) -> Grant:
    return Grant(agent, scenarios[0] if scenarios else "support", "user", password, others=scenarios[1:])


def config_of(server: ServerAddress | None = None) -> Config:
    return Config("support", None, server, Path("/a folder/it's $5"))


@pytest.fixture(scope="module", params=DATABASES)
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, Desk]]:
    """One of the databases that a registration may name, and what grants on it."""
    with desk(request.param, AGENT, README_AGENT) as made:
        yield request.param, made


# What is printed ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_each_host_reads_what_was_meant_whatever_the_agent_is_called(name: str) -> None:
    made, config = grant_of(name, "ticket-1", name), config_of()
    meant = registration(made, config)
    read = list(granted(registrations(made, config), ENVIRON))
    assert sorted(host for host, _ in read) == sorted(READERS)
    for host, server in read:
        assert server == Server(meant.name, (meant.command,), meant.env), host
    assert meant.env["SO_AGENT"] == name
    assert json.loads(meant.env["SO_SCENARIOS"]) == ["ticket-1", name]
    assert Path(meant.command).is_absolute()


@pytest.mark.parametrize("name", [*NAMES, *PUT_IN])
def test_a_name_that_a_host_takes_for_a_variable_is_printed_with_a_note(name: str) -> None:
    made, config = grant_of(name), config_of()
    text, meant = registrations(made, config), registration(made, config)
    changed = [host for host, server in granted(text, ENVIRON) if server.env != meant.env]
    assert not changed or "SO_AGENT has that in it" in text, changed
    if name in NAMES:
        assert changed == notes(made, config) == []


def test_on_a_server_vs_code_asks_for_the_password_of_each_agent_and_the_others_have_it() -> None:
    config = config_of(SERVER)
    asked = set()
    for name in ("Shipping", "Billing"):
        text = registrations(grant_of(name, password=f"{name}'s"), config)
        answers = {f"{server_name(name)}-password": f"{name}'s"}
        for host, server in granted(text, answers):
            assert server.env["FALKORDB_PASSWORD"] == f"{name}'s", host
        assert "boss" not in text
        vscode = text.partition("VS Code")[2]
        assert f"{name}'s" not in vscode
        asked |= set(re.findall(r'"id": "(.+)"', vscode))
    assert len(asked) == 2  # both may stand in one file


def test_a_server_that_speaks_tls_is_registered_with_what_a_client_needs_for_it() -> None:
    config = config_of(replace(SERVER, tls=True, tls_ca="/etc/it's/ca.pem"))
    for _, server in granted(registrations(grant_of("Shipping"), config)):
        assert server.env["FALKORDB_TLS"] == "1"
        assert server.env["FALKORDB_TLS_CA"] == "/etc/it's/ca.pem"


def test_a_servers_name_with_its_longest_tool_is_one_that_hosts_take() -> None:
    longest = max(len(tool.name) for tool in TOOLS if tool.mode == "agent")
    names = [*NAMES, "x" * 201, "a " * 40, "é" * 100]
    made = [server_name(name) for name in names]
    assert len(set(made)) == len(names)
    for name in made:
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
        assert len(f"mcp__{name}__") + longest <= 64


def test_the_headings_name_each_host_once() -> None:
    named = [host for one in HOSTS for host in formats.hosts_in(one.where)]
    assert sorted(named) == sorted(READERS)


# Started as it stands there -------------------------------------------------------------------


def test_what_grant_and_the_readme_print_starts_from_an_empty_environment(
    database: tuple[str, Desk], tmp_path: Path
) -> None:
    name, made = database
    started: list[tuple[tuple[str, ...], dict[str, str]]] = []
    home = Path(made.env["HOME"]) if name == "default store" else tmp_path
    for _, server in printed(name, made):
        if (server.command, server.env) not in started:  # several hosts start the same
            started.append((server.command, server.env))
            assert knows_of_the_parcel(server, home)
    if name == "default store":  # the README's agent is what `grant` prints for it
        [said] = (server for _, server in readme(Unasked()) if mode_of(server) == "agent")
        assert absolute(said) == dict(granted(made.so_mcp("grant", README_AGENT)))["Claude Code"]
    assert len(started) == {"default store": 4, "named store": 1, "server": 3}[name]
    assert list(tmp_path.iterdir()) == []  # nothing is left in the home of who needs nothing there


def test_what_rotate_prints_has_the_new_password_for_every_host(
    database: tuple[str, Desk], tmp_path: Path
) -> None:
    name, made = database
    if name != "server":
        assert "mcp add" not in made.so_mcp("rotate", AGENT)  # a private file has it
        return
    old = re.findall(r"FALKORDB_PASSWORD=(\S+)", made.so_mcp("grant", AGENT))
    text = made.so_mcp("rotate", AGENT)
    [new] = {*re.findall(r"FALKORDB_PASSWORD=(\S+)", text)}
    assert new not in old
    read = [server for _, server in granted(text, {f"{server_name(AGENT)}-password": new})]
    assert [server.env["FALKORDB_PASSWORD"] for server in read] == [new] * len(READERS)
    assert knows_of_the_parcel(read[0], tmp_path)


def unwrapped(*call: object) -> None:
    """Run it, and raise what it raises without the groups that clients put around it."""
    try:
        anyio.run(*call)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            [error] = error.exceptions
        raise error from None


def test_the_files_of_grant_all_are_those_of_four_hosts_and_start(tmp_path: Path) -> None:
    with desk("named store", AGENT, "Billing") as made:
        made.so_mcp("grant", "--all", "--write", str(tmp_path / "agents"))
        files = sorted((tmp_path / "agents").iterdir())
        assert len(files) == 2
        for file in files:
            text = file.read_text("utf-8")
            read = [
                server
                for reader in (formats.claude_code_file, formats.claude_desktop, formats.cursor, formats.gemini)
                for server in reader(text, ENVIRON)
            ]
            assert read == [read[0]] * 4
        assert knows_of_the_parcel(read[0], tmp_path)


# The README -----------------------------------------------------------------------------------


def test_the_readme_has_a_registration_for_each_host_that_grant_prints_one_for() -> None:
    starts = [(host, server) for host, server in readme(Unasked()) if server.url is None]
    assert {host for host, server in starts if mode_of(server) == "supervisor"} == {*READERS}
    assert {server.env["SO_AGENT"] for _, server in starts if mode_of(server) == "agent"} == {README_AGENT}
    assert {server.command for _, server in starts} == {("so-mcp",)}
    reached = {host for host, server in readme(Unasked()) if server.url is not None}
    assert reached == {*READERS} - {"Claude Desktop"}  # which takes such a server in its settings


def test_so_mcp_alone_is_not_found_on_a_minimal_path_which_is_why_its_path_is_written(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "so-mcp", "--version"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 127
    assert COMMAND.is_absolute()


def test_the_readmes_registrations_over_http_reach_what_serves_there(tmp_path: Path) -> None:
    token = secrets.token_hex(32)
    with desk("named store", README_AGENT) as made:
        made.so_mcp("grant", README_AGENT)
        with serving({**made.env, "SO_AGENT": README_AGENT, "SO_HTTP_TOKEN": token}) as url:
            for said, answers in ((token, True), ("x" * 64, False)):
                variables = {"SO_HTTP_TOKEN": said, "shipping-token": said}
                reached = [one for _, one in readme(variables) if one.url is not None]
                assert reached
                for server in reached:
                    assert server.url is not None
                    assert (server.name, server.url.endswith("/mcp")) == ("shipping", True)
                    if answers:
                        found = anyio.run(ask, replace(server, url=url), "agent", tmp_path)
                        assert [belief["value"] for belief in found["beliefs"]] == ["packed"]
                    else:
                        refused = httpx2.post(url, headers=server.headers, json={}).status_code
                        assert refused == 401


# That all of this can fail --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("Claude Code", "claude mcp add -- so-mcp"),
        ("Claude Code", "claude mcp add -e A=1 name -- so-mcp"),  # -e takes the name for a variable
        ("Claude Code", "claude mcp add name --env-file x -- so-mcp"),
        ("Claude Code", "claude mcp add 'a name' -- so-mcp"),
        ("Claude Code", "claude mcp add name -e A -- so-mcp"),
        ("Claude Code", "claude mcp add name -e A=it's -- so-mcp"),
        ("Codex", "codex mcp add name -e A=1 -- so-mcp"),
        ("Codex", "codex mcp add name so-mcp"),
        ("Codex", "codex mcp add na.me -- so-mcp"),
        ("Claude Desktop", '{"mcpServers": {"a": {"type": "stdio", "command": "so-mcp"}}}'),
        ("Claude Desktop", '{"mcpServers": {"a": {"url": "http://127.0.0.1/mcp"}}}'),
        ("Cursor", '{"servers": {"a": {"command": "so-mcp"}}}'),
        ("Cursor", '{"mcpServers": {"a": {"command": ["so-mcp"]}}}'),
        ("Gemini CLI", '{"mcpServers": {"a": {"type": "stdio", "command": "so-mcp"}}}'),
        ("Gemini CLI", '{"mcpServers": {"a": {"url": "http://127.0.0.1/mcp"}}}'),
        ("VS Code", '{"mcpServers": {"a": {"type": "stdio", "command": "so-mcp"}}}'),
        ("VS Code", '{"servers": {"a": {"command": "so-mcp"}}}'),
        ("VS Code", '{"servers": {"a": {"type": "stdio", "command": "so-mcp", "env": {"A": 1}}}}'),
        ("VS Code", '{"servers": {"a": {"type": "stdio", "command": "s", "env": {"A": "${input:x}"}}}}'),
        ("VS Code", '{"inputs": [{"id": "x"}], "servers": {}}'),
    ],
)
def test_what_a_host_does_not_document_is_refused(host: str, text: str) -> None:
    with pytest.raises((ValueError, ValidationError, AssertionError, IndexError)):
        list(READERS[host](text, {}))


def test_a_registration_that_leaves_out_where_the_store_is_does_not_answer(tmp_path: Path) -> None:
    made = registration(grant_of(AGENT), config_of())
    env = {key: value for key, value in made.env.items() if key != "FALKORDB_LITE_PATH"}
    with pytest.raises(AssertionError, match="There is no store at"):
        unwrapped(ask, Server(made.name, (made.command,), env), "agent", tmp_path)


def test_nothing_of_our_own_environment_reaches_what_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "SHELL", "SO_AGENT"):
        monkeypatch.setenv(name, "ours")
    script = "import json, os, sys; json.dump([*os.environ], open(sys.argv[1], 'w'))"
    seen = tmp_path / "seen.json"
    server = Server("x", ("python3", "-c", script, str(seen)), {"A": "1"})

    async def start() -> None:
        async with connected(server, tmp_path):
            pass

    with pytest.raises(Exception, match=r".*"):  # it is no server
        unwrapped(start)
    assert set(json.loads(seen.read_text())) - {"LC_CTYPE"} == {"HOME", "PATH", "A"}


def test_the_shell_gets_what_the_reader_reads(tmp_path: Path) -> None:
    """`shlex` stands for a real shell, which has the last word on quoting."""
    for name in (*NAMES, *PUT_IN):
        line = HOSTS[0].form(registration(grant_of(name), config_of()))
        done = subprocess.run(
            ["sh", "-c", line.replace("claude mcp add", "printf '%s\\0'", 1)], cwd=tmp_path,
            capture_output=True, text=True, encoding="utf-8", check=True, env={"HOME": "/home/ann"},
        )
        assert done.stdout.split("\0")[:-1] == shlex.split(line)[3:], name
    assert list(itertools.chain(tmp_path.iterdir())) == []


# The hosts' own programs, as far as that can be tried without them ----------------------------


STAND_IN = """#!/bin/sh
case "$*" in
  --version) echo 9.9.9 ;;
  "mcp list") cat listed ;;
  *) echo "$3: something - $SAID" >> listed ;;
esac
"""


def stand_in(folder: Path, said: str) -> Path:
    """A program that takes registrations, and says this of each in its list."""
    file = folder / "claude"
    file.write_text(STAND_IN.replace("$SAID", said))
    file.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("said", "ok"), [("✔ Connected", True), ("✘ Failed to connect", False), ("Disconnected", False)]
)
def test_a_program_is_asked_whether_it_is_connected_to_each(
    said: str, ok: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [outcome(trial) for trial in programs.trials(stand_in(tmp_path, said))
             if "over HTTP" not in trial.tried]
    assert found[0].who == "Claude Code 9.9.9"
    assert (found[0].ok, "3 of 3 connected" in found[0].result) == (ok, ok)
    assert [one.ok for one in found[1:]] == [None] * (len(found) - 1)
    assert "Codex: not run: codex is not on this machine" in [f"{one.who}: {one.result}" for one in found]
