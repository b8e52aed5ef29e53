"""An agent's login reads its own mind and nothing else, by tool or by raw connection."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from stores import bare_socket, client, credentials, view_of

from so_mcp import AgentView, Memory
from so_mcp.errors import AccessError, NotGrantedError, SecondOrderError
from so_mcp.names import counters_key, mind_key, name_digest, world_key

SECRET = "Escalation's secret plan"


@pytest.fixture
def story(memory: Memory) -> Memory:
    """Two agents who witnessed different things; Shipping has a login."""
    memory.set("parcel", "packed", audience=["Shipping", "Billing"])
    memory.set("plan", SECRET, audience=["Escalation"])
    memory.grant("Shipping")
    return memory


@pytest.fixture
def view(story: Memory) -> Iterator[AgentView]:
    """Shipping's own view, with Shipping's login."""
    with view_of("Shipping", story.scenario, story.store) as made:
        yield made


@pytest.fixture
def attacker(story: Memory) -> Iterator[redis.Redis]:
    """A raw connection with Shipping's login."""
    with client(
        story.store, *credentials("Shipping", story.store),
        holding=mind_key(story.scenario, "Shipping"),
        decode_responses=True, single_connection_client=True,
    ) as made:
        yield made


def refused(attacker: redis.Redis, *command: Any) -> str:
    with pytest.raises(redis.exceptions.NoPermissionError) as caught:
        attacker.execute_command(*command)
    return str(caught.value)


def test_an_agent_reads_its_own_mind(view: AgentView) -> None:
    [held] = view.my_beliefs()
    assert (held.entity, held.value, held.witnesses) == ("parcel", "packed", ("Billing", "Shipping"))
    assert [b.value for b in view.what_does_person_believe("Billing")] == ["packed"]
    nested = view.nested_belief(["Billing", "Shipping"], "parcel")
    assert nested is not None
    assert nested.value == "packed"
    assert view.context_for("Billing") == "- You and Billing agree on: parcel ('packed')."


def test_another_mind_the_world_a_write_and_keys_are_refused(
    story: Memory, attacker: redis.Redis
) -> None:
    own = mind_key(story.scenario, "Shipping")
    other = mind_key(story.scenario, "Escalation")
    assert attacker.execute_command("GRAPH.RO_QUERY", own, "MATCH (b:Belief) RETURN b.value")[1]
    nowhere = mind_key(story.scenario, "Nobody")
    answers = {
        refused(attacker, "GRAPH.RO_QUERY", key, "MATCH (n) RETURN n")
        for key in (other, world_key(story.scenario), counters_key(story.scenario), nowhere)
    }
    assert len(answers) == 1  # hidden and absent answer alike
    for command in (
        ("GRAPH.QUERY", own, "CREATE (:Belief {entity: 'x'})"),
        ("GRAPH.DELETE", own), ("GRAPH.LIST",), ("GRAPH.COPY", own, f"{own}2"),
        ("KEYS", "*"), ("SCAN", "0"), ("DUMP", own), ("CONFIG", "GET", "*"), ("ACL", "LIST"),
        ("INFO", "keyspace"), ("INFO", "server"), ("INFO", "server", "everything"), ("SAVE",), ("SHUTDOWN",), ("EVAL", "return 1", "0"),
    ):
        refused(attacker, *command)
    with pytest.raises(redis.exceptions.ResponseError, match=r"graph\.RO_QUERY is to be executed"):
        attacker.execute_command("GRAPH.RO_QUERY", own, "CREATE (:Belief {entity: 'x'})")


