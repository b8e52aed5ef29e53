"""An attacker with an agent's own login learns nothing: not what is there, not how much, not when.

The attacker itself (`eval/faults/attack.py`) must be able to find something: each test of it that
grants too much, or lets a tool say too much, sees it say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stores import client, credentials
from test_tcp import address as address  # noqa: PLC0414 - a fixture

from eval.faults.attack import Attack, attack
from eval.faults.hidden import Hidden, hide
from so_mcp import AgentView, Memory
from so_mcp.config import ServerAddress
from so_mcp.errors import UnknownNameError
from so_mcp.names import mind_key

NewMemory = Callable[..., Memory]
ODD = ("*", "a?b", "[x]", "Tomás", "Mary Ann", "a:b", "A>B", "{x}", "李雷", "🚚", "shipping")


def attacked(memory: Memory, agent: str, **options: Any) -> Attack:
    return attack(memory, agent, credentials(agent, memory.store)[1], **options)


def happen(memory: Memory) -> None:
    """Something that Shipping knows, and much that it must not."""
    memory.set("parcel", "packed", audience=["Shipping", "Billing"])
    memory.say("Billing", "refund", "approved", audience=["Shipping", *ODD[:1]])
    memory.set("plan of attack", "secret", audience=["Escalation", *ODD])
    memory.tell("Escalation", "Finance", "budget", "cut")


@pytest.fixture
def story(new_memory: NewMemory) -> Memory:
    """Agents with odd names and logins of their own; and a scenario that is not Shipping's."""
    memory, elsewhere = new_memory(), new_memory()
    for login in memory.grants():
        memory.revoke(login.agent)
    happen(memory)
    elsewhere.set("parcel", "elsewhere", audience=["Shipping", "Escalation"])
    memory.grant_all()
    elsewhere.grant("Escalation")
    return memory


def test_an_agent_may_run_the_short_list_and_tells_hidden_from_absent_by_nothing(
    story: Memory,
) -> None:
    found = attacked(story, "Shipping")
    assert found.findings == []
    assert {*found.allowed, "readonly"} == found.expected | {"readonly"} == {
        "graph.ro_query", "client|setinfo", "ping", "auth", "hello", "reset", "quit", "readonly",
    }
    assert ("readonly" in found.allowed) == story.database.in_cluster()
    assert found.commands > 400
    assert found.refused == found.commands - len(found.expected)
    assert found.reads > 150


@pytest.mark.parametrize("agent", ["*", "李雷"])
def test_so_it_is_for_an_agent_whose_name_is_a_pattern_or_not_ascii(
    story: Memory, agent: str
) -> None:
    assert attacked(story, agent).findings == []


def test_so_it_is_on_a_server(address: ServerAddress) -> None:
    where: dict[str, Any] = {
        "host": address.host, "port": address.port, "password": address.password,
    }
    with Memory("attacked", **where) as memory:
        happen(memory)
        hide(memory)
        granted = memory.grant("Shipping")
        assert attack(memory, "Shipping", granted.password).findings == []


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("~so:*", "raw read of 'so:{SCENARIO}:mind:Billing': MATCH (n) RETURN n"),
        ("~so:{SCENARIO}:mind:B*", "raw read of 'so:{SCENARIO}:mind:Billing': RETURN 1"),
        ("+graph.query", "may run graph.query"),
        ("+exists", "may run exists"),
        ("+info|server", "may run info|server"),
        ("+@connection", "may run client|list"),
    ],
)
def test_the_attack_finds_what_a_login_has_too_much(story: Memory, rule: str, found: str) -> None:
    username = story.grant("Shipping").username
    rule = rule.replace("SCENARIO", story.scenario)
    story.database.everywhere(("ACL", "SETUSER", username, rule))
    assert found.replace("SCENARIO", story.scenario) in attacked(story, "Shipping").findings


