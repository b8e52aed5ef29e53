"""Names: nothing is merged by likeness; aliases, another name for something, and strict mode."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import ENTITIES, logs, settings
from stores import Store, every_key, inherited, memory_of, view_of
from test_embedded import kill_database
from test_memory import commands_of
from test_properties import answers, chains, on_the_real_engine, raw

from so_mcp import Memory
from so_mcp.cypher import catalogue
from so_mcp.errors import (
    ConflictError,
    InvalidEventError,
    InvalidInputError,
    InvalidNameError,
    OutcomeUnknownError,
    UnknownNameError,
)
from so_mcp.names import counters_key, mind_key, world_key
from so_mcp.tools import library, supervisor

NewMemory = Callable[..., Memory]
KINDS = ("agent", "room", "entity")


@pytest.fixture
def support(memory: Memory) -> Memory:
    memory.load_scenario("support")
    return memory


@pytest.fixture
def desk(own_store: Store) -> Iterator[Memory]:
    """The support story in a store of its own, to be killed at will."""
    with memory_of(own_store, "desk") as memory:
        memory.load_scenario("support")
        yield memory


def keys(memory: Memory) -> set[str]:
    return every_key(memory, f"so:{{{memory.scenario}}}:*")


def everything(memory: Memory) -> dict[str, Any]:
    """All that the graphs and counters of a scenario hold, but what is the scenario's own.

    Not which truths and beliefs are off the frontier already: that is kept lazily, and `verify`
    says whether it is right.
    """
    def rows(question: str) -> list[Any]:
        asked = memory.database.command("GRAPH.RO_QUERY", world_key(memory.scenario), question)
        return sorted(asked[1], key=repr)

    flat = memory.database.command("HGETALL", counters_key(memory.scenario))
    counters = dict(zip(flat[::2], flat[1::2], strict=True))
    counters.pop("epoch")
    names = "WHERE NOT (n:Alias OR n:Scenario)"
    assert memory.verify() == []
    return {
        "nodes": rows(f"MATCH (n) {names} RETURN head(labels(n)), properties(n)"),
        "edges": rows(f"MATCH (n)-[r]->(m) {names} RETURN properties(n), type(r), properties(r), "
                      "properties(m)"),
        "settings": rows("MATCH (s:Scenario) RETURN s.policy, s.rooms, s.chapter, s.chapter_at, "
                         "s.chapter_since"),
        "counters": counters,
        "minds": {
            agent: [
                {name: value for name, value in row.items() if name != "active"}
                for row in memory.database.read(mind_key(memory.scenario, agent), "mind/contents")
            ]
            for agent in memory.agents()
        },
    }


# Aliases ----------------------------------------------------------------------------------------


def test_likeness_merges_nothing(memory: Memory) -> None:
    memory.set("e", "v", audience=["Maya"])
    memory.set("E", "w", audience=["maya", "Maya "[:4]])
    assert memory.agents() == ["Maya", "maya"]
    assert (memory.believes("Maya", "e"), memory.believes("Maya", "E")) == ("v", "w")
    with pytest.raises(UnknownNameError):
        memory.believes("MAYA", "e")


def test_events_and_questions_that_use_an_alias_mean_the_canonical_name(support: Memory) -> None:
    memory = support
    agents, entities = memory.agents(), memory.entities()
    memory.alias("maya@shop.example", "Maya")
    memory.alias("refund", "refund_4411")
    memory.alias("desk", "chat")
    assert memory.believes("maya@shop.example", "refund") == "approved"
    assert memory.believes(["Billing", "maya@shop.example", "Billing"], "refund") == "approved"
    own = memory.held(["Maya", "maya@shop.example"], "refund")
    assert own is not None
    assert (own.chain, own.value) == (("Maya",), "approved")
    assert memory.truth("refund") == "rejected"
    assert memory.truth("refund", "2026-03-02T09:30:00Z") == "approved"
    early = memory.held("maya@shop.example", "refund", "2026-03-02T09:20:00Z")
    assert early is not None
    assert (early.chain, early.entity, early.value) == (("Maya",), "refund_4411", "requested")
    assert memory.explain(["Billing", "maya@shop.example"], "refund") == memory.explain(
        ["Billing", "Maya"], "refund_4411"
    )
    assert memory.false_beliefs(entity="refund", agents=["maya@shop.example", "Maya"]) == (
        memory.false_beliefs(entity="refund_4411", agents=["Maya"])
    ) != []
    assert memory.who_knows("refund") == memory.who_knows("refund_4411")
    assert memory.briefing("Escalation", "maya@shop.example") == memory.briefing("Escalation", "Maya")
    assert memory.slip_of_an_entity("refund") is None
    assert supervisor.believes(memory, ["Billing", "maya@shop.example"], "refund").text() == (
        "Billing thinks Maya believes refund_4411 is 'approved' (said by Billing, "
        "2026-03-02T09:21:00Z)."
    )

    record = memory.record([
        {"kind": "say", "speaker": "Escalation", "room": "desk", "entity": "refund",
         "value": "rejected", "text": "maya@shop.example, it was rejected."},
        {"kind": "enter", "agents": ["maya@shop.example", "Maya"], "room": "desk"},
        {"kind": "tell", "speaker": "Billing", "listeners": ["maya@shop.example", "Maya"],
         "entity": "refund", "value": "final"},
        {"kind": "report", "speaker": "maya@shop.example", "about": "Billing", "entity": "refund",
         "value": "final", "listeners": ["Shipping"]},
    ])
    assert [r.witnesses for r in record.events] == [
        ("Escalation", "Maya"), ("Escalation", "Maya"), ("Billing", "Maya"), ("Maya", "Shipping"),
    ]
    assert (record.agents, record.entities, record.rooms) == ([], [], [])
    assert (memory.agents(), memory.entities()) == (agents, entities)
    assert memory.believes("Maya", "refund_4411") == "final"
    assert memory.verify() == []
    logged = str(everything(memory)["nodes"])
    assert "agents: [Maya], room: chat" in logged
    assert "audience: [Maya], everyone: false, entity: refund_4411, value: final" in logged
    assert "[Maya, Maya]" not in logged


def test_what_an_entity_lies_in_may_be_named_by_an_alias_of_a_room_or_a_container(
    new_memory: NewMemory,
) -> None:
    memory = new_memory(rooms="place")
    memory.join("Ann", "kitchen")
    memory.set("tin", "closed", room="kitchen", located_in="kitchen")
    memory.alias("cookhouse", "kitchen")
    memory.alias("box", "tin")
    memory.set("lamp", "lit", room="kitchen", located_in="cookhouse")
    memory.set("cake", "whole", room="kitchen", located_in="box")
    memory.join("Bob", "cookhouse")
    assert (memory.believes("Bob", "lamp"), memory.believes("Bob", "cake")) == ("lit", None)
    assert memory.entities() == ["tin", "lamp", "cake"]
    wrong = {"kind": "state", "entity": "tin", "value": "open", "by": "Ann", "located_in": "box"}
    for batch in ([wrong], [{**wrong, "located_in": "kitchen"}, wrong]):
        with pytest.raises(InvalidEventError, match="'box' means 'tin', the entity itself"):
            memory.record(batch)
    assert memory.truth("tin") == "closed"
    assert memory.verify() == []


def test_an_event_under_an_id_is_the_same_by_any_name_it_is_given(memory: Memory) -> None:
    event = {"kind": "state", "entity": "e", "value": "v", "audience": ["Ann"], "id": "one"}
    memory.record([event])
    memory.alias("a", "Ann")
    memory.rename("e", "f")
    for same in (event, {**event, "audience": ["a"], "entity": "f"}):
        assert [r.again for r in memory.record([same]).events] == [True]
    with pytest.raises(ConflictError, match="another value"):
        memory.record([{**event, "audience": ["a"], "value": "w"}])


def test_an_alias_is_refused_that_names_something_itself_or_means_another(support: Memory) -> None:
    support.alias("M", "Maya")
    before = everything(support)
    for alias, of, kind, error, message in (
        ("Billing", "Maya", None, ConflictError,
         ("alias: 'Billing' is itself the name of an agent, with events of its own, and two are never "
         "made one. Give a name that no event has used.")),
        ("Maya", "Maya", None, ConflictError, "alias: 'Maya' is itself the name of an agent"),
        ("M", "Billing", None, ConflictError,
         "alias: 'M' is already another name for 'Maya', not for 'Billing'. Give another name."),
        ("x", "maya", None, UnknownNameError,
         "name: no agent, room or entity is called 'maya'. Did you mean 'Maya'?"),
        ("x", "chat", "agent", UnknownNameError, "name: no agent is called 'chat'."),
        ("x", "Maya", "person", InvalidInputError,
         "kind: expected agent or room or entity, got 'person'."),
        ("@x", "Maya", None, InvalidNameError, "alias: '@x' begins with '@'"),
        ("", "Maya", None, InvalidNameError, "alias: expected a name that is not empty"),
    ):
        with pytest.raises(error) as refused:
            support.alias(alias, of, kind)
        assert str(refused.value).startswith(message)
    assert support.alias("M", "Maya") == support.alias("M", "M")  # again, and of an alias
    assert [(a.name, a.kind, a.of) for a in support.vocabulary().aliases] == [("M", "agent", "Maya")]
    support.alias("chat", "Maya")  # the name of a room, not of an agent
    assert support.believes("chat", "refund_4411") == "approved"
    assert everything(support) == before


def test_a_name_of_two_kinds_needs_the_kind(memory: Memory) -> None:
    memory.set("lamp", "lit", by="lamp")
    with pytest.raises(InvalidInputError, match="Say which is meant: kind='agent' or kind='entity'"):
        memory.alias("light", "lamp")
    memory.alias("light", "lamp", "entity")
    assert memory.truth("light") == "lit"
    with pytest.raises(UnknownNameError):
        memory.believes("light", "lamp")


def test_an_alias_that_comes_to_nothing_makes_no_scenario(memory: Memory) -> None:
    for call in (lambda: memory.alias("a", "Ann"), lambda: memory.rename("Ann", "a")):
        with pytest.raises(UnknownNameError, match="no agent, room or entity is called 'Ann'"):
            call()
    assert keys(memory) == set()


ALIASER = """
import sys
from so_mcp import Memory
with Memory(sys.argv[1]) as memory:
    getattr(memory, sys.argv[2])(*sys.argv[3:])
