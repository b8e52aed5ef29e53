"""Logins are given, taken away and changed; each is for one agent's own mind, whatever it is called."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
import redis
from mcp import Client, MCPError
from mcp.types import PromptReference
from stores import Store, client, credentials, environment, memory_of, view_of
from test_cli import asked, blocks, so_mcp
from test_tcp import address as address  # noqa: PLC0414 - a fixture

from so_mcp import AgentView, Memory
from so_mcp.config import Config, ServerAddress, from_environment
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import (
    AccessError,
    ConflictError,
    InvalidInputError,
    NotGrantedError,
)
from so_mcp.grants import Grant
from so_mcp.names import database_user, mind_key
from so_mcp.registration import write_registration
from so_mcp.server import build_server

NAMES = (
    "*", "a?b", "[x]", "Tomás", "Mary Ann", "a:b", "A>B", "{x}", "李雷", "🚚", "Shipping", "shipping",
    "so:{desk}:mind:*", "../../etc", "a b\\c'd\"", "~", "%2A",
)
SECRET = "a secret of thirty-two characters and more"
NewMemory = Callable[..., Memory]


@pytest.fixture
def two(new_memory: NewMemory) -> tuple[Memory, Memory]:
    """Two scenarios in which Shipping knows another thing each; it has no login of another test."""
    first, second = new_memory(), new_memory()
    for login in first.grants():
        first.revoke(login.agent)
    first.set("parcel", "packed", audience=["Shipping", "Billing"])
    second.set("parcel", "lost", audience=["Shipping", "Maya"])
    return first, second


def raw(memory: Memory, agent: str, password: str | None = None) -> redis.Redis:
    """A session with the agent's login, past every tool; it never connects again by itself."""
    username = database_user(agent)
    if password is None:
        username, password = credentials(agent, memory.store)
    return client(
        memory.store, username, password, holding=mind_key(memory.scenario, agent),
        single_connection_client=True, decode_responses=True, retry=None,
    )


def reads(session: redis.Redis, memory: Memory, agent: str) -> bool:
    """Whether it may; a node of a cluster refuses before it says that another holds a key."""
    try:
        session.execute_command("GRAPH.RO_QUERY", mind_key(memory.scenario, agent), "RETURN 1")
    except redis.exceptions.MovedError:
        return True
    except redis.exceptions.NoPermissionError:
        return False
    return True


def entities(view: AgentView) -> list[str]:
    return [held.entity for held in view.my_beliefs()]


# Whatever they are called ---------------------------------------------------------------------


def test_each_agent_reads_its_own_mind_and_no_others_whatever_it_is_called(memory: Memory) -> None:
    for number, name in enumerate(NAMES):
        memory.set(f"thing {number}", "v", audience=[name])
    assert [granted.agent for granted in memory.grant_all()] == list(NAMES)
    for number, name in enumerate(NAMES):
        with view_of(name, memory.scenario, memory.store) as view:
            assert entities(view) == [f"thing {number}"]
        with raw(memory, name) as session:
            readable = [other for other in NAMES if reads(session, memory, other)]
        assert readable == [name]


def test_one_name_in_two_normal_forms_is_one_agent(memory: Memory) -> None:
    composed, apart = (unicodedata.normalize(form, "Tomás") for form in ("NFC", "NFD"))
    assert composed != apart
    memory.set("thing", "v", audience=[apart])
    assert memory.grant(apart).username == memory.grant(composed).username
    assert [login.agent for login in memory.grants() if login.agent in (composed, apart)] == [composed]
    with view_of(apart, memory.scenario, memory.store) as view:
        assert entities(view) == ["thing"]


def test_an_alias_is_granted_under_the_name_it_stands_for(two: tuple[Memory, Memory]) -> None:
    first, second = two
    first.alias("Parcels", "Shipping")
    assert first.grant("Parcels").agent == "Shipping"
    assert first.rotate("Parcels").agent == "Shipping"
    with pytest.raises(ConflictError, match="Name each agent by its own name"):
        first.grant("Parcels", [first.scenario, second.scenario])
    assert first.revoke("Parcels") == (first.scenario,)


