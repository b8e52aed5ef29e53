"""Events recorded late, and events that never happened: order is (at, seq), whatever came when."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, agents, logs, settings
from test_properties import answers, chains, contents, expected, raw

from so_mcp import Memory
from so_mcp.errors import ConflictError, InvalidEventError, InvalidInputError
from so_mcp.tools import supervisor

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

STORY: list[dict[str, Any]] = [
    {"kind": "enter", "agents": ["Ann", "Bob"], "room": "chat", "happened_at": 10},
    {"kind": "say", "speaker": "Ann", "entity": "ball", "value": "red", "room": "chat",
     "happened_at": 20},
    {"kind": "exit", "agents": ["Bob"], "room": "chat", "happened_at": 30},
    {"kind": "say", "speaker": "Ann", "entity": "ball", "value": "blue", "room": "chat",
     "happened_at": 40},
]


def modelled(log: list[dict[str, Any]], chosen: dict[str, str]) -> model.Model:
    """What the model makes of a log that was recorded in this order."""
    reference = model.Model(**chosen)
    for event in sorted(log, key=lambda event: event["happened_at"]):  # stable: then by seq
        reference.record(event)
    return reference


def state(memory: Memory) -> tuple[Any, ...]:
    """All that questions can show: every chain to depth 3, what is so, and who saw what."""
    seen = {
        (e.at, e.kind, e.value, e.witnesses) for e in memory.timeline(limit=100).events
    }
    return (
        answers(memory, chains(3)),
        {entity: memory.truth(entity) for entity in ENTITIES},
        seen,
        {
            agent: sorted(repr(sorted(row.items())) for row in rows)
            for agent, rows in without_steps(memory).items()
        },
    )


def without_steps(memory: Memory) -> dict[str, list[dict[str, Any]]]:
    found = contents(memory)
    for rows in found.values():
        for row in rows:
            del row["step"]  # a mind numbers what reaches it in the order in which it did
    return found


def test_every_permutation_of_a_set_of_dated_events_gives_one_state(new_memory: NewMemory) -> None:
    states = []
    for order in permutations(STORY):
        memory = new_memory()
        for event in order:
            memory.record([event])
        states.append(state(memory))
        assert memory.verify() == []
    assert all(found == states[0] for found in states)
    assert states[0][0][("Bob",), "ball"] == "red"


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_events_recorded_in_any_order_are_as_the_model_has_them_in_theirs(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """One at a time, or in lists: with ties, the order of recording decides."""
    memory = new_memory(**chosen)
    shuffled = data.draw(st.permutations(log))
    cut = data.draw(st.integers(0, len(log)))
    memory.record(shuffled[:cut])
    for event in shuffled[cut:]:
        memory.record([event])
    asked = chains(4)
    reference = modelled(shuffled, chosen)
    assert answers(memory, asked) == expected(reference, asked)
    for entity in ENTITIES:
        assert memory.truth(entity) == reference.truth(entity)
    moment = data.draw(st.sampled_from([event["happened_at"] for event in log]))
    assert answers(memory, chains(2), moment) == expected(reference, chains(2), moment)
    assert memory.verify() == []


@given(log=logs(max_size=10), chosen=settings, data=st.data())
@on_the_real_engine
def test_as_recorded_answers_what_was_answered_then_whatever_came_later(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 4, with late events and voids, of voids too."""
    memory = new_memory(**chosen)
    then = {}
    for event in data.draw(st.permutations(log)):
        memory.record([event])
        then[memory.step()] = state(memory)
        if data.draw(st.integers(0, 3)) == 0:
            memory.void(data.draw(st.integers(1, memory.step())))
            then[memory.step()] = state(memory)
    step = data.draw(st.sampled_from(sorted(then)))
    with memory.as_recorded(step) as past:
        assert state(past) == then[step]
        assert past.verify() == []
    assert state(memory) == then[memory.step()]
    assert memory.verify() == []


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_what_is_voided_never_happened_and_voiding_that_takes_it_back(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    memory = new_memory(**chosen)
    memory.record(log)
    before = state(memory)
    void = data.draw(st.sets(st.integers(1, len(log)), min_size=1, max_size=3))
    for number in void:
        memory.void(number)
    left = [event for number, event in enumerate(log, 1) if number not in void]
    reference, asked = modelled(left, chosen), chains(4)
    assert answers(memory, asked) == expected(reference, asked)
    assert sorted(memory.agents()) == sorted(reference.agents)
    assert memory.verify() == []
    for number in range(len(log) + 1, len(log) + len(void) + 1):
        memory.void(number)
    answered, truths, seen, minds = state(memory)
    assert (answered, truths, minds) == (before[0], before[1], before[3])
    assert {event for event in seen if event[1] != "void"} == before[2]
    assert memory.verify() == []


@given(log=logs(max_size=12), chosen=settings, agent=agents, data=st.data())
@on_the_real_engine
def test_what_an_agent_can_read_does_not_depend_on_late_or_void_events_that_did_not_reach_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], agent: str,
    data: st.DataObject,
) -> None:
    """Property 7: of late testimony among others, and of voiding it again."""
    others = sorted(set(AGENTS) - {agent})
    whole, part = new_memory(**chosen), new_memory(**chosen)
    setup = [{"kind": "say", "speaker": name, "text": "Hello.", "audience": list(AGENTS),
              "happened_at": 1} for name in AGENTS]
    whole.record(setup + log)
    part.record(setup + log)
    late = {"kind": "tell", "speaker": others[0], "listeners": others[1:], "entity": "news",
            "value": "secret", "happened_at": data.draw(st.integers(0, 1020))}
    [told] = whole.record([late]).events
    assert raw(whole, agent) == raw(part, agent)
    whole.void(told.event.seq)
    assert raw(whole, agent) == raw(part, agent)
    again = {"kind": "state", "entity": "box", "value": "green", "by": agent, "happened_at": 1010}
    for memory in (whole, part):  # reaches it, late
        memory.record([again])
    assert raw(whole, agent) == raw(part, agent)