"""


def in_another_process(memory: Memory, method: str, *arguments: str) -> None:
    command = [sys.executable, "-c", ALIASER, memory.scenario, method, *arguments]
    subprocess.run(command, env=inherited(memory.store), check=True)


def test_another_process_notices_aliases_renames_and_strict_mode(memory: Memory) -> None:
    """Its copy of the world, kept for writing, is from before."""
    memory.set("e", "v", audience=["Ann", "Bob"])
    in_another_process(memory, "alias", "A.", "Ann")
    memory.set("e", "w", audience=["A."])
    assert memory.agents() == ["Ann", "Bob"]
    in_another_process(memory, "rename", "Ann", "Änn")
    memory.set("e", "x", audience=["A.", "Ann", "Bob"])
    assert memory.agents() == ["Änn", "Bob"]
    assert memory.believes(["Bob", "Änn"], "e") == "x"
    in_another_process(memory, "strict")
    with pytest.raises(InvalidEventError, match="'Cyd' is no known agent"):
        memory.set("e", "y", audience=["Cyd"])
    assert memory.verify() == []


def test_what_it_costs(support: Memory) -> None:
    world, mind = (f"GRAPH.RO_QUERY {key(support.scenario)}" for key in (
        world_key, lambda scenario: mind_key(scenario, "Maya")
    ))
    support.say("Maya", "order_4411", "mended", audience=["Maya", "Billing"])
    with commands_of(support) as canonical:
        support.say("Maya", "order_4411", "broken", audience=["Maya", "Billing"])
    support.alias("M", "Maya")
    support.say("M", "order_4411", "mended", audience=["M", "Billing"])
    with commands_of(support) as aliased:
        support.say("M", "order_4411", "broken", audience=["M", "Billing"])
    assert aliased == canonical
    assert len(aliased) == 2
    with commands_of(support) as trips:
        support.believes(["Maya", "Billing"], "refund_4411")
    assert trips == [[mind]]
    with commands_of(support) as trips:
        support.believes(["M", "Billing"], "refund_4411")
    assert trips == [[f"GRAPH.RO_QUERY {mind_key(support.scenario, 'M')}"], [world, world], [mind]]
    for ask in (support.who_knows, lambda e: support.false_beliefs(1, e)):
        with commands_of(support) as canonical:
            ask("refund_4411")
        support.alias("refund", "refund_4411")
        with commands_of(support) as aliased:
            ask("refund")
        assert canonical == aliased


def test_an_agents_own_mind_holds_canonical_names_alone(support: Memory) -> None:
    support.alias("secret name", "Maya")
    support.grant("Billing")
    support.tell("Billing", "secret name", "refund_4411", "rejected")
    with view_of("Billing", support.scenario, support.store) as view:
        assert view.what_does_person_believe("Maya", "refund_4411")[0].value == "rejected"
        assert view.what_does_person_believe("secret name") == []
        assert view.nested_belief("secret name", "refund_4411") is None
    assert "secret name" not in str([raw(support, agent) for agent in support.agents()])


def test_a_login_is_for_the_name_that_the_mind_is_under(support: Memory) -> None:
    support.alias("M", "Maya")
    assert support.grant("M").agent == "Maya"
    assert support.grant("Nobody").agent == "Nobody"
    with view_of("Maya", support.scenario, support.store) as view:
        assert view.my_beliefs("refund_4411")[0].value == "approved"


def test_a_fork_knows_the_aliases(support: Memory) -> None:
    support.alias("M", "Maya")
    with support.fork() as fork:
        fork.tell("Billing", "M", "refund_4411", "rejected")
        fork.rename("Shipping", "Dispatch")
        assert fork.believes("M", "refund_4411") == "rejected"
        assert fork.verify() == []
        times = [fork.database.command("TTL", key) for key in keys(support) if ":fork:" in key]
        assert len(times) == 7
        assert min(times) > 0
    assert support.believes("M", "refund_4411") == "approved"
    assert not [key for key in keys(support) if ":fork:" in key]


# Renaming ---------------------------------------------------------------------------------------


def called_otherwise(
    log: list[dict[str, Any]], kind: str, old: str, new: str
) -> list[dict[str, Any]]:
    """A log with one name for another, written here once more to be compared with."""
    fields = {
        "agent": ("agents", "speaker", "by", "audience", "listeners", "about"),
        "room": ("room",),
        "entity": ("entity",),
    }[kind]
    rooms: set[str] = set()
    changed = []
    for event in log:
        rooms |= {event["room"]} if "room" in event else set()
        lies_in = "room" if event.get("located_in") in rooms else "entity"
        here = (*fields, "located_in") if lies_in == kind else fields
        changed.append({
            field: _other(value, old, new) if field in here else value
            for field, value in event.items()
        })
    return changed


def _other(value: Any, old: str, new: str) -> Any:
    if isinstance(value, list):
        return [_other(name, old, new) for name in value]
    return new if value == old else value


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_a_renamed_scenario_is_as_if_it_had_been_called_so_from_the_start(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Every node, edge, property, counter; and events that go on with the old name."""
    memory, other = new_memory(**chosen), new_memory(**chosen)
    cut = data.draw(st.integers(1, len(log)))
    record = memory.record(log[:cut])
    known = memory.vocabulary().by_kind()
    assert [record.agents, record.rooms, record.entities] == [list(known[kind]) for kind in KINDS]
    kind, old = data.draw(st.sampled_from([(k, name) for k in KINDS for name in known[k]]))
    new = data.draw(st.sampled_from(["Aaa 🦊", "zzz", "m*"]))
    assert memory.rename(old, new, kind).events == cut
    other.record(called_otherwise(log, kind, old, new)[:cut])
    assert everything(memory) == everything(other)
    assert keys(memory) == {key.replace(other.scenario, memory.scenario) for key in keys(other)}
    memory.record(log[cut:])
    other.record(called_otherwise(log, kind, old, new)[cut:])
    assert everything(memory) == everything(other)
    assert memory.verify() == []
    if kind == "agent":
        asked = [tuple(new if a == old else a for a in chain) for chain in chains(3)]
        assert answers(memory, asked) == answers(other, asked)
    for entity in ENTITIES:
        assert memory.truth(entity) == other.truth(new if (kind, entity) == ("entity", old) else entity)


