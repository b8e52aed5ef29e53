"""A server with a replica: agents may read there; a supervisor writes at the primary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
import redis

from eval.servers import (
    CLUSTERED,
    HOST,
    Node,
    agrees,
    cluster,
    memory_of,
    node,
    owner,
    replica,
    until,
)
from so_mcp import AgentView, Memory
from so_mcp.config import ServerAddress
from so_mcp.errors import AccessError, StoreError
from so_mcp.names import database_user, mind_key, world_key


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


@pytest.fixture(scope="module")
def with_a_follower() -> Iterator[tuple[list[Node], Node, Node]]:
    """A cluster, one of its nodes, and a replica of that one."""
    with cluster() as nodes, node(*CLUSTERED) as follower:
        held = nodes[1]
        follower.client.execute_command("CLUSTER MEET", HOST, nodes[0].port)
        name = held.client.execute_command("CLUSTER MYID")
        until(lambda: follows(follower, name))
        until(lambda: follower.client.info("replication").get("master_link_status") == "up")
        until(lambda: all(
            f"{HOST}:{follower.port}" in one.client.execute_command("CLUSTER NODES") for one in nodes
        ))
        yield nodes, held, follower


def test_in_a_cluster_a_replica_answers_an_agent_itself_and_takes_over_when_its_primary_is_gone(
    with_a_follower: tuple[list[Node], Node, Node]
) -> None:
    nodes, held, follower = with_a_follower
    scenario = next(name for name in (f"desk-{number}" for number in count())
                    if owner(nodes, world_key(name)) is held)
    with memory_of(nodes[0].address, scenario) as memory:
        memory.set("parcel", "packed", audience=["Shipping"])
        granted = memory.grant("Shipping")
        assert held.client.wait(1, 10_000) == 1
        own = replace(follower.address, password=granted.password)
        with AgentView("Shipping", scenario, own) as view:
            asked = [reads(held), reads(follower)]
            assert [found.value for found in view.my_beliefs()] == ["packed"]
            assert [reads(held), reads(follower)] == [asked[0], asked[1] + 1]

        held.stop()
        until(lambda: follower.client.execute_command("ROLE")[0] == "master")
        until(lambda: agrees(nodes[0]))
        assert memory.believes("Shipping", "parcel") == "packed"
        memory.set("parcel", "sent", audience=["Shipping"])
        assert memory.verify() == []
        with AgentView("Shipping", scenario, replace(own, port=nodes[0].port)) as view:
            assert [found.value for found in view.my_beliefs()] == ["sent"]


def follows(follower: Node, name: str) -> bool:
    """Have it follow a node; it has to have heard of that one first."""
    with suppress(redis.ResponseError):
        follower.client.execute_command("CLUSTER REPLICATE", name)
        return True
    return False


def reads(of: Node) -> int:
    """How many queries of agents and supervisors a node has answered."""
    return of.client.info("commandstats").get("cmdstat_graph.RO_QUERY", {}).get("calls", 0)
