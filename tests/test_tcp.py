"""A FalkorDB server over TCP, with a password: what works embedded works there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.servers import PASSWORD, node
from so_mcp import AgentView, Memory
from so_mcp.config import Config, ServerAddress
from so_mcp.doctor import PROBLEM, examine
from so_mcp.errors import AccessError, StoreError
from so_mcp.names import mind_key


@pytest.fixture(scope="module")
def address() -> Iterator[ServerAddress]:
    """A server as one starts it without much thought: with a password, and no file of users."""
    with node('aclfile ""', f'requirepass "{PASSWORD}"') as made:
        yield made.address


@pytest.fixture
def memory(address: ServerAddress) -> Iterator[Memory]:
    """A memory on that server."""
    with Memory("desk", host=address.host, port=address.port, password=address.password) as made:
        yield made


def test_a_memory_on_a_server_is_as_on_the_embedded_database(memory: Memory) -> None:
    memory.join(["Maya", "Billing"], "chat")
    memory.say("Billing", "refund", "approved", room="chat")
    memory.leave("Maya")
    memory.set("refund", "rejected", room="chat", by="Finance")
    assert memory.believes(["Billing", "Maya"], "refund") == "approved"
    assert [wrong.chain for wrong in memory.false_beliefs(1)] == [("Maya",)]
    assert memory.verify() == []


def test_an_agents_login_reads_its_own_mind_there_and_nothing_else(
    memory: Memory, address: ServerAddress
) -> None:
    memory.set("plan", "secret", audience=["Escalation"])
    memory.set("parcel", "packed", audience=["Shipping"])
    granted = memory.grant("Shipping")
    assert granted.password is not None
    assert not granted.lasting  # this server has no aclfile, and says so
    # What the environment says of a user is the supervisor's; an agent's follows from its name.
    own = ServerAddress(address.host, address.port, "default", granted.password)
    with AgentView("Shipping", "desk", own) as view:
        assert [belief.entity for belief in view.my_beliefs()] == ["parcel"]
        with pytest.raises(AccessError, match="NOPERM"):
            view.database.read(mind_key("desk", "Escalation"), "mind/contents")


def test_the_supervisors_password_does_not_let_an_agents_process_in(
    memory: Memory, address: ServerAddress
) -> None:
    memory.grant("Shipping")
    with (
        AgentView("Shipping", "desk", address) as view,
        pytest.raises(AccessError, match="WRONGPASS"),
    ):
        view.my_beliefs()


def test_a_grant_is_refused_where_anybody_could_become_the_default_user(
    memory: Memory, address: ServerAddress
) -> None:
    memory.database.command("ACL", "SETUSER", "default", "nopass")
    try:
        with pytest.raises(AccessError, match="ACL SETUSER default resetpass"):
            memory.grant("Shipping")
    finally:
        memory.database.command("ACL", "SETUSER", "default", "resetpass", f">{address.password}")


def test_a_wrong_password_and_a_wrong_port_say_what_to_check(address: ServerAddress) -> None:
    with (
        Memory("desk", host=address.host, port=address.port, password="wrong") as memory,
        pytest.raises(AccessError, match="check FALKORDB_USERNAME and FALKORDB_PASSWORD"),
    ):
        memory.believes("Maya", "refund")
    with (
        Memory("desk", host=address.host, port=1) as memory,
        pytest.raises(StoreError, match="check FALKORDB_HOST and FALKORDB_PORT"),
    ):
        memory.believes("Maya", "refund")


def test_a_server_that_cuts_answers_is_refused_before_anything_is_read(
    memory: Memory, address: ServerAddress
) -> None:
    memory.set("e", "v", by="Ann")
    memory.database.command("GRAPH.CONFIG", "SET", "RESULTSET_SIZE", "5")
    try:
        with (
            Memory("desk", host=address.host, port=address.port, password=address.password) as other,
            pytest.raises(StoreError, match=r"after 5 rows.*GRAPH\.CONFIG SET RESULTSET_SIZE -1"),
        ):
            other.set("e", "w", by="Ann")
        config = Config("desk", None, address, Path())
        assert "answers" in [check.what for check in examine(config) if check.verdict == PROBLEM]
    finally:
        memory.database.command("GRAPH.CONFIG", "SET", "RESULTSET_SIZE", "-1")
    assert memory.believes("Ann", "e") == "v"