def test_who_may_send_info_server_counts_what_reached_others(story: Memory) -> None:
    """Why no agent may, and why its client is not the one that sends it."""
    username, password = credentials("Shipping", story.store)
    story.database.everywhere(("ACL", "SETUSER", username, "+info|server"))
    with client(
        story.store, username, password, holding=mind_key(story.scenario, "Shipping")
    ) as attacker:
        def told() -> tuple[int, int]:
            info = attacker.execute_command("INFO", "server", "keyspace", "commandstats")
            return info["db0"]["keys"], info["cmdstat_exec"]["calls"]

        minds, events = told()
        story.set("news", "secret", audience=["A new agent"])
        assert told() == (minds + 1, events + 1)


@pytest.fixture
def leaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Puts something before a method of every agent's view."""

    def leak(method: str, first: Callable[..., Any]) -> None:
        honest = getattr(AgentView, method)

        def leaking(view: AgentView, *args: Any) -> Any:
            first(view, *args)
            return honest(view, *args)

        monkeypatch.setattr(AgentView, method, leaking)

    return leak


def test_the_attack_finds_a_tool_that_knows_more_than_the_mind(
    story: Memory, leaky: Callable[[str, Callable[..., Any]], None]
) -> None:
    def near(_: AgentView, entity: str | None = None) -> None:
        if entity not in story.entities():
            raise UnknownNameError("did you mean another?")

    leaky("my_beliefs", near)
    assert [what.partition(",")[0] for what in attacked(story, "Shipping").findings] == [
        "tool my_beliefs", "prompt correct"
    ]


def test_the_attack_finds_a_tool_that_asks_more_where_something_is_hidden(
    story: Memory, leaky: Callable[[str, Callable[..., Any]], None]
) -> None:
    """What takes the same commands of the same size takes the same time."""

    def again(view: AgentView, person: str, *_: object) -> None:
        if person in story.agents():
            for _ in range(30):
                view.step()

    leaky("explained", lambda view, _, person=None: again(view, person))
    found = attacked(story, "Shipping", calls=200)
    assert {what.partition(",")[0] for what in found.findings} == {"tool explain"}
    assert found.ratio is not None
    assert found.ratio > 1.1


def test_what_is_hidden_takes_as_long_as_what_does_not_exist(story: Memory) -> None:
    assert 0.9 <= Hidden(story, "Shipping", credentials("Shipping", story.store)[1]).ratio(1_000) <= 1.1


def test_there_must_be_something_hidden_to_look_for(memory: Memory) -> None:
    memory.set("parcel", "packed", audience=["Shipping"])
    memory.grant("Shipping")
    with pytest.raises(ValueError, match="no entity hidden from 'Shipping'"):
        attacked(memory, "Shipping")


def test_no_statistic_of_a_mind_counts_what_did_not_reach_it(new_memory: NewMemory) -> None:
    """Property 7 for what the database keeps beside the graph: its sizes, ids and indexes."""
    told = []
    for events in (0, 40):
        memory = new_memory()
        memory.join(["Shipping", "Billing", "Escalation"], "chat")
        memory.set("parcel", "packed", audience=["Shipping", "Billing"], happened_at=1)
        for number in range(events):
            memory.set("plan", str(number), audience=["Escalation", "Billing"], happened_at=2)
            memory.tell("Billing", "Escalation", "parcel", f"lost {number}", happened_at=2)
        memory.set("parcel", "sent", audience=["Shipping", "Billing"], happened_at=3)
        key = mind_key(memory.scenario, "Shipping")
        told.append([
            memory.database.command("GRAPH.RO_QUERY", key, question)[:2]
            for question in (
                "CALL db.meta.stats()", "CALL db.indexes()", "CALL db.propertyKeys()",
                "MATCH (n) RETURN max(id(n)), count(n)", "MATCH ()-[r]->() RETURN max(id(r)), count(r)",
            )
        ])
    assert told[0] == told[1]


def test_an_attack_reports_what_it_did() -> None:
    found = Attack("A", 3, 2, ("ping",), 5, (), 0, None)
    assert found.findings == []
    assert Attack("A", 3, 1, ("ping", "keys"), 5, ("tool x",), 0, None).findings == [
        "may run keys", "tool x"
    ]