def test_a_renamed_agent_is_another_name_everywhere_and_the_old_one_means_it(
    support: Memory,
) -> None:
    wrong = len(support.false_beliefs())
    support.alias("M", "Maya")
    support.strict()
    done = support.rename("M", "Maya 🦊 López")
    assert (done.kind, done.name, done.to, done.events) == ("agent", "Maya", "Maya 🦊 López", 32)
    assert support.agents() == ["Billing", "Finance", "Escalation", "Shipping", "Maya 🦊 López"]
    assert mind_key(support.scenario, "Maya") not in keys(support)
    for name in ("M", "Maya", "Maya 🦊 López"):
        assert support.believes(["Billing", name], "refund_4411") == "approved"
    assert len(support.false_beliefs()) == wrong
    told = support.explain("Escalation", "refund_4411").sentence
    assert "Maya" not in told.replace("Maya 🦊 López", "")
    with pytest.raises(InvalidEventError, match="strict"):
        support.set("e", "v", by="Billing")
    assert support.verify() == []
    [[called]] = support.database.command(
        "GRAPH.RO_QUERY", world_key(support.scenario), "MATCH (s:Scenario) RETURN s.name"
    )[1]
    assert called == support.scenario
    assert {key: support.database.command("TTL", key) for key in keys(support)} == dict.fromkeys(
        keys(support), -1
    )
    assert support.rename("Maya", "Maya 🦊 López").events == 32  # done already
    support.rename("Maya 🦊 López", "Maya")  # and back again
    assert {(a.name, a.of) for a in support.vocabulary().aliases} == {
        ("M", "Maya"), ("Maya 🦊 López", "Maya")
    }
    assert support.verify() == []