def test_reset_gains_nothing(story: Memory) -> None:
    """On a bare socket: client libraries log in again behind one's back."""
    username, password = credentials("Shipping", story.store)
    with bare_socket(story.store, holding=mind_key(story.scenario, "Shipping")) as bare:
        def send(*words: str) -> bytes:
            bare.sendall(" ".join(words).encode() + b"\r\n")
            return bare.recv(4096)

        assert send("AUTH", username, password) == b"+OK\r\n"
        assert send("PING") == b"+PONG\r\n"
        assert send("RESET") == b"+RESET\r\n"
        own = mind_key(story.scenario, "Shipping")
        for command in (
            ("PING",), ("ACL", "WHOAMI"), ("GRAPH.LIST",), ("GRAPH.RO_QUERY", own, "RETURN(1)")
        ):
            assert send(*command).startswith(b"-NOAUTH")
        assert send("AUTH", "default", "x").startswith(b"-WRONGPASS")
        assert send("HELLO", "3").startswith(b"-NOAUTH")
    assert story.believes("Escalation", "plan") == SECRET


def test_names_that_are_patterns_match_nothing_but_themselves(memory: Memory) -> None:
    memory.set("plan", SECRET, audience=["Escalation"])
    for name in ("*", "E*", "[E]scalation", "Escalatio?"):
        memory.set("own", "v", audience=[name])
        memory.grant(name)
        with view_of(name, memory.scenario, memory.store) as view:
            assert [b.entity for b in view.my_beliefs()] == ["own"]
            with pytest.raises(AccessError):
                view.database.read(mind_key(memory.scenario, "Escalation"), "mind/contents")


def test_a_login_is_for_the_scenarios_it_was_granted(story: Memory) -> None:
    with (
        view_of("Shipping", "another scenario", story.store) as view,
        pytest.raises(AccessError, match="No permissions to access a key"),
    ):
        view.my_beliefs()


@pytest.mark.runs_on("embedded", why="an agent's process finds its login by itself")
def test_an_agent_without_a_login_is_told_who_can_make_one(story: Memory) -> None:
    with (
        view_of("Unlisted", story.scenario, story.store) as view,
        pytest.raises(NotGrantedError, match="so-mcp grant Unlisted"),
    ):
        view.my_beliefs()


@pytest.mark.runs_on("embedded", why="an agent's process finds its login by itself")
def test_an_agent_never_falls_back_to_the_supervisors_login(
    story: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("the supervisor's login was opened")

    monkeypatch.setattr("so_mcp.embedded.EmbeddedStore.supervisor_login", forbidden)
    with view_of("Shipping", story.scenario, story.store) as view:
        assert view.my_beliefs()
    with view_of("Unlisted", story.scenario, story.store) as view, pytest.raises(SecondOrderError):
        view.my_beliefs()


@pytest.mark.runs_on("embedded", why="a login that is a private file of the store")
def test_an_agent_process_opens_no_file_of_the_supervisor(store_path: Path) -> None:
    """Not even when it is the one that starts the database, and the one that stops it."""
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["Shipping", "Billing"])
        memory.grant_all()
    program = """
import json, sys
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
from pathlib import Path
from so_mcp import AgentView
from so_mcp.embedded import EmbeddedStore, is_answering
store = EmbeddedStore(Path(sys.argv[1]))
life = [is_answering(store.socket_path)]
with AgentView("Shipping", "support", store) as view:
    assert view.my_beliefs()[0].value == "v"
    life.append(is_answering(store.socket_path))
life.append(is_answering(store.socket_path))
print(json.dumps([life, opened]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(store_path)], capture_output=True, text=True, check=True
    )
    life, opened = json.loads(done.stdout)
    assert life == [False, True, False]
    assert [name for name in opened if "supervisor" in name.rpartition("/")[2]] == []
    agents = str(store_path / "agents")
    assert [name for name in opened if name.startswith(agents)] == [
        f"{agents}/{name_digest('Shipping')}.json"
    ]


def test_agent_commands_are_reads_of_its_own_mind_alone(view: AgentView) -> None:
    sent: list[tuple[str, ...]] = []
    view.database.observers.append(sent.extend)
    view.my_beliefs()
    view.what_does_person_believe("Billing", "parcel")
    view.nested_belief("Billing", "parcel")
    view.who_is_misinformed()
    view.context_for("Billing")
    assert {command[:2] for command in sent} == {
        ("GRAPH.RO_QUERY", mind_key(view.scenario, "Shipping"))
    }
