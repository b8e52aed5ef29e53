"""What events would change: tried on a fork, told as it really comes, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import ENTITIES, logs, settings
from stores import every_key
from test_memory import commands_of

from so_mcp import Memory, scenarios
from so_mcp.errors import InvalidEventError, InvalidInputError, SecondOrderError
from so_mcp.minds import MAX_CHAINS
from so_mcp.tools.plans import what_if
from so_mcp.tools.supervisor import record
from so_mcp.what_if import Change, chains_to, deepest

NewMemory = Callable[..., Memory]
Chain = tuple[str, ...]

on_the_real_engine = hypothesis_settings(
    max_examples=40,
    deadline=None,  # a shared, noisy machine
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # names a scenario of its own
)
REJECTED: dict[str, Any] = {"entity": "refund_4411", "value": "rejected"}
TO_MAYA: dict[str, Any] = {
    "kind": "tell", "speaker": "Escalation", "room": "chat", **REJECTED,
}


def keys(memory: Memory) -> set[str]:
    return every_key(memory, f"so:{{{memory.scenario}}}:*")


def state(memory: Memory) -> tuple[int, list[Any], set[str]]:
    """All that must be as before when something was only tried."""
    return memory.step(), memory.verify(), keys(memory)


def believed(memory: Memory, chains: list[Chain]) -> dict[tuple[Chain, str], str | None]:
    return {
        (chain, entity): memory.believes(chain, entity)
        for chain, entity in product(chains, memory.entities())
    }


def modelled(reference: model.Model, depth: int) -> dict[tuple[Chain, str], str | None]:
    """What a model believes on every chain; of the empty chain, what is true."""
    found: dict[tuple[Chain, str], str | None] = {
        (chain, entity): reference.believes(chain, entity)
        for chain in chains_to(depth, reference.agents)
        for entity in ENTITIES
    }
    return found | {((), entity): reference.truth(entity) for entity in ENTITIES}


def verdict(values: dict[tuple[Chain, str], str | None], chain: Chain, entity: str) -> str | None:
    mine, actual = values.get((chain, entity)), values.get((chain[1:], entity))
    if mine is None or actual is None:
        return None
    return "right" if mine == actual else "wrong"


# Properties ------------------------------------------------------------------------------------


@on_the_real_engine
@given(log=logs(), chosen=settings, data=st.data())
def test_what_if_tells_every_change_that_the_model_makes_and_no_other(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log) - 1))
    depth = data.draw(st.integers(1, 3))
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    if cut:
        memory.record(log[:cut])
    for event in log[:cut]:
        reference.record(event)
    before = modelled(reference, depth)
    found = memory.what_if(log[cut:], depth)
    for event in log[cut:]:
        reference.record(event)
    after = modelled(reference, depth)
    expected = set()
    for chain, entity in after:
        was, becomes = before.get((chain, entity)), after[chain, entity]
        judged = verdict(after, chain, entity)
        turned = judged if judged != verdict(before, chain, entity) else None
        if chain and (was != becomes or turned):
            expected.add(Change(chain, entity, was, becomes, after[chain[1:], entity], turned))
    assert set(found.changes) == expected
    assert len(found.changes) == len(expected)
    assert [r.witnesses for r in found.record.events] == [
        tuple(sorted(seen)) for seen in reference.witnesses()[cut:]
    ]


@on_the_real_engine
@given(log=logs(max_size=8), chosen=settings, data=st.data())
def test_what_if_answers_what_recording_does_and_nothing_of_it_stays(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(log)))
    memory = new_memory(**chosen)
    memory.record(log[:cut])
    chains = chains_to(2, memory.agents())
    untouched, before = state(memory), believed(memory, chains)
    tried = memory.what_if(log[cut:])
    assert (state(memory), believed(memory, chains)) == (untouched, before)
    assert tried.record == memory.record(log[cut:])
    after = believed(memory, chains_to(2, memory.agents()))
    changed = {(c.chain, c.entity): c.after for c in tried.changes if c.before != c.after}
    assert {**before, **changed} | after == after
    assert {key for key in after if after[key] != before.get(key)} == set(changed)


# What it says ----------------------------------------------------------------------------------


def test_telling_maya_puts_her_right_and_escalation_about_her(support: Memory) -> None:
    answer = what_if(support, [TO_MAYA])
    assert answer.text() == (
        "- refund_4411 'approved' -> 'rejected', becomes right: Maya\n"
        "- refund_4411 still 'approved', becomes wrong: really 'rejected': "
        "Billing thinks Maya; Finance thinks Maya\n"
        "- refund_4411 unknown -> 'rejected', becomes right: Maya thinks Escalation\n"
        "- refund_4411 'approved' -> 'rejected': Escalation thinks Maya"
    )
    assert not answer.cut


def test_what_maya_does_not_hear_leaves_her_wrong_as_she_is(support: Memory) -> None:
    events = [{"kind": "say", "speaker": "Shipping", "audience": ["Escalation"],
               "entity": "order_4411", "value": "repaired"}]
    answer = what_if(support, events, depth=1)
    assert answer.text() == (
        "- order_4411 still 'broken', becomes wrong: the truth is 'repaired': "
        "Billing, Finance and Maya\n"
        "- order_4411 'broken' -> 'repaired': Escalation and Shipping"
    )


def test_what_changes_nothing_says_so(support: Memory) -> None:
    answer = what_if(support, [{"kind": "say", "speaker": "Maya", "room": "chat", "text": "Hm."}])
    assert answer.text() == "No belief would change."


def test_a_long_answer_is_cut_and_says_how_to_narrow(support: Memory) -> None:
    events = [{"kind": "announce", "speaker": "Billing", **REJECTED}]
    answer = what_if(support, events, depth=3, limit=4)
    assert (answer.cut, len(answer.would_change.changes)) == (True, 4)
    assert answer.would_change.total == len(support.what_if(events, 3).changes)
    assert answer.text().endswith(
        f"\n4 of {answer.would_change.total} changes. Narrow with depth 1, or raise limit."
    )


def test_a_dry_run_answers_what_recording_answers_and_writes_nothing(support: Memory) -> None:
    events = [{"kind": "tell", "speaker": "Escalation", "listeners": ["maya", "Nils"], **REJECTED}]
    untouched = state(support)
    answer = record(support, events, dry_run=True)
    assert state(support) == untouched
    assert answer.text() == (
        "Nothing was written. It would be:\n"
        "Event 33 recorded, seen by Escalation, Nils and maya.\n"
        "New agents: maya, Nils.\n"
        "Check: maya is new, and near Maya. If it is a slip, use that name.\n"
        "- refund_4411 unknown -> 'rejected', becomes right: maya and Nils; "
        "Escalation thinks maya and Nils; maya thinks Escalation and Nils; "
        "Nils thinks Escalation and maya"
    )
    real = record(support, events)
    for dry, written in zip(answer.events, real.events, strict=True):
        assert (dry.number, dry.witnesses, dry.again) == (
            written.number, written.witnesses, written.again
        )
    assert (answer.new_agents, answer.near) == (real.new_agents, real.near)
    assert real.would_change is None


def test_a_dry_run_of_what_was_recorded_before_says_so(support: Memory) -> None:
    answer = record(support, [scenarios.load("support").events[9]], dry_run=True)
    assert answer.text() == (
        "Nothing was written. It would be:\n"
        "Event 10 was recorded before; nothing was written.\n"
        "No belief would change."
    )


# How -------------------------------------------------------------------------------------------


def test_a_scenario_in_which_nothing_happened_is_tried_with_its_own_settings(
    new_memory: NewMemory,
) -> None:
    memory = new_memory(rooms="place")
    events = [
        {"kind": "enter", "agents": ["Ann"], "room": "hall"},
        {"kind": "state", "entity": "lamp", "value": "lit", "room": "hall", "located_in": "hall"},
        {"kind": "enter", "agents": ["Bob"], "room": "hall"},  # sees it, in a place
    ]
    found = memory.what_if(events, 1)
    assert {change.chain: change.after for change in found.changes} == {
        ("Ann",): "lit", ("Bob",): "lit"
    }
    assert keys(memory) == set()


def test_an_alias_means_what_it_stands_for(support: Memory) -> None:
    support.alias("Mrs Marple", "Maya")
    support.alias("her refund", "refund_4411")
    other = {**TO_MAYA, "listeners": ["Mrs Marple"], "entity": "her refund"}
    del other["room"]
    assert support.what_if([other]).changes == support.what_if([TO_MAYA]).changes != ()
    assert support.what_if([other]).record.agents == []


@pytest.mark.parametrize("wrong", [[{"kind": "sai"}], {"kind": "say"}, "say", [TO_MAYA, {}]])
def test_wrong_events_are_refused_before_anything_is_copied(support: Memory, wrong: Any) -> None:
    with commands_of(support) as trips, pytest.raises(InvalidEventError):
        support.what_if(wrong)
    assert trips == []


def test_what_only_the_scenario_can_refuse_is_refused_as_recording_does(support: Memory) -> None:
    untouched = state(support)
    later = 4_000_000_000_000
    for events in (
        [{**TO_MAYA, "happened_at": later}, TO_MAYA],
        [{"kind": "void", "event": 99}],
        [{"kind": "enter", "agents": ["Maya"], "room": "chat", "place": True}],
    ):
        with pytest.raises(SecondOrderError) as tried:
            support.what_if(events)
        with pytest.raises(SecondOrderError) as real:
            support.record(events)
        assert (type(tried.value), str(tried.value)) == (type(real.value), str(real.value))
    assert state(support) == untouched


def test_a_depth_is_one_to_three(support: Memory) -> None:
    with pytest.raises(InvalidInputError, match="depth: expected 1 to 3, got 4"):
        support.what_if([TO_MAYA], 4)


def test_events_may_come_one_by_one(support: Memory) -> None:
    assert support.what_if(iter([TO_MAYA])).changes == support.what_if([TO_MAYA]).changes


@pytest.mark.parametrize("last", range(4))
def test_a_cancelled_trial_leaves_nothing_behind(support: Memory, last: int) -> None:
    class CancelledError(Exception):
        pass

    def progress(done: int, total: int, _next: str) -> None:
        assert total == 4
        if done == last:
            raise CancelledError

    untouched = state(support)
    with pytest.raises(CancelledError):
        support.what_if([TO_MAYA], progress=progress)
    assert state(support) == untouched


def test_each_mind_is_read_once_before_and_once_after(support: Memory) -> None:
    with commands_of(support) as trips:
        support.what_if([TO_MAYA])
    reads = [trip for trip in trips if any("RO_QUERY" in c and ":mind:" in c for c in trip)]
    assert [len(trip) for trip in reads] == [5, 5]
    assert sum("GRAPH.COPY" in command for trip in trips for command in trip) == 6


def test_with_too_many_agents_it_says_what_was_not_compared(memory: Memory) -> None:
    everyone = [f"P{number}" for number in range(142)]
    events = [{"kind": "say", "speaker": "P0", "audience": everyone, "entity": "e", "value": "v"}]
    answer = what_if(memory, events, limit=1)
    assert (answer.cut, answer.would_change.depth) == (True, 1)
    assert answer.text() == (
        "- e unknown -> 'v', becomes right: P0\n"
        "Not compared deeper than 1: there are 142 agents.\n"
        "1 of 142 changes. Narrow with depth 1, or raise limit."
    )


def test_so_many_agents_are_compared_that_their_chains_can_be_read() -> None:
    assert [deepest(n, 3) for n in (1, 27, 28, 141, 142)] == [3, 3, 2, 2, 1]
    assert len(chains_to(3, [str(n) for n in range(27)])) <= MAX_CHAINS
    assert deepest(5, 1) == 1