def test_values_and_words_keep_the_old_name(memory: Memory) -> None:
    memory.set("owner", "box", audience=["Ann", "Bob"], text="Ann has the box.")
    memory.set("box", "closed", by="Ann")
    memory.rename("Ann", "Änn")
    memory.rename("box", "crate")
    assert memory.believes(["Bob", "Änn"], "owner") == "box"
    held = memory.held("Bob", "owner")
    assert held is not None
    assert (held.text, held.witnesses) == ("Ann has the box.", ("Bob", "Änn"))
    assert (memory.truth("crate"), memory.truth("box")) == ("closed", "closed")
    assert memory.verify() == []


def test_a_login_for_the_old_name_leads_nowhere_until_the_new_one_is_granted(support: Memory) -> None:
    support.grant("Maya")
    with view_of("Maya", support.scenario, support.store) as view:
        assert view.my_beliefs() != []
        support.rename("Maya", "Maya L.")
        assert (view.my_beliefs(), view.step()) == ([], 0)
        support.announce("Maya", "order_4411", "mended")  # by the old name
        assert view.my_beliefs() == []
        assert mind_key(support.scenario, "Maya") not in keys(support)
    support.grant("Maya L.")
    with view_of("Maya L.", support.scenario, support.store) as view:
        assert view.my_beliefs("order_4411")[0].value == "mended"