def test_a_late_event_is_new_to_whoever_asks_what_changed_since_their_last_step(
    memory: Memory,
) -> None:
    memory.record(STORY)
    with memory.fork() as fork:
        fork.say("Bob", "box", "shut", audience=["Ann"], happened_at=15)
        step = len(fork.timeline(agent="Ann").events) - 1
        from so_mcp.history import what_changed  # noqa: PLC0415
        from so_mcp.minds import Since  # noqa: PLC0415

        changes = what_changed(fork.database, fork.scenario, "Ann", Since(step=step))
        assert [(c.chain, c.held.entity, c.held.value) for c in changes] == [
            (("Ann",), "box", "shut"), (("Ann", "Bob"), "box", "shut"),
        ]
    memory.say("Bob", "ball", "grey", audience=["Ann"], happened_at=15)  # and was outdated at once
    assert what_changed(memory.database, memory.scenario, "Ann", Since(step=step)) == []
    assert memory.believes("Ann", "ball") == "blue"


def test_a_late_exit_takes_back_what_one_who_had_left_was_thought_to_have_heard(
    memory: Memory,
) -> None:
    memory.record([STORY[0], STORY[1], STORY[3]])
    assert memory.believes("Bob", "ball") == memory.believes(["Ann", "Bob"], "ball") == "blue"
    memory.record([STORY[2]])
    assert memory.believes("Bob", "ball") == memory.believes(["Ann", "Bob"], "ball") == "red"
    assert memory.believes("Bob", "ball", as_recorded=3) == "blue"
    assert memory.truth("ball", as_recorded=2) == "red"
    assert [wrong.chain for wrong in memory.false_beliefs(1, as_recorded=4)] == [("Bob",)]
    assert memory.false_beliefs(1, as_recorded=3) == []
    assert memory.who_knows("ball", as_recorded=3).out_of_date == {}
    assert memory.explain("Bob", "ball", as_recorded=3).value == "blue"
    replayed = memory.replay("ball").steps
    assert [step.where for step in replayed] == [{"chat": ("Ann", "Bob")}, {"chat": ("Ann",)}]


@pytest.mark.parametrize("step", [-1, 5, True, "2", 1.0])
def test_as_recorded_is_the_number_of_an_event(memory: Memory, step: Any) -> None:
    memory.record(STORY)
    with pytest.raises(InvalidInputError, match="as_recorded: expected the number of an event, 0 to 4"):
        memory.believes("Ann", "ball", as_recorded=step)


