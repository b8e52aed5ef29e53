"""A server with a replica: agents may read there; a supervisor writes at the primary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eval.servers import Node, memory_of, node, replica
from so_mcp import AgentView, Memory
from so_mcp.config import ServerAddress
from so_mcp.errors import AccessError, StoreError
from so_mcp.names import database_user, mind_key


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Node, Node]]:
    """A primary and its replica."""
    with node() as primary, replica(primary) as follower:
        yield primary, follower


@pytest.fixture
def memory(servers: tuple[Node, Node], request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A supervisor's, at the primary."""
    with memory_of(servers[0].address, request.node.name) as made:
        yield made


def caught_up(servers: tuple[Node, Node]) -> None:
    """Wait until the replica has what was written."""
    assert servers[0].client.wait(1, 10_000) == 1


def test_an_agent_reads_its_mind_from_the_replica_and_nothing_else(
    memory: Memory, servers: tuple[Node, Node]
) -> None:
    memory.set("parcel", "packed", audience=["Shipping"])
    memory.set("plan", "secret", audience=["Escalation"])
    granted = memory.grant("Shipping")
    follower = servers[1].address
    own = ServerAddress(follower.host, follower.port, None, granted.password)
    with AgentView("Shipping", memory.scenario, own) as view:
        caught_up(servers)
        assert [held.value for held in view.my_beliefs()] == ["packed"]
        memory.tell("Billing", ["Shipping"], "parcel", "sent")
        caught_up(servers)
        assert [held.value for held in view.my_beliefs()] == ["sent"]
        with pytest.raises(AccessError, match="NOPERM"):
            view.database.read(mind_key(memory.scenario, "Escalation"), "mind/contents")
        memory.rename("Billing", "Accounts")  # minds made anew, and put in the place of the old ones
        caught_up(servers)
        assert [held.value for held in view.my_beliefs()] == ["sent"]
        memory.revoke("Shipping")
        assert database_user("Shipping") not in servers[1].client.acl_users()


def test_a_supervisor_at_a_replica_is_told_where_to_write(
    memory: Memory, servers: tuple[Node, Node]
) -> None:
    memory.set("parcel", "packed", by="Ann")
    caught_up(servers)
    with memory_of(servers[1].address, memory.scenario) as there:
        assert there.believes("Ann", "parcel") == "packed"
        with pytest.raises(StoreError, match="is a replica"):
            there.set("parcel", "sent", by="Ann")
        assert there.step() == 1
