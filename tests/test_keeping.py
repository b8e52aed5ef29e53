"""Keeping a scenario: checking and mending it, taking it out and back in, forgetting."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import logs, settings
from stores import Store, environment, every_key, memory_of, view_of
from test_order import STORY, state
from test_properties import answers, chains, raw

from so_mcp import Memory, scenarios
from so_mcp.config import ServerAddress
from so_mcp.errors import (
    AccessError,
    ConflictError,
    InvalidInputError,
    NotGrantedError,
    SecondOrderError,
    StoreError,
    UnknownNameError,
)
from so_mcp.names import mind_key, world_key

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# One way to damage each thing that is kept beside the log, of a world or of Bob's mind.
DAMAGES = {
    "a belief changed": ("mind", "MATCH (b:Belief) SET b.value = 'damaged'"),
    "a belief lost": ("mind", "MATCH (b:Belief) WITH b LIMIT 1 DETACH DELETE b"),
    "a belief too many": ("mind", ("CREATE (:Belief:Active {entity: 'ball', value: 'x', step: 1, "
                                  "members: ['Bob'], min_depth: 1, at: 99, via: 'saw'})")),
    "a belief closed": ("mind", "MATCH (b:Active) REMOVE b:Active"),
    "a witness lost": ("world", "MATCH (:Agent {name: 'Bob'})-[w:WITNESSED]->(:Event {seq: 2}) DELETE w"),
    "a witness too many": ("world", ("MATCH (a:Agent {name: 'Bob'}), (e:Event {seq: 4}) "
                                    "CREATE (a)-[:WITNESSED {step: 9}]->(e)")),
    "a stay lost": ("world", "MATCH (:Agent)-[i:IN|EXITED]->(:Room) DELETE i"),
    "testimony lost": ("world", "MATCH (:Agent)-[t:TOLD]->(:Agent) DELETE t"),
    "a place lost": ("world", "MATCH (:Entity)-[l:LOCATED_IN]->() DELETE l"),
    "a room changed": ("world", "MATCH (r:Room) SET r.kind = 'place'"),
    "an agent lost": ("world", "MATCH (a:Agent {name: 'Bob'}) DETACH DELETE a"),
    "an agent too many": ("world", "CREATE (:Agent {name: 'Nobody'})"),
    "an entity too many": ("world", "CREATE (:Entity {name: 'nothing'})"),
    "what is so changed": ("world", "MATCH (e:Truth {seq: 5}) REMOVE e:Truth"),
    "the chapter changed": ("world", ("MATCH (s:Scenario) SET s.chapter = 'chat', s.chapter_at = 1, "
                                     "s.chapter_since = 1")),
    "a void event revived": ("world", "MATCH (e:Voided) REMOVE e:Voided SET e:Event"),
}


@pytest.fixture
def kept(memory: Memory) -> Memory:
    """A story with something of everything in it."""
    memory.record(STORY)
    memory.set("ball", "blue", located_in="chat", by="Ann", happened_at=50)
    memory.tell("Ann", ["Bob"], "ball", "lost", happened_at=60, text="It is lost.")
    memory.say("Bob", "box", "open", audience=["Ann"], happened_at=70, id="slip")
    memory.void("slip", text="It was another box.")
    return memory


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_is_damaged_is_found_and_made_again_from_the_log(kept: Memory, damage: str) -> None:
    before = state(kept)
    graph, query = DAMAGES[damage]
    key = world_key(kept.scenario) if graph == "world" else mind_key(kept.scenario, "Bob")
    kept.database.command("GRAPH.QUERY", key, query)
    found = kept.verify()
    assert found
    assert kept.repair() == found
    assert kept.verify() == kept.repair() == []
    assert state(kept) == before
    kept.say("Ann", "ball", "found", room="chat")  # and goes on
    assert kept.verify() == []


def test_one_mind_can_be_made_again_alone(kept: Memory) -> None:
    for agent in ("Ann", "Bob"):
        kept.database.command("GRAPH.DELETE", mind_key(kept.scenario, agent))
    assert {d.agent for d in kept.repair("Bob")} == {"Bob"}
    assert {d.agent for d in kept.verify()} == {"Ann"}
    assert kept.believes("Bob", "ball") == "lost"


def test_an_event_that_is_missing_from_the_log_is_said_and_cannot_be_mended(kept: Memory) -> None:
    kept.database.command("GRAPH.QUERY", world_key(kept.scenario),
                          "MATCH (e:Event {seq: 2}) DETACH DELETE e")
    kept.repair()
    [left] = kept.verify()
    assert (left.what, left.of, left.row) == ("missing", "event", {"seq": 2})
    with pytest.raises(StoreError, match="of the events 1 to 8 only 7 are in its log"):
        list(kept.export())


def test_a_mind_that_was_not_damaged_is_not_touched_by_a_repair_or_a_renaming(kept: Memory) -> None:
    kept.say("Cyd", "news", "secret", audience=["Dee"])
    before = raw(kept, "Bob")
    kept.database.command("GRAPH.DELETE", mind_key(kept.scenario, "Dee"))
    kept.repair()
    kept.rename("Dee", "Deirdre")
    kept.forget(agent="Cyd")
    assert raw(kept, "Bob") == before


# Out and in -------------------------------------------------------------------------------------


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_what_is_exported_and_imported_is_equal(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Late and void events, aliases and strictness too; and its export is the same, byte for byte."""
    memory, other = new_memory(**chosen), new_memory()
    memory.record(data.draw(st.permutations(log)))
    memory.void(data.draw(st.integers(1, len(log))))
    if memory.agents():
        memory.alias("somebody else", memory.agents()[0], "agent")
    memory.strict()
    lines = list(memory.export())
    assert other.import_log(lines) == memory.step() == other.step()
    assert other.verify() == []
    assert state(other) == state(memory)
    assert other.vocabulary().aliases == memory.vocabulary().aliases
    assert list(other.export())[1:-1] == lines[1:-1]
    assert json.loads(lines[0]) | {"scenario": ""} == json.loads(next(other.export())) | {"scenario": ""}


