"""Attention on the real engine, against the model: who really took it in (issue D; SEMANTICS.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import model
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, agents, attentive_logs, attentive_settings, entities, values
from stores import memory_of
from test_properties import answers, chains, contents, expected, raw

from so_mcp import Memory
from so_mcp.common import common_ground

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)


def modelled(log: list[dict[str, Any]], chosen: dict[str, str], depth: int = 4) -> model.Model:
    reference = model.Model(**chosen, max_depth=depth)
    for event in log:
        reference.record(event)
    return reference


@given(log=attentive_logs(), chosen=attentive_settings, data=st.data())
@on_the_real_engine
def test_reading_rule_and_model_agree_on_every_chain(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 1, with every kind; now, as of a moment, and as recorded at a step."""
    memory, reference = new_memory(**chosen), modelled(log, chosen)
    cut = data.draw(st.integers(0, len(log)))
    memory.record(log[:cut])
    for event in log[cut:]:
        memory.record([event])
    asked = chains(4)
    assert answers(memory, asked) == expected(reference, asked)
    moment = data.draw(st.sampled_from([event["happened_at"] for event in log]))
    assert answers(memory, chains(3), moment) == expected(reference, chains(3), moment)
    for entity in ENTITIES:
        assert memory.truth(entity) == reference.truth(entity)
        assert memory.truth(entity, moment) == reference.truth(entity, moment)
    seen = {event.number: set(event.witnesses) for event in memory.timeline(limit=100).events}
    for number, truly in enumerate(reference.truly(), 1):
        assert seen.get(number, set()) == set(truly), number


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_a_replay_gives_the_live_scenario(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    """Property 3: however each came, and after every single event."""
    memory = new_memory(**chosen)
    for event in log:
        memory.record([event])
        assert memory.verify() == [], event


@given(log=attentive_logs(), chosen=attentive_settings, data=st.data())
@on_the_real_engine
def test_it_does_not_matter_who_of_several_records_what(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Each keeps what has happened at hand, and must notice when another wrote."""
    memory, reference = new_memory(**chosen), modelled(log, chosen)
    with memory_of(memory.store, memory.scenario, **chosen) as other:
        for event in log:
            data.draw(st.sampled_from([memory, other])).record([event])
    assert answers(memory, chains(3)) == expected(reference, chains(3))
    assert memory.verify() == []


@given(log=attentive_logs(), chosen=attentive_settings, data=st.data())
@on_the_real_engine
def test_as_recorded_and_an_export_give_what_was_there(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 4, and what is imported is equal."""
    memory, other, reference = new_memory(**chosen), new_memory(), modelled(log, chosen)
    memory.record(log)
    step = data.draw(st.integers(0, len(log)))
    with memory.as_recorded(step) as then:
        asked = chains(3)
        assert answers(then, asked) == {
            (chain, entity): value
            for chain in asked
            for entity in ENTITIES
            if (value := reference.believes(chain, entity, as_recorded=step)) is not None
        }
    other.import_log(memory.export())
    assert other.verify() == []
    assert answers(other, asked) == answers(memory, asked)


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_an_event_changes_no_mind_that_it_did_not_reach(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    """Property 2, of events that are not late: those may matter through presence."""
    memory = new_memory(**chosen)
    before = contents(memory)
    newest = 0
    for event in log:
        memory.record([event])
        after = contents(memory)
        late = event["happened_at"] < newest or event["kind"] == "void"
        newest = max(newest, event["happened_at"])
        reached = {
            row["agent"]
            for query in ("world/witnessed", "world/noticings")
            for row in memory.database.read(f"so:{{{memory.scenario}}}:world", query)
            if row["seq"] == memory.step()
        }
        for agent in set(AGENTS) - reached:
            assert late or after[agent] == before[agent], (event, agent)
        before = after


@given(log=attentive_logs(), chosen=attentive_settings, speaker=agents, entity=entities, value=values)
@on_the_real_engine
def test_right_after_an_announcement_no_chain_is_wrong_about_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str],
    speaker: str, entity: str, value: str,
) -> None:
    """Property 5, whatever was hidden, read or retracted before."""
    memory = new_memory(**chosen)
    memory.record(log)
    memory.announce(speaker, entity, value, happened_at=max(e["happened_at"] for e in log))
    asked = [chain for chain in chains(4) if set(chain) <= set(memory.agents())]
    found = answers(memory, asked)
    assert {found.get((chain, entity)) for chain in asked} == {value}
    assert memory.false_beliefs(2, entity, missing=True) == []


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_common_ground_is_what_every_chain_says(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    """Property 6, with holes where something was retracted; brute force to depth 6."""
    memory, group = new_memory(**chosen), ("Ann", "Bob")
    memory.record(log)
    deep = [
        tuple(group[(first + place) % 2] for place in range(depth))
        for first in (0, 1) for depth in range(1, 7)
    ]
    found = answers(memory, deep)
    for ground in common_ground(memory.database, memory.scenario, group):
        values = {chain: found.get((chain, ground.entity)) for chain in deep}
        shared = 0
        for depth in range(1, 7):
            if len({v for chain, v in values.items() if len(chain) <= depth}) > 1:
                break
            shared = depth
        if ground.depth is None:
            assert shared == 6
        elif ground.depth < 6:
            assert shared == ground.depth


@given(log=attentive_logs(), chosen=attentive_settings, agent=agents)
@on_the_real_engine
def test_what_an_agent_can_read_does_not_depend_on_what_did_not_reach_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], agent: str
) -> None:
    """Property 7: testimony among others, read, edited, forwarded, retracted and voided there."""
    others = sorted(set(AGENTS) - {agent})
    setup = [{"kind": "say", "speaker": name, "text": "Hello.", "audience": list(AGENTS),
              "happened_at": 1} for name in AGENTS]
    end = max(event["happened_at"] for event in log)
    secret: list[dict[str, Any]] = [
        {"kind": "tell", "speaker": others[0], "listeners": [others[1]], "entity": "news",
         "value": "secret", "id": "secret"},
        {"kind": "read", "agents": [others[2]], "event": "secret", "receipt": True},
        {"kind": "edit", "speaker": others[0], "event": "secret", "value": "open", "id": "edit"},
        {"kind": "forward", "speaker": others[2], "event": "secret", "listeners": [others[0]]},
        {"kind": "retract", "speaker": others[0], "event": "secret", "audience": others},
        {"kind": "void", "event": "edit"},
    ]
    for event in secret:
        event["happened_at"] = end
    whole, part = new_memory(**chosen), new_memory(**chosen)
    kept: list[dict[str, Any]] = []
    for event in log:  # by number they would not be about the same events
        if "event" not in event or event["event"] in [e.get("id") for e in kept]:
            kept.append(event)
    whole.record(setup + kept + secret)
    part.record(setup + kept)
    assert raw(whole, agent) == raw(part, agent)