def test_the_past_of_a_fork_and_of_an_empty_scenario_can_be_asked_too(memory: Memory) -> None:
    with memory.as_recorded(0) as nothing:
        assert nothing.agents() == []
    memory.record(STORY)
    with memory.fork() as fork:
        fork.void(2)
        assert fork.believes("Bob", "ball") is None
        assert fork.believes("Bob", "ball", as_recorded=4) == "red"
    graphs = memory.database.graphs()
    assert len(graphs) == len(set(graphs))
    assert not [key for key in graphs if ":fork:" in key]


def test_a_name_that_only_a_void_event_made_is_no_name_any_more(memory: Memory) -> None:
    memory.record(STORY)
    memory.say("Mya", "bell", "rung", room="attic", happened_at=50, id="slip")
    assert memory.agents() == ["Ann", "Bob", "Mya"]
    memory.void("slip")
    assert memory.agents() == ["Ann", "Bob"]
    assert memory.entities() == ["ball"]
    assert memory.vocabulary().rooms == ("chat",)
    memory.announce("Ann", "ball", "gone")
    assert [event.witnesses for event in memory.timeline().events][-1] == ("Ann", "Bob")
    assert memory.record([{"kind": "say", "speaker": "Mya", "entity": "bell", "value": "rung",
                           "room": "attic", "happened_at": 50, "id": "slip"}]).events[0].again
    memory.void(6)  # the voiding
    assert memory.believes("Mya", "bell") == "rung"
    assert memory.verify() == []


def test_what_cannot_be_voided_or_be_true_at_that_time_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidEventError, match=r"event: no event has the number 1\. There is none yet"):
        memory.void(1)
    memory.record(STORY)
    with pytest.raises(InvalidEventError, match=r"no event has the id 'x'\. The newest is 4"):
        memory.void("x")
    with pytest.raises(InvalidEventError, match="event: is missing"):
        memory.record([{"kind": "void"}])
    memory.record([{"kind": "enter", "agents": ["Ann"], "room": "yard", "place": True,
                    "happened_at": 60}])
    before = state(memory)
    with pytest.raises(ConflictError, match="event 5 would be impossible: room: 'yard' is a channel"):
        memory.record([{"kind": "enter", "agents": ["Bob"], "room": "yard", "happened_at": 55}])
    with pytest.raises(ConflictError, match="event 5 would be impossible"):
        memory.record([
            {"kind": "say", "speaker": "Ann", "text": str(n), "audience": ["Bob"], "happened_at": 70}
            for n in range(40)
        ] + [{"kind": "enter", "agents": ["Bob"], "room": "yard", "happened_at": 55}])
    assert state(memory) == before
    assert memory.verify() == []


def test_a_late_event_of_a_mind_that_was_granted_before_anything_reached_it(memory: Memory) -> None:
    memory.grant("Cyd")
    memory.record(STORY)
    memory.tell("Ann", ["Cyd"], "ball", "red", happened_at=25)
    assert memory.believes(["Cyd", "Ann"], "ball") == "red"
    assert memory.verify() == []


def test_a_write_that_changes_the_past_costs_few_round_trips(memory: Memory) -> None:
    """However long the log is: it is read at once and what differs is written at once."""
    memory.record(STORY + [
        {"kind": "say", "speaker": "Ann", "text": str(n), "audience": ["Bob"], "happened_at": 100 + n}
        for n in range(60)
    ])
    trips: list[Any] = []
    memory.database.observers.append(trips.append)
    memory.say("Ann", "box", "shut", audience=["Bob"], happened_at=50)
    assert len(trips) == 3  # the watch, the log, the commit
    writes = [command for command in trips[-1] if command[0] == "GRAPH.QUERY"]
    assert len(writes) < 12


def test_what_recording_did_is_said_so_that_it_can_be_taken_back(memory: Memory) -> None:
    def said(*events: dict[str, Any]) -> str:
        return supervisor.record(memory, list(events)).text()

    said(*STORY)
    assert said({"kind": "say", "speaker": "Bob", "entity": "ball", "value": "grey",
                 "audience": ["Ann"], "happened_at": 15}) == (
        "Event 5 recorded, seen by Ann and Bob. Others had happened after it: what came of them was "
        "worked out again."
    )
    assert said({"kind": "void", "event": 5}) == (
        "Event 6 recorded: event 5 never happened. To take that back, void event 6."
    )
    assert said({"kind": "edit", "speaker": "Ann", "event": 4, "value": "pink"}) == (
        "Event 7 recorded, seen by Ann."
    )