def test_an_export_holds_what_was_there_when_it_began(memory: Memory) -> None:
    """Events that come in meanwhile, late ones and voids too, are not in it."""
    memory.record([
        {"kind": "say", "speaker": "Ann", "text": str(n), "audience": ["Bob"], "happened_at": n}
        for n in range(2_500)
    ])
    lines = memory.export()
    first = [next(lines) for _ in range(900)]
    memory.say("Ann", "ball", "red", audience=["Bob"], happened_at=5)
    memory.void(2_000)
    rest = list(lines)
    assert json.loads(rest[-1])["events"] == 2_500
    numbers = [json.loads(line)["seq"] for line in (first + rest)[1:-1]]
    assert numbers == list(range(1, 2_501))
    lines = memory.export()
    next(lines)
    memory.rename("Bob", "Robert")
    with pytest.raises(StoreError, match="was renamed, forgotten or repaired while"):
        list(lines)


def test_exporting_takes_as_little_memory_for_a_long_log_as_for_a_short_one(memory: Memory) -> None:
    def peak() -> int:
        tracemalloc.start()
        for _ in memory.export():
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    def more(begin: int, end: int) -> None:
        memory.record([
            {"kind": "say", "speaker": "Ann", "text": f"line {n}", "audience": ["Bob"],
             "happened_at": n} for n in range(begin, end)
        ])

    more(0, 2_000)
    short = peak()
    more(2_000, 6_000)
    assert peak() < 1.3 * short


def signed(lines: list[str]) -> list[str]:
    """Lines with a last one that fits them."""
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return [*lines, json.dumps({"end": "x", "events": len(lines) - 1, "sha256": digest})]