def test_a_name_is_refused_that_another_has_and_nothing_is_changed(support: Memory) -> None:
    support.alias("B", "Billing")
    support.alias("post", "dispatch")
    before, held = keys(support), everything(support)
    for name, to, error, message in (
        ("Maya", "Billing", ConflictError,
         ("to: 'Billing' is itself the name of an agent, with events of its own, and two are never "
         "made one.")),
        ("Maya", "B", ConflictError, "to: 'B' is already another name for 'Billing', not for 'Maya'"),
        ("chat", "refund_4411", ConflictError,
         ("to: 'refund_4411' is the name of an entity, and what lies in it could not be told from what "
         "lies in a room of that name.")),
        ("refund_4411", "chat", ConflictError, "to: 'chat' is the name of a room"),
        ("refund_4411", "post", ConflictError, "to: 'post' is the name of a room"),
        ("chat", "internal", ConflictError, "to: 'internal' is itself the name of a room"),
        ("Mia", "M", UnknownNameError, "name: no agent, room or entity is called 'Mia'"),
        ("Maya", "a\x00b", InvalidNameError, "to: character 2 of"),
    ):
        with pytest.raises(error) as refused:
            support.rename(name, to)
        assert str(refused.value).startswith(message)
    assert (keys(support), everything(support)) == (before, held)


def test_what_others_record_while_a_scenario_is_renamed_is_not_lost(support: Memory) -> None:
    recorded = threading.Event()

    def record(done: int, _total: int, _next: str) -> None:
        """In the middle of it, and once more when nearly all is caught up."""
        if done in (10, 31, 33):
            with memory_of(support.store, support.scenario) as other:
                other.tell("Maya", ["Billing", "Newcomer"], "refund_4411", f"asked at {done}")
                recorded.set()

    support.rename("Maya", "Maya L.", progress=record)
    assert recorded.is_set()
    assert support.step() == 35
    assert support.believes(["Newcomer", "Maya L."], "refund_4411") == "asked at 33"
    assert support.vocabulary().aliases[0].of == "Maya L."
    assert support.verify() == []