# Several scenarios ----------------------------------------------------------------------------


def test_a_login_is_for_every_scenario_it_was_granted_and_no_other(
    two: tuple[Memory, Memory], memory: Memory
) -> None:
    first, second = two
    memory.set("parcel", "hidden", audience=["Shipping"])
    granted = first.grant("Shipping", [first.scenario, second.scenario])
    assert granted.scenarios == (first.scenario, second.scenario)
    view = view_of("Shipping", granted.scenarios, first.store)
    with view:
        assert [held.value for held in view.my_beliefs()] == ["packed"]
        assert [h.value for h in view.within(second.scenario).my_beliefs()] == ["lost"]
        assert (view.step(), view.people()) == (1, ["Billing"])
        assert view.within(second.scenario).people() == ["Maya"]
    with raw(first, "Shipping") as session:
        assert [reads(session, m, "Shipping") for m in (first, second, memory)] == [True, True, False]
    first.grant("Shipping", memory.scenario)  # adds to what it has
    [login] = [login for login in first.grants() if login.agent == "Shipping"]
    assert login.scenarios == (first.scenario, second.scenario, memory.scenario)


def test_tools_take_which_of_its_scenarios_is_meant_and_refuse_every_other_alike(
    two: tuple[Memory, Memory], memory: Memory
) -> None:
    first, second = two
    memory.set("parcel", "hidden", audience=["Shipping"])
    view = view_of("Shipping", first.grant("Shipping", [m.scenario for m in two]).scenarios, first.store)
    sent: list[object] = []

    async def main() -> None:
        async with Client(build_server(view)) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.input_schema["properties"]["scenario"] == {
                    "enum": [first.scenario, second.scenario],
                    "default": first.scenario,
                }
            for asked_for, value in (({}, "packed"), ({"scenario": second.scenario}, "lost")):
                answer = (await client.call_tool("my_beliefs", asked_for)).structured_content
                assert answer["beliefs"][0]["value"] == value
                assert answer["scenario"] == asked_for.get("scenario", first.scenario)
            view.database.observers.append(sent.append)
            answers = []
            for other in (memory.scenario, memory.scenario[::-1]):
                result = await client.call_tool("my_beliefs", {"scenario": other})
                assert result.is_error
                answers.append(result.content[0].text.replace(other, "X"))
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(f"so://{other}/minds/Shipping")
                answers.append(str(refused.value).replace(other, "X"))
                with pytest.raises(MCPError) as refused:
                    await client.get_prompt("brief", {"talking_to": "Maya", "scenario": other})
                answers.append(str(refused.value).replace(other, "X"))
            assert answers[:3] == answers[3:]
            assert sent == []  # refused before anything was asked

    anyio.run(main)


def test_resources_prompts_and_completions_are_of_the_scenario_that_was_named(
    two: tuple[Memory, Memory],
) -> None:
    first, second = two
    view = view_of("Shipping", first.grant("Shipping", [m.scenario for m in two]).scenarios, first.store)

    async def main() -> None:
        async with Client(build_server(view)) as client:
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            for memory, value in ((first, "packed"), (second, "lost")):
                uri = f"so://{memory.scenario}/minds/Shipping"
                assert uri in uris
                found = json.loads((await client.read_resource(uri)).contents[0].text)
                assert (found["scenario"], found["beliefs"][0]["value"]) == (memory.scenario, value)
            there = {"scenario": second.scenario}
            told = await client.get_prompt("brief", {"talking_to": "Maya", **there})
            assert "agree on: parcel ('lost')" in told.messages[0].content.text
            told = await client.get_prompt("brief", {"talking_to": "Billing"})
            assert "agree on: parcel ('packed')" in told.messages[0].content.text
            typed = {"name": "talking_to", "value": ""}
            brief = PromptReference(name="brief")
            assert (await client.complete(brief, typed)).completion.values == ["Billing"]
            assert (await client.complete(brief, typed, there)).completion.values == ["Maya"]
            typed = {"name": "scenario", "value": ""}
            assert (await client.complete(brief, typed)).completion.values == [*view.scenarios]

    anyio.run(main)