WRONG_FILES = {
    "nothing": (lambda _: [], "ends after 0 events without its last line"),
    "cut off": (lambda lines: lines[:-1], "ends after 8 events without its last line"),
    "a line lost": (lambda lines: [*lines[:3], *lines[4:]], "line 4: seq: expected 3, the next number"),
    "a value changed": (
        lambda lines: [lines[0], lines[1].replace("Ann", "Eve"), *lines[2:]], "expected the hash of"),
    "no JSON": (lambda lines: ["hello", *lines[1:]], "line 1: expected JSON"),
    "another file": (lambda lines: ['{"a": 1}\n', *lines[1:]], 'line 1: expected "is": "so-mcp log"'),
    "a newer one": (lambda lines: [lines[0].replace('"format":1', '"format":2'), *lines[1:]],
                    'expected "is": "so-mcp log" and "format": 1'),
    "a wrong policy": (lambda lines: [lines[0].replace("credulous", "naive"), *lines[1:]],
                       "line 1: policy: expected credulous or exit-order; got 'naive'"),
    "an unknown field": (lambda lines: [lines[0], '{"seq":1,"at":1,"kind":"exit","agents":["A"],"x":1}\n',
                                        *lines[2:]], "line 2: x: Unexpected keyword argument"),
    "an unknown kind": (lambda lines: [lines[0], '{"seq":1,"at":1,"kind":"shout"}\n', *lines[2:]],
                        "line 2: kind: Input should be"),
    "a field missing": (lambda lines: [lines[0], '{"seq":1,"at":1,"kind":"enter","agents":["A"]}\n',
                                       *lines[2:]], "line 2: room: expected it in an event of kind enter"),
    "a NUL": (lambda lines: [lines[0], '{"seq":1,"at":1,"kind":"say","actor":"A\\u0000"}\n', *lines[2:]],
              "line 2: actor: character 2"),
    "half a character": (lambda lines: [lines[0], '{"seq":1,"at":1,"kind":"say","actor":"\\ud800"}\n',
                                        *lines[2:]], "line 2"),
    "a void of nothing": (
        lambda lines: signed([*lines[:8], lines[8].replace('"target":7', '"target":99')]),
        "line 9: target: expected the number of another event"),
    "a time that is none": (lambda lines: [lines[0], '{"seq":1,"at":-5,"kind":"say","actor":"A"}\n',
                                           *lines[2:]], "line 2: at: expected milliseconds"),
}


@pytest.mark.parametrize("wrong", WRONG_FILES)
def test_of_a_file_that_is_wrong_anywhere_nothing_is_written(
    kept: Memory, new_memory: NewMemory, wrong: str
) -> None:
    spoil, message = WRONG_FILES[wrong]
    other = new_memory()
    with pytest.raises(InvalidInputError) as refused:
        other.import_log(spoil(list(kept.export())))
    assert message in str(refused.value)
    assert other.agents() == []
    assert not any(other.scenario in key for key in kept.database.graphs())


def test_a_file_is_read_only_into_a_scenario_in_which_nothing_has_happened(
    kept: Memory, new_memory: NewMemory
) -> None:
    other = new_memory()
    other.say("Ann", "ball", "red", audience=["Bob"])
    before = state(other)
    with pytest.raises(ConflictError, match="holds 1 events"):
        other.import_log(kept.export())
    assert state(other) == before
    with pytest.raises(UnknownNameError, match="there is none called"):
        list(new_memory().export())


def test_logins_read_what_was_imported_under_them(kept: Memory, new_memory: NewMemory) -> None:
    other = new_memory()
    other.grant("Bob")
    other.import_log(kept.export())
    with view_of("Bob", other.scenario, other.store) as view:
        assert {b.value for b in view.my_beliefs()} == {"lost"}


# Forgetting -------------------------------------------------------------------------------------


def all_text(memory: Memory) -> str:
    """Everything that any graph and key of the store holds, and the export."""
    held = ["".join(memory.export())]
    for key in memory.database.graphs():
        held.append(str(memory.database.command(
            "GRAPH.RO_QUERY", key, "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) "
            "RETURN labels(n), properties(n), type(r), properties(r)")))
        held.append(str(memory.database.command("GRAPH.SLOWLOG", key)))
        held.append(key)
    held.append(str(every_key(memory)))
    counters = every_key(memory, "*counters")
    held += [str(memory.database.command("HGETALL", key)) for key in counters]
    held.append(str(memory.database.everywhere(("SLOWLOG", "GET", "-1"))))
    return "\n".join(held)


@pytest.fixture
def alone(own_store: Store) -> Any:
    """A store with one story in it, so that all of it can be searched."""
    with memory_of(own_store) as memory:
        scenarios.play(memory, scenarios.load("support"))
        yield memory


def on_disk(memory: Memory, text: str) -> list[str]:
    """The files of an embedded store that hold a text; nobody here sees those of a server."""
    if isinstance(memory.store, ServerAddress):
        return []
    return [
        file.name for file in memory.store.path.rglob("*")
        if file.is_file() and text.encode() in file.read_bytes()
    ]