def once(done_at: int, change: Callable[[], object]) -> Callable[[int, int, str], None]:
    """What a renaming is given to tell its progress to: when it has come so far, something happens."""
    left = [change]

    def progress(done: int, _total: int, _next: str) -> None:
        if done == done_at and left:
            left.pop()()

    return progress


def test_what_changes_names_meanwhile_is_kept_too(support: Memory) -> None:
    with memory_of(support.store, support.scenario) as other:

        def change() -> None:
            other.alias("M", "Maya")
            other.rename("Billing", "Accounts")
            other.strict()

        support.rename("Maya", "Maya L.", progress=once(20, change))
    assert {(a.name, a.of) for a in support.vocabulary().aliases} == {
        ("M", "Maya L."), ("Maya", "Maya L."), ("Billing", "Accounts")
    }
    assert support.agents() == ["Accounts", "Finance", "Escalation", "Shipping", "Maya L."]
    assert support.vocabulary().strict
    assert support.verify() == []


def test_a_scenario_that_is_cleared_while_it_is_renamed_stays_cleared(support: Memory) -> None:
    with memory_of(support.store, support.scenario) as other:

        def clear() -> None:
            other.reset_scenario(other.scenario)
            other.load_scenario("support")
            other.reset_scenario(other.scenario)

        with pytest.raises(UnknownNameError, match="no agent, room or entity is called 'Maya'"):
            support.rename("Maya", "Maya L.", progress=once(20, clear))
    assert keys(support) == set()


def test_a_copy_that_the_database_lets_go_before_it_is_done_is_made_anew(support: Memory) -> None:
    def expire() -> None:
        for key in keys(support):
            if ":fork:" in key:
                support.database.command("DEL", key)

    support.rename("Maya", "Maya L.", progress=once(20, expire))
    assert support.step() == 32
    assert support.agents() == ["Billing", "Finance", "Escalation", "Shipping", "Maya L."]
    assert support.verify() == []


def test_busy_writers_and_a_renaming_come_to_the_same_end(support: Memory) -> None:
    def write(name: str) -> None:
        with memory_of(support.store, support.scenario) as other:
            for number in range(60):
                other.tell(name, ["Maya"], "refund_4411", f"{name} {number}")

    threads = [threading.Thread(target=write, args=(name,)) for name in ("Billing", "Finance")]
    for thread in threads:
        thread.start()
    for name in ("Maya L.", "Maya Lopez", "Maya"):
        support.rename("Maya", name)
    for thread in threads:
        thread.join()
    assert support.agents() == ["Billing", "Finance", "Escalation", "Shipping", "Maya"]
    assert support.step() == 32 + 120
    assert support.verify() == []
    assert not [key for key in keys(support) if ":fork:" in key]


def test_what_is_recorded_just_as_a_renaming_reads_the_log_is_recorded_once(support: Memory) -> None:
    def tell(commands: list[tuple[str, ...]]) -> None:
        if any(catalogue()["world/events"].text in command[-2] for command in commands if len(command) > 2):
            support.database.observers.remove(tell)
            with memory_of(support.store, support.scenario) as other:
                other.tell("Billing", ["Maya"], "refund_4411", "just now")

    support.database.observers.append(tell)
    support.rename("Maya", "Maya L.")
    assert support.step() == 33
    assert support.verify() == []


def test_a_renaming_can_be_stopped_and_leaves_nothing(support: Memory) -> None:
    before, held = keys(support), everything(support)

    def stop(done: int, total: int, then: str) -> None:
        assert (total, then) == (37, "writing the log")
        if done == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        support.rename("Maya", "Maya L.", progress=stop)
    assert (keys(support), everything(support)) == (before, held)