def test_with_one_scenario_there_is_nothing_to_choose(memory: Memory) -> None:
    view = view_of("Shipping", memory.scenario, memory.store)

    async def main() -> None:
        async with Client(build_server(view)) as client:
            for tool in (await client.list_tools()).tools:
                assert "scenario" not in tool.input_schema["properties"]
            result = await client.call_tool("my_beliefs", {"scenario": memory.scenario})
            assert "there is no argument 'scenario'" in result.content[0].text

    anyio.run(main)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"SO_AGENT": "A", "SO_SCENARIOS": '["x", "y"]'}, ("x", "y")),
        ({"SO_AGENT": "A", "SO_SCENARIOS": '["x", "y"]', "SO_SCENARIO": "y"}, ("y", "x")),
        ({"SO_AGENT": "A", "SO_SCENARIO": "y"}, ("y",)),
        ({"SO_AGENT": "A", "SO_SCENARIOS": "x, y"}, "expected a JSON list"),
        ({"SO_AGENT": "A", "SO_SCENARIOS": "[]"}, "expected a JSON list"),
        ({"SO_AGENT": "A", "SO_SCENARIOS": '["x", 5]'}, r"SO_SCENARIOS\[1\]: expected a name"),
        ({"SO_AGENT": "A", "SO_SCENARIOS": '["x"]', "SO_SCENARIO": "z"}, "none of SO_SCENARIOS"),
        ({"SO_SCENARIOS": '["x", "y"]'}, "is for an agent's server"),
    ],
)
def test_the_scenarios_of_a_process_come_from_its_environment(
    env: dict[str, str], expected: tuple[str, ...] | str
) -> None:
    if isinstance(expected, tuple):
        assert from_environment(env).scenarios == expected
        assert from_environment(env).asking(expected[-1]).scenario == expected[-1]
    else:
        with pytest.raises(InvalidInputError, match=expected):
            from_environment(env)


# Taking away ----------------------------------------------------------------------------------


def test_a_live_session_loses_at_once_what_is_revoked_and_ends_with_the_last(
    two: tuple[Memory, Memory],
) -> None:
    first, second = two
    first.grant("Shipping", [first.scenario, second.scenario])
    session = raw(first, "Shipping")
    assert [reads(session, memory, "Shipping") for memory in two] == [True, True]
    assert first.revoke("Shipping", second.scenario) == (second.scenario,)
    assert [reads(session, memory, "Shipping") for memory in two] == [True, False]
    assert first.revoke("Shipping", first.scenario) == (first.scenario,)
    with pytest.raises(redis.exceptions.ConnectionError):
        session.ping()
    assert "Shipping" not in [login.agent for login in first.grants()]
    if isinstance(first.store, EmbeddedStore):
        with pytest.raises(NotGrantedError, match="so-mcp grant Shipping"):
            first.store.agent_login("Shipping")  # its file is gone


@pytest.mark.runs_on("embedded", why="an agent's process finds its login by itself")
def test_a_revoked_agents_running_process_is_told_who_can_let_it_in_again(memory: Memory) -> None:
    memory.set("parcel", "packed", audience=["Shipping"])
    memory.grant("Shipping")
    with view_of("Shipping", memory.scenario, memory.store) as view:
        assert entities(view) == ["parcel"]
        memory.revoke("Shipping")
        with pytest.raises(NotGrantedError, match="so-mcp grant Shipping"):
            view.my_beliefs()
        memory.grant("Shipping")
        assert entities(view) == ["parcel"]


def test_what_was_not_granted_cannot_be_revoked_and_nothing_changes(
    two: tuple[Memory, Memory],
) -> None:
    first, second = two
    first.grant("Shipping")
    with pytest.raises(NotGrantedError, match="Nothing was changed"):
        first.revoke("Shipping", [first.scenario, second.scenario])
    with pytest.raises(NotGrantedError, match="so-mcp grants"):
        first.revoke("Nobody")
    with pytest.raises(NotGrantedError, match="so-mcp grants"):
        first.rotate("Nobody")
    with raw(first, "Shipping") as session:
        assert reads(session, first, "Shipping")