def test_a_forgotten_agent_is_nowhere_and_everything_else_is_as_it_was(alone: Memory) -> None:
    alone.tell("Finance", ["Billing"], "owner_4411", "Maya", text="It is Maya's, maya said.")
    alone.alias("M. Lopez", "Maya")
    alone.grant("Maya")
    alone.grant("Billing")
    before = answers(alone, [("Billing",), ("Finance", "Billing"), ("Shipping", "Billing")])
    wrong = len(alone.false_beliefs(2))
    found = alone.forget(agent="M. Lopez")
    assert found.compacted
    assert found.mentions == ()
    assert found.stands_for in alone.agents()
    assert "maya" not in all_text(alone).casefold()
    assert "lopez" not in all_text(alone).casefold()
    assert on_disk(alone, "Maya") == on_disk(alone, "Lopez") == []
    assert alone.verify() == []
    after = answers(alone, [("Billing",), ("Finance", "Billing"), ("Shipping", "Billing")])
    assert {k: v for k, v in after.items() if k[1] != "owner_4411"} == {
        k: v for k, v in before.items() if k[1] != "owner_4411"
    }
    assert len(alone.false_beliefs(2)) == wrong
    with pytest.raises((AccessError, NotGrantedError)):
        view_of("Maya", alone.scenario, alone.store).my_beliefs()
    with view_of("Billing", alone.scenario, alone.store) as view:
        assert found.stands_for in view.people()


@pytest.mark.runs_on("embedded", why="a server's files are its operator's")
def test_a_forgotten_name_is_not_in_the_log_of_the_database_either(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["Quirrell", "Ann"])
        memory.set("f", "v", by="Ann")
        memory.forget(event=2)  # which writes the database's file anew, with its graphs as they are
    with Memory(path=store_path) as memory:  # so this start names those that it loads
        assert memory.agents() == ["Quirrell", "Ann"]
        assert "server.log" in on_disk(memory, "Quirrell")
        memory.forget(agent="Quirrell")
        assert on_disk(memory, "Quirrell") == []


def test_a_forgotten_event_leaves_nobody_with_what_it_said_and_nothing_older_revives(
    alone: Memory,
) -> None:
    alone.say("Billing", "code", "0000", audience=["Maya"])
    alone.say("Billing", "code", "swordfish", audience=["Maya"], text="The code is swordfish.", id="leak")
    with alone.fork():
        found = alone.forget(event="leak")
        assert "swordfish" not in all_text(alone)
    assert (found.events, found.mentions, found.stands_for) == (1, (), None)
    assert on_disk(alone, "swordfish") == []
    assert alone.believes("Maya", "code") is alone.believes(["Billing", "Maya"], "code") is None
    assert alone.truth("code") is None
    assert alone.believes("Maya", "code", as_recorded=alone.step()) is None
    assert alone.verify() == []
    [line] = alone.timeline("code", limit=1).events
    assert (line.kind, line.actor, line.value, line.text) == ("say", "Billing", None, None)
    assert alone.record([{"kind": "say", "speaker": "Billing", "audience": ["Maya"], "text": "Again.",
                          "id": "other"}]).events[0].event.seq == alone.step()


def test_all_that_is_about_a_forgotten_entity_goes_and_what_still_names_it_is_said(
    alone: Memory,
) -> None:
    alone.say("Billing", text="Did refund_4411 go out?", audience=["Maya"])
    found = alone.forget(entity="refund_4411")
    [mention] = found.mentions
    assert (mention.event, mention.field) == (alone.step(), "text")
    alone.forget(event=mention.event)
    assert "refund_4411" not in all_text(alone)
    assert on_disk(alone, "refund_4411") == []
    assert found.stands_for in alone.entities()
    assert all(alone.believes(agent, found.stands_for or "") is None for agent in alone.agents())
    assert alone.verify() == []


def test_a_place_that_is_forgotten_is_not_replaced_by_an_older_one(new_memory: NewMemory) -> None:
    memory = new_memory(rooms="place")
    memory.set("ball", "red", located_in="hall", room="hall", by="Ann")
    memory.set("ball", "blue", located_in="attic", by="Ann")
    memory.forget(event=2)
    memory.join("Bob", "hall")
    assert memory.believes("Bob", "ball") is None
    assert memory.verify() == []