def test_a_process_killed_while_renaming_leaves_the_old_whole_and_no_copy_for_long(
    desk: Memory,
) -> None:
    program = """
import os
from so_mcp import Memory
with Memory("desk") as memory:
    memory.rename("Maya", "Maya L.", progress=lambda done, *_: done == 20 and os.kill(os.getpid(), 9))
"""
    before, held = keys(desk), everything(desk)
    done = subprocess.run([sys.executable, "-c", program], env=inherited(desk.store), check=False)
    assert done.returncode == -signal.SIGKILL
    left = keys(desk) - before
    assert left
    assert {key for key in left if not 0 < desk.database.command("TTL", key) <= 3600} == set()
    assert everything(desk) == held
    assert desk.verify() == []
    desk.rename("Maya", "Maya L.")
    assert desk.believes("Maya L.", "refund_4411") == "approved"
    assert desk.verify() == []


@pytest.mark.runs_on("embedded", why="a killed server is started again by its operator")
def test_a_database_killed_just_before_the_copy_takes_the_place_leaves_the_old_whole(
    desk: Memory,
) -> None:
    before, held = keys(desk), everything(desk)

    def kill(commands: list[tuple[str, ...]]) -> None:
        if any(command[0] == "RENAME" for command in commands):
            kill_database(desk.store.path)

    desk.database.observers.append(kill)
    with pytest.raises(OutcomeUnknownError):
        desk.rename("Maya", "Maya L.")
    desk.database.observers.remove(kill)
    assert (keys(desk), everything(desk)) == (before, held)
    assert desk.vocabulary().aliases == ()
    assert desk.verify() == []


@pytest.mark.runs_on("embedded", why="a killed server is started again by its operator")
def test_a_database_killed_right_after_a_renaming_comes_back_with_the_new_whole(
    desk: Memory,
) -> None:
    desk.rename("Maya", "Maya L.")
    before, held = keys(desk), everything(desk)
    kill_database(desk.store.path)
    assert (keys(desk), everything(desk)) == (before, held)
    desk.announce("Maya", "order_4411", "mended")
    assert desk.believes(["Billing", "Maya L."], "order_4411") == "mended"
    assert desk.verify() == []


# Strict mode ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("event", "refused"), [
    ({"kind": "enter", "agents": ["Maya", "maya"], "room": "chat"},
     "agents: 'maya' is no known agent, and the vocabulary is strict. Did you mean 'Maya'?"),
    ({"kind": "enter", "agents": ["Maya"], "room": "chatt"},
     "room: 'chatt' is no known room, and the vocabulary is strict. Did you mean 'chat'?"),
    ({"kind": "state", "entity": "refund_4411", "value": "x", "by": "Bill"},
     ("by: 'Bill' is no known agent, and the vocabulary is strict. Known are: 'Billing', 'Finance', "
     "'Escalation', 'Shipping', 'Maya'.")),
    ({"kind": "state", "entity": "refund_441", "value": "x", "audience": ["Maya"]},
     ("entity: 'refund_441' is no known entity, and the vocabulary is strict. Did you mean "
     "'refund_4411'?")),
    ({"kind": "state", "entity": "refund_4411", "value": "x", "audience": ["Maya", "Zed"]},
     "audience: 'Zed' is no known agent"),
    ({"kind": "state", "entity": "refund_4411", "value": "x", "located_in": "drawer"},
     "located_in: 'drawer' is no known entity"),
    ({"kind": "say", "speaker": "Zed", "text": "hello", "audience": ["Maya"]},
     "speaker: 'Zed' is no known agent"),
    ({"kind": "tell", "speaker": "Maya", "listeners": ["Zed"], "entity": "refund_4411", "value": "x"},
     "listeners: 'Zed' is no known agent"),
    ({"kind": "report", "speaker": "Maya", "about": "maya@shap", "listeners": ["Billing"],
      "entity": "refund_4411", "value": "x"},
     "about: 'maya@shap' is no known agent, and the vocabulary is strict. Did you mean 'maya@shop'?"),
])
def test_a_strict_scenario_refuses_names_that_it_does_not_know(
    support: Memory, event: dict[str, Any], refused: str
) -> None:
    support.alias("maya@shop", "Maya")
    support.strict()
    held = everything(support)
    fine = {"kind": "tell", "speaker": "maya@shop", "listeners": ["Billing"], "entity": "refund_4411",
            "value": "approved"}
    for batch, where in (([event], ""), ([fine, fine, event], "events[2].")):
        with pytest.raises(InvalidEventError) as error:
            support.record(batch)
        assert str(error.value).startswith(where + refused)
        assert str(error.value).endswith(
            "Use a known name; or make this an alias of one; or switch strict off (vocabulary "
            "strict=false), record the event, and switch it on again."
        )
    assert everything(support) == held
    support.record([fine])
    support.strict(on=False)
    support.record([event])
    assert support.verify() == []