def test_two_who_revoke_at_once_bring_nothing_back(
    new_memory: NewMemory, two: tuple[Memory, Memory], shared_store: Store
) -> None:
    """Each reads what the login has and writes the rest; neither may write what the other took."""
    third = new_memory()
    others = [memory_of(shared_store, memory.scenario) for memory in two]
    for _ in range(15):
        third.grant("Shipping", [*(memory.scenario for memory in two), third.scenario])
        threads = [threading.Thread(target=m.revoke, args=("Shipping", m.scenario)) for m in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [login] = [login for login in third.grants() if login.agent == "Shipping"]
        assert login.scenarios == (third.scenario,)
    for memory in others:
        memory.close()


@pytest.mark.runs_on("embedded", why="who starts a server again is its operator")
def test_logins_and_their_end_outlast_a_restart(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        for name in ("Kept", "Gone"):
            memory.set("e", "v", audience=[name])
            memory.grant(name)
        _, password = memory.store.agent_login("Gone")
        memory.revoke("Gone")
    with Memory(path=store_path) as memory:
        assert [(login.agent, login.lasting) for login in memory.grants()] == [("Kept", True)]
        with view_of("Kept", "support", memory.store) as view:
            assert entities(view) == ["e"]
        memory.grant("Gone")
        assert memory.store.agent_login("Gone")[1] != password


def test_what_no_grant_gives_is_listed_with_a_login(memory: Memory) -> None:
    username = memory.grant("Shipping").username
    memory.database.command("ACL", "SETUSER", username, "~so:*", "+graph.query")
    [login] = [login for login in memory.grants() if login.agent == "Shipping"]
    assert login.beyond == ("~so:*", "+graph.query")
    memory.revoke("Shipping")
    memory.grant("Shipping")
    [login] = [login for login in memory.grants() if login.agent == "Shipping"]
    assert login.beyond == ()


# Passwords ------------------------------------------------------------------------------------


@pytest.mark.runs_on("embedded", why="an agent's process finds its login by itself")
def test_rotating_ends_old_sessions_and_a_running_process_goes_on_by_itself(memory: Memory) -> None:
    memory.set("parcel", "packed", audience=["Shipping"])
    memory.grant("Shipping")
    session, (_, old) = raw(memory, "Shipping"), memory.store.agent_login("Shipping")
    assert reads(session, memory, "Shipping")
    with view_of("Shipping", memory.scenario, memory.store) as view:
        assert entities(view) == ["parcel"]
        granted = memory.rotate("Shipping")
        assert granted.password is None  # it is in the agent's file, and shown nowhere
        assert entities(view) == ["parcel"]
    with pytest.raises(redis.exceptions.ConnectionError):
        session.ping()
    with pytest.raises(redis.exceptions.AuthenticationError):
        raw(memory, "Shipping", old).ping()
    assert stat.S_IMODE(next((memory.store.path / "agents").iterdir()).stat().st_mode) == 0o600


@pytest.fixture
def server(address: ServerAddress) -> Iterator[Memory]:
    """A memory on a server, where Shipping knows something."""
    with Memory("desk", host=address.host, port=address.port, password=address.password) as memory:
        memory.set("parcel", "packed", audience=["Shipping"])
        yield memory
        for login in memory.grants():
            memory.revoke(login.agent)


def sees(memory: Memory, password: str | None) -> list[str]:
    assert isinstance(memory.store, ServerAddress)
    own = ServerAddress(memory.store.host, memory.store.port, None, password)
    with AgentView("Shipping", "desk", own) as view:
        return entities(view)


def test_on_a_server_a_rotated_password_is_shown_and_the_old_one_is_no_good(server: Memory) -> None:
    first, second = server.grant("Shipping"), server.grant("Shipping")
    assert first.password != second.password  # random; both are good
    assert sees(server, first.password) == sees(server, second.password) == ["parcel"]
    session = raw(server, "Shipping", first.password)
    assert reads(session, server, "Shipping")
    third = server.rotate("Shipping")
    assert (third.scenarios, third.lasting) == (("desk",), False)
    with pytest.raises(redis.exceptions.ConnectionError):
        session.ping()
    for old in (first.password, second.password):
        with pytest.raises(AccessError, match="WRONGPASS"):
            sees(server, old)
    assert sees(server, third.password) == ["parcel"]


def test_a_password_that_follows_from_a_secret_is_the_same_until_it_is_rotated_or_revoked(
    server: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SO_ACL_SECRET", SECRET)
    first = server.grant("Shipping")
    assert first.password == server.grant("Shipping").password
    count = int(server.database.command("HGET", "so:logins", first.username))
    message = f"so-mcp login\0Shipping\0{count}".encode()
    assert first.password == hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()
    passwords = [first.password, server.rotate("Shipping").password]
    server.revoke("Shipping")
    passwords.append(server.grant("Shipping").password)
    assert len(set(passwords)) == 3
    assert sees(server, passwords[2]) == ["parcel"]
    for old in passwords[:2]:
        with pytest.raises(AccessError, match="WRONGPASS"):
            sees(server, old)
    assert server.grant("shipping").password != passwords[2]
    monkeypatch.setenv("SO_ACL_SECRET", SECRET[::-1])
    assert server.grant("Shipping").password != passwords[2]


def test_a_secret_that_could_be_guessed_is_refused_before_anything_changes(
    server: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SO_ACL_SECRET", "password")
    with pytest.raises(InvalidInputError, match="SO_ACL_SECRET: expected at least 32 characters"):
        server.grant("Shipping")
    assert server.grants() == []


# The command line -----------------------------------------------------------------------------


@pytest.fixture
def desk(own_store: Store) -> Iterator[dict[str, str]]:
    """The environment of a store with two tickets."""
    with memory_of(own_store, "ticket-1") as first, memory_of(own_store, "ticket-2") as second:
        first.set("parcel", "packed", audience=["Shipping", "Mary Ann"])
        second.set("parcel", "lost", audience=["Shipping", "*"])
        yield environment(own_store)


def test_what_grant_prints_for_several_scenarios_starts_a_server_for_all_of_them(
    desk: dict[str, str],
) -> None:
    done = so_mcp("grant", "Shipping", "--scenario", "ticket-1", "--scenario", "ticket-2", **desk)
    assert done.stdout.startswith(
        "Shipping can now read its own mind in scenarios 'ticket-1' and 'ticket-2', and nothing else."
    )
    _, (desktop, _) = blocks(done.stdout)
    [entry] = desktop["mcpServers"].values()
    assert json.loads(entry["env"]["SO_SCENARIOS"]) == ["ticket-1", "ticket-2"]
    assert "- parcel: 'packed'" in asked([entry["command"]], entry["env"])
    for words, value in ((["scenario=ticket-2"], "lost"), (["--scenario", "ticket-2"], "lost"), ([], "packed")):
        done = so_mcp("call", "my_beliefs", *words, **entry["env"])
        assert json.loads(done.stdout)["beliefs"][0]["value"] == value
    for other in ("ticket-3", "nothing"):
        done = so_mcp("call", "my_beliefs", f"scenario={other}", **entry["env"])
        assert done.returncode == 1
        assert "expected 'ticket-1' or 'ticket-2'" in done.stderr


def test_all_agents_are_granted_at_once_with_a_file_each_that_starts_as_it_is(
    desk: dict[str, str], tmp_path: Path
) -> None:
    done = so_mcp(
        "grant", "--all", "--scenario", "ticket-1", "--scenario", "ticket-2",
        "--write", str(tmp_path / "made"), **desk,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n3 agents granted.\n")
    files = sorted((tmp_path / "made").iterdir())
    assert [file.name.rpartition("-")[0] for file in files] == ["agent", "mary-ann", "shipping"]
    for file in files:
        assert str(file) in done.stdout
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        [entry] = json.loads(file.read_text("utf-8"))["mcpServers"].values()
        assert "- parcel: '" in asked([entry["command"]], entry["env"])
    listing = json.loads(so_mcp("grants", "--json", **desk).stdout)
    assert [(login["agent"], login["scenarios"], login["lasting"]) for login in listing] == [
        ("*", ["ticket-2"], True), ("Mary Ann", ["ticket-1"], True),
        ("Shipping", ["ticket-1", "ticket-2"], True),
    ]
    done = so_mcp("revoke", "Shipping", "--scenario", "ticket-1", **desk)
    assert done.stdout == (
        "Shipping can no longer read its mind in 'ticket-1'. It still can in 'ticket-2'.\n"
    )
    assert so_mcp("revoke", "*", **desk).stdout.endswith("It has no login any more.\n")
    assert so_mcp("rotate", "Mary Ann", **desk).stdout.startswith("Mary Ann has another password.")
    assert so_mcp("grants", **desk).stdout.splitlines() == [
        "agent     lasts  scenarios", "Mary Ann  yes    ticket-1", "Shipping  yes    ticket-2",
    ]


def test_no_agents_name_makes_two_registration_files_one_or_one_elsewhere(tmp_path: Path) -> None:
    config = Config("desk", None, ServerAddress("db.example"), Path("/x"))
    names = [*NAMES, "é" * 200, "x" * 200, "/etc/passwd", "con", "."]
    files = [
        write_registration(Grant(name, "desk", "user", "hunter2"), config, tmp_path) for name in names
    ]
    assert len({str(file).casefold() for file in files}) == len(names)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    for file in files:
        assert file.name.isascii()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        [entry] = json.loads(file.read_text("utf-8"))["mcpServers"].values()
        assert entry["env"]["FALKORDB_PASSWORD"] == "hunter2"


def test_a_grant_names_one_agent_or_all_of_them(desk: dict[str, str]) -> None:
    for words in ((), ("Shipping", "--all")):
        done = so_mcp("grant", *words, **desk)
        assert (done.returncode, done.stdout) == (1, "")
        assert "name one agent, or give --all" in done.stderr
    done = so_mcp("grant", "--all", "--scenario", "empty", **desk)
    assert "no event has named an agent in empty" in done.stderr
    for command in (("revoke", "Shipping"), ("rotate", "Shipping"), ("grants",)):
        done = so_mcp(*command, **desk, SO_AGENT="Shipping")
        assert "SO_AGENT is set" in done.stderr


def test_the_secret_is_in_no_registration(
    server: Memory, address: ServerAddress, tmp_path: Path
) -> None:
    env = {
        "FALKORDB_HOST": address.host, "FALKORDB_PORT": str(address.port),
        "FALKORDB_PASSWORD": str(address.password), "SO_ACL_SECRET": SECRET,
    }
    done = so_mcp("grant", "Shipping", "--scenario", "desk", **env)
    again = so_mcp("grant", "Shipping", "--scenario", "desk", "--write", str(tmp_path), **env)
    [file] = tmp_path.iterdir()
    _, (desktop, _) = blocks(done.stdout)
    assert json.loads(file.read_text("utf-8")) == desktop
    assert "granting again shows the same" in done.stdout
    assert desktop["mcpServers"]["shipping"]["env"]["FALKORDB_PASSWORD"] not in again.stdout
    for text in (done.stdout, again.stdout, file.read_text("utf-8")):
        assert SECRET not in text
        assert str(address.password) not in text
    rotated = so_mcp("rotate", "Shipping", **env)
    _, (after, _) = blocks(rotated.stdout)
    assert after != desktop
    assert sees(server, after["mcpServers"]["shipping"]["env"]["FALKORDB_PASSWORD"]) == ["parcel"]


@pytest.mark.runs_on("embedded", why="who leaves a server stops nothing")
def test_an_agents_store_object_is_its_own(store_path: Path) -> None:
    """Leaving it stops nothing of ours."""
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["A"])
        memory.grant("A")
        with AgentView("A", "support", EmbeddedStore(store_path)) as view:
            assert entities(view) == ["e"]
        assert memory.believes("A", "e") == "v"