def test_what_cannot_be_forgotten_is_said_and_nothing_is_changed(kept: Memory) -> None:
    before = state(kept)
    for what, message in (
        ({"agent": "Nobody"}, "no agent is called 'Nobody'"),
        ({"entity": "nothing"}, "no entity is called 'nothing'"),
        ({"event": 99}, "no event has the number 99"),
        ({"event": "x"}, "no event has the id 'x'"),
        ({}, "expected exactly one of agent, entity or event"),
        ({"event": 1, "agent": "Ann"}, "expected exactly one"),
    ):
        with pytest.raises(SecondOrderError, match=message):
            kept.forget(**what)  # type: ignore[arg-type]
    assert state(kept) == before


# The command line -------------------------------------------------------------------------------


def so_mcp(store: Store, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {**environment(store), "PATH": os.defpath}
    return subprocess.run(
        [sys.executable, "-m", "so_mcp", *arguments], env=env, capture_output=True,
        text=True, input=stdin, check=False,
    )


def test_a_scenario_is_archived_to_a_file_and_comes_back(own_store: Store, tmp_path: Path) -> None:
    with memory_of(own_store, "ticket") as memory:
        memory.record(STORY)
        before = state(memory)
        file = tmp_path / "ticket.jsonl"
        done = so_mcp(own_store, "archive", str(file), "--scenario", "ticket")
        assert done.returncode == 0, done.stderr
        assert "Wrote 4 events" in done.stdout
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert memory.scenarios() == []
        assert so_mcp(own_store, "archive", str(file), "--scenario", "ticket").returncode == 1
        back = so_mcp(own_store, "import", str(file), "--scenario", "again")
        assert back.stdout == f"Scenario 'again' holds the 4 events of {file}.\n"
    with memory_of(own_store, "again") as memory:
        assert state(memory) == before


def test_the_commands_say_what_they_did_and_what_to_do_next(own_store: Store, tmp_path: Path) -> None:
    with memory_of(own_store) as memory:
        memory.record(STORY)
        assert so_mcp(own_store, "verify").stdout == "The world and every mind equal a replay of the log.\n"
        memory.database.command("GRAPH.DELETE", mind_key("support", "Bob"))
        damaged = so_mcp(own_store, "verify")
        assert damaged.returncode == 1
        assert damaged.stdout.startswith("the mind of Bob: lost belief: {'step': 2")
        assert damaged.stdout.endswith("so-mcp repair makes the rest of it again.\n")
        assert so_mcp(own_store, "repair").stdout.endswith("1 differences from the log; 0 left.\n")
        exported = so_mcp(own_store, "export", "-")
        assert exported.stdout == "".join(memory.export())
        into = so_mcp(own_store, "import", "-", "--scenario", "copy", stdin=exported.stdout)
        assert into.returncode == 0, into.stderr
        kept = tmp_path / "log.jsonl"
        assert so_mcp(own_store, "export", str(kept)).returncode == 0
        again = so_mcp(own_store, "export", str(kept))
        assert again.stderr == f"so-mcp: file: {kept} exists, and is not overwritten. Name another.\n"
        forgotten = so_mcp(own_store, "forget", "--event", "2")
        assert forgotten.stdout.startswith("Erased from 1 events, and from every mind and fork.\n")
        refused = so_mcp(own_store, "delete")
        assert "add --confirm 'support'" in refused.stderr
        deleted = so_mcp(own_store, "delete", "--confirm", "support")
        assert deleted.stdout.startswith("Deleted scenario 'support': 4 events, the minds of 2 agents")
        assert [stored.name for stored in memory.scenarios()] == ["copy"]
        missing = so_mcp(own_store, "import", str(tmp_path / "none"))
        assert missing.stderr.startswith(f"so-mcp: file: {tmp_path / 'none'} cannot be read")


@pytest.mark.runs_on("embedded", why="a killed server is started again by its operator")
def test_a_database_killed_while_something_is_forgotten_is_whole_either_way(store_path: Path) -> None:
    from test_embedded import kill_database  # noqa: PLC0415

    with Memory(path=store_path) as memory:
        memory.record(STORY)
        for done_at in (0, 3, 5):
            def kill(done: int, *_: object, at: int = done_at) -> None:
                if done == at:
                    kill_database(store_path)

            with pytest.raises(StoreError):
                memory.forget(event=2, progress=kill)
            assert memory.verify() == []
            assert memory.believes("Bob", "ball") == "red"
        memory.forget(event=2)
        assert memory.believes("Bob", "ball") is None
        assert memory.verify() == []
        assert answers(memory, chains(2)) is not None