def test_strict_mode_is_the_scenarios_and_goes_with_it(memory: Memory) -> None:
    memory.strict()
    memory.strict()
    with memory_of(memory.store, memory.scenario) as other:
        with pytest.raises(InvalidEventError, match="Known are: none yet"):
            other.set("e", "v", by="Ann")
        other.strict(on=False)
        assert not memory.vocabulary().strict
        memory.set("e", "v", by="Ann")
        other.strict()
        other.set("e", "w", by="Ann")
    with memory.fork() as fork, pytest.raises(InvalidEventError):
        fork.set("f", "v", by="Ann")
    memory.rename("Ann", "Anna")
    assert memory.vocabulary().strict
    memory.reset_scenario(memory.scenario)
    memory.set("f", "v", by="Ann")
    assert not memory.vocabulary().strict


# The tool ---------------------------------------------------------------------------------------


def test_what_a_model_is_told_of_names(support: Memory) -> None:
    assert library.vocabulary(support).text() == (
        "Agents: Billing, Finance, Escalation, Shipping, Maya.\n"
        "Rooms: standup, internal, chat, dispatch.\n"
        "Entities: order_4411, address_4411, refund_4411, replacement_4411."
    )
    answer = library.vocabulary(support, "Maya", alias="maya@shop.example")
    assert answer.text() == "maya@shop.example now means Maya (agent), in events and questions."
    assert answer.names == {"agent": {"Maya": ["maya@shop.example"]}}
    answer = library.vocabulary(support, "Maya", rename_to="Maya López")
    assert answer.text() == (
        "Maya (agent) is Maya López now, in 32 events and every mind; Maya still means it. Words and "
        "values keep the old name. A login was for the old name: run so-mcp grant 'Maya López', and "
        "start its server with SO_AGENT='Maya López'."
    )
    assert answer.names == {"agent": {"Maya López": ["Maya", "maya@shop.example"]}}
    assert library.vocabulary(support, "chat", rename_to="front desk").text() == (
        "chat (room) is front desk now, in 32 events and every mind; chat still means it. Words and "
        "values keep the old name."
    )
    assert library.vocabulary(support, strict=True).text() == (
        "Strict: events that would make a new agent, room or entity are refused."
    )
    assert library.vocabulary(support).text() == (
        "Strict: events that make a new name are refused.\n"
        "Agents: Billing, Finance, Escalation, Shipping, Maya López (also Maya, maya@shop.example).\n"
        "Rooms: standup, internal, front desk (also chat), dispatch.\n"
        "Entities: order_4411, address_4411, refund_4411, replacement_4411."
    )
    assert library.vocabulary(support, "Refund").text() == (
        "Strict: events that make a new name are refused.\nEntities: refund_4411."
    )
    assert library.vocabulary(support, "shoping", kind="agent").names == {"agent": {"Shipping": []}}
    assert library.vocabulary(support, strict=False).text() == (
        "Not strict: agents, rooms and entities come into being when first named."
    )
    assert library.vocabulary(support, "zebra").text() == "No such names."
    for wrong, message in (
        ({"alias": "x"}, "name: expected what alias or rename_to is for. Give its name."),
        ({"name": "Maya", "alias": "x", "rename_to": "y"}, "alias, rename_to, strict: expected one"),
        ({"strict": True, "alias": "x"}, "alias, rename_to, strict: expected one"),
    ):
        with pytest.raises(InvalidInputError) as refused:
            library.vocabulary(support, **wrong)
        assert str(refused.value).startswith(message)


def test_a_long_list_of_names_is_cut_and_says_how_to_narrow(memory: Memory) -> None:
    memory.join([f"agent {number}" for number in range(120)], "hall")
    answer = library.vocabulary(memory)
    assert answer.cut
    assert answer.text().endswith("At most 100 of each. Narrow with kind, or name for those like it.")
    assert (len(answer.names["agent"]), len(answer.names["room"])) == (100, 1)
    narrow = library.vocabulary(memory, "agent 11", kind="agent")
    assert not narrow.cut
    assert "agent 119" in narrow.names["agent"]
