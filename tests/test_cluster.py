"""Three nodes as a cluster: where a scenario lies, logins on every node, and a node that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import redis

from eval.servers import Node, cluster, memory_of, owner, until
from so_mcp import AgentView
from so_mcp.config import Config, ServerAddress
from so_mcp.doctor import PROBLEM, examine
from so_mcp.errors import AccessError, NotGrantedError, PartlyDoneError, StoreError
from so_mcp.names import database_user, mind_key, world_key

_numbers = count()


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Node]]:
    """A cluster for this module; each test has scenarios and agents of its own."""
    with cluster() as made:
        yield made


def scenario_on(nodes: list[Node], at: Node) -> str:
    """A name that nobody used, of a scenario that this node holds."""
    while True:
        name = f"desk-{next(_numbers)}"
        if owner(nodes, world_key(name)) is at:
            return name


def users(node: Node) -> set[str]:
    return {user for user in node.client.acl_users() if user.startswith("so-agent-")}


def as_agent(agent: str, scenario: str | list[str], at: Node, password: str | None) -> AgentView:
    return AgentView(agent, scenario, ServerAddress(at.address.host, at.port, None, password))


def test_a_scenario_lies_whole_on_one_node_whichever_is_asked(nodes: list[Node]) -> None:
    for asked in nodes:
        for held in nodes:
            with memory_of(asked.address, scenario_on(nodes, held)) as memory:
                memory.join(["Maya", "Billing"], "chat")
                memory.say("Billing", "refund", "approved", room="chat")
                memory.leave("Maya")
                memory.set("refund", "rejected", room="chat", by="Finance")
                assert memory.believes(["Billing", "Maya"], "refund") == "approved"
                assert [wrong.chain for wrong in memory.false_beliefs(1)] == [("Maya",)]
                assert memory.what_if([{"kind": "announce", "speaker": "Lead", "entity": "refund",
                                        "value": "rejected"}]).changes
                memory.rename("Maya", "Maia")
                assert memory.verify() == []
                for node in nodes:
                    graphs = [key for key in node.client.execute_command("GRAPH.LIST")
                              if f"{{{memory.scenario}}}" in key]
                    assert bool(graphs) == (node is held)
                    assert not any("fork" in key for key in graphs)
                assert memory.reset_scenario(memory.scenario).events == 4
                assert memory.scenario not in [stored.name for stored in memory.scenarios()]


def test_every_scenario_is_listed_with_what_is_in_it(nodes: list[Node]) -> None:
    names = [scenario_on(nodes, node) for node in nodes]
    for number, name in enumerate(names, 1):
        with memory_of(nodes[0].address, name) as memory:
            for value in range(number):
                memory.set("e", str(value), by="Ann")
    with memory_of(nodes[1].address, "elsewhere") as memory:
        found = {stored.name: stored.events for stored in memory.scenarios()}
    assert [found[name] for name in names] == [1, 2, 3]


def test_an_agent_may_ask_any_node_and_reads_its_own_mind_alone(nodes: list[Node]) -> None:
    scenario = scenario_on(nodes, nodes[2])
    with memory_of(nodes[0].address, scenario) as memory:
        memory.set("parcel", "packed", audience=["Shipping"])
        memory.set("plan", "secret", audience=["Escalation"])
        granted = memory.grant("Shipping")
        assert granted.lasting
    for node in nodes:
        assert database_user("Shipping") in users(node)
        with as_agent("Shipping", scenario, node, granted.password) as view:
            assert [held.value for held in view.my_beliefs()] == ["packed"]
            with pytest.raises(AccessError, match="NOPERM"):
                view.database.read(mind_key(scenario, "Escalation"), "mind/contents")


def test_one_login_reads_scenarios_of_several_nodes(nodes: list[Node]) -> None:
    names = [scenario_on(nodes, node) for node in nodes]
    for name in names:
        with memory_of(nodes[0].address, name) as memory:
            memory.set("parcel", f"packed in {name}", audience=["Courier"])
    with memory_of(nodes[0].address, names[0]) as memory:
        granted = memory.grant("Courier", names)
        [login] = [login for login in memory.grants() if login.agent == "Courier"]
        assert sorted(login.scenarios) == sorted(names)
        assert login.everywhere
        assert not login.beyond
    with as_agent("Courier", names, nodes[1], granted.password) as view:
        for name in names:
            assert [held.value for held in view.within(name).my_beliefs()] == [f"packed in {name}"]


def test_what_is_revoked_or_rotated_is_so_on_every_node(nodes: list[Node]) -> None:
    scenario = scenario_on(nodes, nodes[1])
    with memory_of(nodes[0].address, scenario) as memory:
        memory.set("parcel", "packed", audience=["Dock"])
        first = memory.grant("Dock")
        sessions = [
            redis.Redis(port=node.port, username=first.username, password=first.password,
                        single_connection_client=True)
            for node in nodes
        ]
        for session in sessions:
            assert session.ping()
        second = memory.rotate("Dock")
        for node, session in zip(nodes, sessions, strict=True):
            assert session.connection is not None
            session.connection.send_command("PING", check_health=False)
            with pytest.raises(redis.ConnectionError):
                session.connection.read_response()
            session.close()
            with pytest.raises(AccessError, match="WRONGPASS"):
                as_agent("Dock", scenario, node, first.password).my_beliefs()
            with as_agent("Dock", scenario, node, second.password) as view:
                assert view.my_beliefs()
        memory.revoke("Dock")
        assert not any(database_user("Dock") in users(node) for node in nodes)
        with pytest.raises(NotGrantedError):
            memory.revoke("Dock")


def test_a_login_that_one_node_lacks_is_shown_and_granting_again_mends_it(nodes: list[Node]) -> None:
    scenario = scenario_on(nodes, nodes[0])
    with memory_of(nodes[0].address, scenario) as memory:
        memory.set("parcel", "packed", audience=["Yard"])
        memory.grant("Yard")
        for node in nodes:
            node.client.acl_deluser(database_user("Yard"))
            [login] = [login for login in memory.grants() if login.agent == "Yard"]
            assert not login.everywhere
            config = Config(scenario, None, nodes[0].address, None)  # type: ignore[arg-type]
            [check] = [check for check in examine(config) if check.what == "nodes"]
            assert check.verdict == PROBLEM
            assert "Yard" in check.says
            memory.grant("Yard")
            [login] = [login for login in memory.grants() if login.agent == "Yard"]
            assert login.everywhere
        [check] = [check for check in examine(config) if check.what == "nodes"]
        assert check.verdict == "ok"


def test_a_login_left_on_one_node_alone_can_still_be_revoked(nodes: list[Node]) -> None:
    scenario = scenario_on(nodes, nodes[0])
    with memory_of(nodes[0].address, scenario) as memory:
        memory.set("parcel", "packed", audience=["Gate"])
        memory.grant("Gate")
        deciding = owner(nodes, "so:logins")
        deciding.client.acl_deluser(database_user("Gate"))
        assert memory.revoke("Gate") == (scenario,)
        assert not any(database_user("Gate") in users(node) for node in nodes)


def test_a_grant_is_refused_where_one_nodes_default_user_is_open(nodes: list[Node]) -> None:
    closed = nodes[2].address.password
    for node in nodes:
        node.client.execute_command(f"ACL SETUSER boss on >{closed} ~* &* +@all")
    boss = replace(nodes[0].address, username="boss")
    with memory_of(boss, scenario_on(nodes, nodes[0])) as memory:
        nodes[2].client.execute_command("ACL SETUSER default nopass")
        try:
            with pytest.raises(AccessError, match=rf"127\.0\.0\.1:{nodes[2].port}.*resetpass"):
                memory.grant("Ann")
        finally:
            nodes[2].client.execute_command("ACL SETUSER default", "resetpass", f">{closed}")
        assert not any(database_user("Ann") in users(node) for node in nodes)


def test_with_a_node_down_the_others_answer_and_a_login_says_where_it_is_not() -> None:
    with cluster() as nodes:
        deciding = owner(nodes, "so:logins")
        first, down = (node for node in nodes if node is not deciding)
        # So that what is asked of the others does not fail for what the one that is down held.
        for node in (first, deciding):
            node.client.config_set("cluster-require-full-coverage", "no")
        there, gone = scenario_on(nodes, first), scenario_on(nodes, down)
        with (
            memory_of(first.address, there) as memory, memory_of(first.address, gone) as lost,
            memory_of(down.address, there) as elsewhere,
        ):
            for each in (memory, lost, elsewhere):
                each.set("e", "v", by="Ann")
            granted = memory.grant("Ann")
            down.stop()
            until(lambda: "fail" in first.client.execute_command("CLUSTER NODES")[
                f"127.0.0.1:{down.port}"
            ]["flags"])
            assert memory.believes("Ann", "e") == "v"
            memory.set("e", "w", by="Ann")
            assert elsewhere.believes("Ann", "e") == "w"  # its own first node is the one that is down
            with as_agent("Ann", there, first, granted.password) as view:
                assert [held.value for held in view.my_beliefs()] == ["w"]
            with pytest.raises(StoreError):
                lost.believes("Ann", "e")
            with pytest.raises(PartlyDoneError, match=rf"127\.0\.0\.1:{down.port}"):
                memory.revoke("Ann")
            assert database_user("Ann") not in users(first)
            assert database_user("Ann") not in users(deciding)
            for node in (first, deciding):  # nor does it come back when they are started again
                file = node.client.config_get("aclfile")["aclfile"]
                assert database_user("Ann") not in Path(file).read_text("utf-8")
