"""Common ground: decided for every chain of every depth, and what would make it common."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, logs, settings
from stores import view_of
from test_memory import commands_of

from so_mcp import Memory, scenarios
from so_mcp.common import Ground, ScopedBelief, answer, common_ground_seen, frontier, gap
from so_mcp.errors import InvalidInputError, UnknownNameError
from so_mcp.names import mind_key, world_key
from so_mcp.tools import common, own_mind

NewMemory = Callable[..., Memory]

DEPTH = 8  # of the brute force
EVERY_DEPTH = None


def modes(grounds: list[Ground]) -> dict[str, str]:
    return {ground.entity: ground.mode for ground in grounds}


def of(memory: Memory, agents: list[str], entity: str) -> Ground:
    [ground] = memory.common_ground(agents, entity)
    return ground


def agreed(values_by_depth: list[set[str | None]]) -> int | None:
    """To what depth all chains agree on one known value; None: as deep as was looked."""
    [*first] = values_by_depth[0]
    for depth, values in enumerate(values_by_depth):
        if values != set(first) or len(first) > 1 or None in values:
            return depth
    return EVERY_DEPTH


# Against brute force ---------------------------------------------------------------------------


def by_brute_force(
    reference: model.Model, group: tuple[str, ...], entity: str, as_of: int | None = None
) -> int | None:
    return agreed([
        {reference.believes(c, entity, as_of) for c in model.chains(frozenset(group), depth)}
        for depth in range(1, DEPTH + 1)
    ])


def alternating(owner: str, person: str, depth: int) -> tuple[str, ...]:
    return tuple(itertools.islice(itertools.cycle((owner, person)), depth))


def seen_by_brute_force(
    reference: model.Model, owner: str, person: str, entity: str
) -> int | None:
    """Both believe it by chains of depth 1 and 2; mutual to depth k by those to depth k + 1."""
    values = [{reference.believes(alternating(owner, person, d), entity)} for d in range(1, DEPTH + 1)]
    return agreed([values[0] | values[1], *values[2:]])


@given(log=logs(), chosen=settings, data=st.data())
@hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_it_agrees_with_brute_force_to_depth_8(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 6, for every group of two or three, now and as of a moment; as each sees it; and
    the event that it proposes does make it common."""
    memory, reference = new_memory(**chosen), model.Model(**chosen, max_depth=DEPTH)
    memory.record(log)
    for event in log:
        reference.record(event)
    moment = data.draw(st.sampled_from([event["happened_at"] for event in log]))
    proposed = []
    for group in (g for n in (2, 3) for g in itertools.combinations(reference.agents, n)):
        for as_of in (None, moment):
            found = {ground.entity: ground for ground in memory.common_ground(group, as_of=as_of)}
            assert set(found) == {
                e for e in ENTITIES if any(reference.believes(a, e, as_of) for a in group)
            }
            for entity, ground in found.items():
                assert ground.depth == by_brute_force(reference, group, entity, as_of), (group, entity)
                assert ground.beliefs == {a: reference.believes(a, entity, as_of) for a in group}
                if ground.gap is not None and len(ground.gap[0]) <= DEPTH:
                    chain, value = ground.gap
                    assert len(chain) == ground.depth + 1
                    assert reference.believes(chain, entity, as_of) == value != ground.value
                if ground.event is not None:
                    proposed.append((group, ground.event))
    for owner, person in itertools.permutations(reference.agents, 2):
        for ground in common_ground_seen(memory.database, memory.scenario, owner, person):
            assert ground.depth == seen_by_brute_force(reference, owner, person, ground.entity)
    if proposed:
        group, event = data.draw(st.sampled_from(proposed))
        memory.record([event | {"happened_at": log[-1]["happened_at"]}])
        made = of(memory, group, event["entity"])
        assert (made.mode, made.value) == ("common", event["value"])


@cache
def chains_from(owner: str, group: tuple[str, ...]) -> list[tuple[str, ...]]:
    every = (c for d in range(1, DEPTH + 1) for c in model.chains(frozenset(group), d))
    return [chain for chain in every if chain[0] == owner]


scoped_beliefs = st.lists(
    st.builds(
        ScopedBelief,
        value=st.sampled_from(("red", "red", "red", "blue", None)),
        members=st.frozensets(st.sampled_from(AGENTS)),
        min_depth=st.integers(1, 3),
        max_depth=st.sampled_from((None, None, 3, 4)),
        about=st.sampled_from((None, None, *AGENTS)),
    ).map(lambda b: b._replace(min_depth=2) if b.about else b),
    max_size=8,
)
# The oldest reaches everyone: most chains are red then, and the shortest that is not is longer.
at_first = st.sampled_from(([], *([ScopedBelief("red", frozenset(AGENTS))] for _ in range(3))))


@given(
    beliefs=st.builds(list.__add__, scoped_beliefs, at_first),
    group=st.sampled_from((AGENTS[:2], AGENTS[:3], AGENTS, AGENTS)),
)
@example(  # circles without the mind's owner, as one has that observed unseen
    beliefs=[
        ScopedBelief("red", frozenset({"Cyd"})),
        ScopedBelief("red", frozenset({"Dee"})),
        ScopedBelief("blue", frozenset({"Cyd", "Dee"})),
        ScopedBelief("red", frozenset(AGENTS)),
    ],
    group=AGENTS,
)
@hypothesis_settings(max_examples=300, deadline=None)
def test_a_shortest_chain_that_differs_is_found_among_whatever_scopes(
    beliefs: list[ScopedBelief], group: tuple[str, ...]
) -> None:
    """Also where no log leads: and what the frontier leaves out makes no difference."""
    owner, kept = group[0], frontier(beliefs, group)
    shortest = None
    for chain in chains_from(owner, group):
        value = answer(beliefs, chain)
        assert answer(kept, chain) == value
        if value != "red" and shortest is None:
            shortest = chain
    found = gap(owner, group, beliefs, "red")
    assert (found is None) is (shortest is None)
    if found is not None and shortest is not None:
        assert len(found) == len(shortest)
        assert answer(beliefs, found) != "red"


def missing_one_each(memory: Memory, size: int) -> list[str]:
    """All hear one thing, then another in as many messages, each of which misses out one of them."""
    agents = [f"P{number}" for number in range(size)]
    memory.set("launch", "Friday", audience=agents)
    for missed in agents:
        memory.set("launch", "Tuesday", audience=[a for a in agents if a != missed])
    return agents


@pytest.mark.parametrize("size", [3, 4, 6])
def test_messages_that_each_miss_out_another_are_mutual_to_one_less_than_there_are(
    memory: Memory, size: int
) -> None:
    """So depths up to 5 do not decide it for six, and none that is fixed would for more."""
    agents = missing_one_each(memory, size)
    ground = of(memory, agents, "launch")
    assert (ground.mode, ground.depth, ground.value) == ("mutual", size - 1, "Tuesday")
    chain, value = ground.gap or ((), None)
    assert sorted(chain) == agents
    assert memory.believes(chain, "launch") == value == "Friday"
    short = [c for d in range(1, min(size, 5)) for c in model.chains(frozenset(agents), d)]
    assert {memory.believes(c, "launch") for c in short[:: max(1, len(short) // 200)]} == {"Tuesday"}


def test_circles_that_overlap_in_too_many_ways_are_refused_with_what_to_do(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = missing_one_each(memory, 9)
    monkeypatch.setattr("so_mcp.common.MAX_STATES", 200)
    with pytest.raises(InvalidInputError, match=r"more than 200 ways\. Ask about fewer agents"):
        memory.common_ground(agents)
    assert memory.common_ground(agents[:3])[0].mode == "common"


# Modes -----------------------------------------------------------------------------------------


def test_thirty_agents_are_answered_right_and_at_once(memory: Memory) -> None:
    agents = [f"P{number:02}" for number in range(30)]
    memory.announce("P00", "launch", "Friday")
    memory.set("launch", "Friday", audience=agents)
    memory.set("launch", "Tuesday", audience=agents[:3])
    for listener in agents[3:]:
        memory.tell("P00", listener, "launch", "Tuesday")
    for number, room in enumerate(("north", "south", "east", "west")):
        memory.join(agents[number : number + 20], room)
        memory.say(agents[number], "menu", "soup", room=room)
    started = time.perf_counter()
    launch, menu = memory.common_ground(agents)
    assert time.perf_counter() - started < 2
    assert (launch.mode, launch.value) == ("believed", "Tuesday")
    chain, value = launch.gap or ((), None)
    assert (len(chain), memory.believes(chain, "launch")) == (2, value)
    assert (menu.mode, menu.beliefs["P00"], menu.beliefs["P29"]) == ("distributed", "soup", None)
    assert of(memory, agents[3:20], "menu").mode == "common"
    memory.record([launch.event or {}, menu.event or {}])
    assert modes(memory.common_ground(agents)) == {"launch": "common", "menu": "common"}


def test_two_who_tell_each_other_through_a_third_are_told_apart_by_depth(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann"])
    memory.set("door", "open", audience=["Bob"])
    both = of(memory, ["Ann", "Bob"], "door")
    assert (both.mode, both.gap) == ("believed", (("Ann", "Bob"), None))
    memory.report("Cyd", "Bob", "door", "open", listeners=["Ann"])
    memory.report("Cyd", "Ann", "door", "open", listeners=["Bob"])
    both = of(memory, ["Ann", "Bob"], "door")
    assert (both.mode, both.depth, both.gap) == ("mutual", 2, (("Ann", "Bob", "Ann"), None))


def test_some_know_and_some_do_not_is_distributed_and_nobody_is_left_out(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Bob"])
    memory.set("key", "lost", audience=["Cyd"])
    grounds = memory.common_ground(["Ann", "Bob", "Cyd"])
    assert [(g.entity, g.mode, g.value, g.gap) for g in grounds] == [
        ("door", "distributed", None, None), ("key", "distributed", None, None)
    ]
    assert grounds[0].beliefs == {"Ann": "open", "Bob": "open", "Cyd": None}
    memory.set("door", None, audience=["Ann", "Bob"])
    assert modes(memory.common_ground(["Ann", "Bob", "Cyd"])) == {"key": "distributed"}


def test_the_ground_of_one_alone_is_what_it_believes(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Bob"])
    memory.set("key", "lost", audience=["Bob"])
    [door] = memory.common_ground("Ann")
    assert (door.entity, door.mode, door.event) == ("door", "common", None)


def test_names_may_repeat_and_must_be_known(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Bob"])
    assert of(memory, ["Ann", "Bob", "Ann"], "door").beliefs == {"Ann": "open", "Bob": "open"}
    with pytest.raises(UnknownNameError, match="Did you mean 'Ann'"):
        memory.common_ground(["ann", "Bob"])
    with pytest.raises(InvalidInputError, match="agents: expected one or more"):
        memory.common_ground([])


def test_it_can_be_asked_as_of_an_earlier_time_when_nothing_can_be_recorded(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Bob"], happened_at=1_000)
    memory.set("door", "shut", audience=["Ann"], happened_at=2_000)
    assert of(memory, ["Ann", "Bob"], "door").event is not None
    [before] = memory.common_ground(["Ann", "Bob"], as_of=1_999)
    [after] = memory.common_ground(["Ann", "Bob"], as_of=2_000)
    assert (before.mode, before.truth) == ("common", "open")
    assert (after.mode, after.truth, after.event) == ("distributed", "shut", None)
    assert memory.common_ground(["Ann", "Bob"], as_of=999) == []


def test_settling_changes_nothing(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Bob", "Cyd"])
    for number in range(80):
        memory.set("door", "open", audience=["Ann", "Bob"] if number % 2 else ["Bob", "Cyd"])
        assert of(memory, ["Ann", "Bob", "Cyd"], "door").mode == "common"


def test_one_read_a_mind_whatever_the_depth_and_the_number_of_entities(memory: Memory) -> None:
    agents = missing_one_each(memory, 4)
    memory.set("menu", "soup", audience=agents)
    world = f"GRAPH.RO_QUERY {world_key(memory.scenario)}"
    minds = [f"GRAPH.RO_QUERY {mind_key(memory.scenario, agent)}" for agent in agents]
    with commands_of(memory) as trips:
        memory.common_ground(agents)
    assert trips == [[world, world], [world, world, *minds]]
    with commands_of(memory) as trips:
        common_ground_seen(memory.database, memory.scenario, "P0", "P1")
    assert trips == [minds[:1]]


# What would make it common ---------------------------------------------------------------------


def test_one_of_them_who_knows_what_is_so_tells_the_others(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann", "Cyd"])
    memory.set("door", "shut", audience=["Bob"])
    event = of(memory, ["Ann", "Bob", "Cyd"], "door").event
    assert event == {
        "kind": "tell", "speaker": "Bob", "listeners": ["Ann", "Cyd"],
        "entity": "door", "value": "shut",
    }
    memory.record([event])
    assert of(memory, ["Ann", "Bob", "Cyd"], "door").mode == "common"


def test_where_listeners_believe_only_so_deep_it_is_declared(new_memory: NewMemory) -> None:
    memory = new_memory(policy="exit-order", rooms="place")
    memory.set("door", "open", audience=["Ann", "Cyd"])
    memory.tell("Ann", "Bob", "door", "open")
    ground = of(memory, ["Ann", "Bob"], "door")
    assert (ground.mode, ground.depth) == ("mutual", 2)
    assert ground.event == {
        "kind": "say", "speaker": "Ann", "audience": ["Bob"], "entity": "door", "value": "open"
    }
    memory.record([ground.event])
    assert of(memory, ["Ann", "Bob"], "door").mode == "common"


def test_what_none_of_them_knows_is_shown_to_them_and_no_error_is_spread(memory: Memory) -> None:
    memory.set("door", "open", audience=["Ann"])
    memory.tell("Ann", "Bob", "door", "open")
    memory.set("door", "shut", audience=["Cyd"])
    memory.set("key", "lost", audience=["Ann"])
    memory.set("key", "lost", audience=["Bob"])
    memory.set("key", "found", audience=["Cyd"])
    door, key = memory.common_ground(["Ann", "Bob"])
    assert (door.mode, door.truth, door.event) == ("common", "shut", None)
    assert (key.mode, key.value) == ("believed", "lost")
    assert key.event == {
        "kind": "state", "entity": "key", "value": "found", "audience": ["Ann", "Bob"]
    }
    memory.record([key.event])
    assert of(memory, ["Ann", "Bob"], "key").value == "found"


def test_of_several_values_none_is_proposed_where_no_truth_is_recorded(memory: Memory) -> None:
    memory.tell("Cyd", "Ann", "door", "open")
    memory.tell("Cyd", "Bob", "door", "shut")
    assert of(memory, ["Ann", "Bob"], "door").event is None
    assert of(memory, ["Ann", "Cyd"], "door").event == {
        "kind": "tell", "speaker": "Ann", "listeners": ["Cyd"], "entity": "door", "value": "open"
    }


@pytest.mark.parametrize("name", ["support", "org", "sally"])
def test_what_is_proposed_makes_it_common_on_a_fork(new_memory: NewMemory, name: str) -> None:
    story = scenarios.load(name)
    memory = new_memory(policy=story.settings.policy, rooms=story.settings.rooms)
    scenarios.play(memory, story)
    agents = memory.agents()
    kinds = set()
    first, *others = agents
    for group in [*((first, other) for other in others), tuple(others), tuple(agents)]:
        events = [ground.event for ground in memory.common_ground(group) if ground.event]
        kinds |= {event["kind"] for event in events}
        if events:
            with memory.fork() as fork:
                fork.record(events)
                assert set(modes(fork.common_ground(group)).values()) == {"common"}
    assert kinds


# The tools -------------------------------------------------------------------------------------


def test_support_lead_reads_what_everyone_shares(support: Memory) -> None:
    everyone = ["Maya", "Billing", "Finance", "Escalation", "Shipping"]
    assert common.common_ground(support, everyone).text() == (
        "- order_4411: common, 'broken'.\n"
        "- refund_4411: not shared: 'rejected' (Billing, Finance and Escalation), 'approved' "
        "(Maya), unknown (Shipping). To make it common: Billing tells the others 'rejected', all "
        "at once.\n"
        "- address_4411: not shared: '7 Oak Lane' (Maya and Billing), '12 Elm Street' (Escalation "
        "and Shipping), unknown (Finance). To make it common: Maya tells the others '7 Oak Lane', "
        "all at once.\n"
        "- replacement_4411: not shared: 'decided' (Billing and Finance), 'packed' (Escalation and "
        "Shipping), unknown (Maya). To make it common: Escalation tells the others 'packed', all "
        "at once."
    )
    assert common.common_ground(support, ["Escalation", "Shipping"]).text() == (
        "- address_4411: common, '12 Elm Street'; in truth it is '7 Oak Lane'.\n"
        "- order_4411: common, 'broken'.\n"
        "- replacement_4411: common, 'packed'.\n"
        "- refund_4411: not shared: 'rejected' (Escalation), unknown (Shipping). To make it "
        "common: Escalation tells Shipping 'rejected'."
    )
    assert common.common_ground(support, ["Maya", "Shipping"], "refnd_4411").text() == (
        "Nothing is known to Maya and Shipping. No event of this scenario is about 'refnd_4411'. "
        "Did you mean refund_4411?"
    )


def test_everyone_of_org_believes_the_date_and_not_that_the_others_do(org: Memory) -> None:
    answered = common.common_ground(org, org.agents())
    assert answered.text() == (
        "- release_notes: common, 'Grace'.\n"
        "- launch_date: all believe 'Tuesday', but Ada thinks Dan believes 'Friday'. To make it "
        "common: Ada tells the others 'Tuesday', all at once."
    )
    assert answered.grounds[1].model_dump() == {
        "entity": "launch_date", "mode": "believed", "depth": 1, "value": "Tuesday", "beliefs": {},
        "gap": ["Ada", "Dan"], "gap_value": "Friday", "truth": "Tuesday",
        "to_make_common": {
            "kind": "tell", "speaker": "Ada",
            "listeners": ["Ben", "Chloe", "Dan", "Eva", "Finn", "Grace"],
            "entity": "launch_date", "value": "Tuesday",
        },
    }


def test_other_sentences_say_what_is_missing_and_what_to_do(new_memory: NewMemory) -> None:
    memory = new_memory(policy="exit-order")
    memory.tell("Ann", "Bob", "door", "open")
    memory.set("door", "open", audience=["Ann"])
    memory.set("key", "lost", audience=["Ann", "Bob", "Cyd", "Dee", "Eve", "Fay"])
    memory.set("key", "found", by="Gus")
    assert common.common_ground(memory, ["Ann", "Bob"]).text().splitlines()[1] == (
        "- door: 'open', mutual to depth 2, but Ann thinks Bob thinks Ann does not know. To make "
        "it common: Ann says 'open' to Bob."
    )
    assert common.common_ground(memory, memory.agents(), "key").text() == (
        "- key: not shared: 'lost' (Ann, Bob, Cyd, Dee and 2 more), 'found' (Gus). To make it "
        "common: Gus says 'found' to the others, all at once."
    )
    memory.set("key", "gone", by="Hal")
    agents = [agent for agent in memory.agents() if agent != "Hal"]
    assert common.common_ground(memory, agents, "key").text() == (
        "- key: not shared: 'lost' (Ann, Bob, Cyd, Dee and 2 more), 'found' (Gus); in truth it is "
        "'gone'. To make it common: show them 'gone' (a state with the group as its audience), all "
        "at once."
    )


def test_the_most_shared_come_first_and_the_rest_is_cut_with_how_to_narrow(memory: Memory) -> None:
    for number in range(25):
        memory.set(f"e{number:02}", "v", audience=["Ann"])
    memory.set("z", "v", audience=["Ann", "Bob"])
    answered = common.common_ground(memory, ["Ann", "Bob"])
    assert (answered.cut, answered.total, len(answered.grounds)) == (True, 26, 20)
    assert [ground.entity for ground in answered.grounds][:3] == ["z", "e00", "e01"]
    assert answered.text().endswith("\n20 of 26, most shared first. Narrow with entity.")
    assert not common.common_ground(memory, ["Ann", "Bob"], "e24").cut


def test_an_agent_reads_what_it_shares_as_it_sees_it(support: Memory) -> None:
    support.grant("Escalation")
    with view_of("Escalation", support.scenario, support.store) as view:
        assert own_mind.common_ground(view, "Maya").text() == (
            "As Escalation sees it:\n"
            "- order_4411: common, 'broken'.\n"
            "- address_4411: not shared: '12 Elm Street' (Escalation), unknown (Maya).\n"
            "- refund_4411: not shared: 'rejected' (Escalation), 'approved' (Maya).\n"
            "- replacement_4411: not shared: 'packed' (Escalation), unknown (Maya)."
        )
        assert own_mind.common_ground(view, "Maya", "order_4411").total == 1


def test_an_agent_is_told_of_both_what_its_own_mind_says_of_both(memory: Memory) -> None:
    """Ann believes it and thinks that Bob does, and not that Bob thinks so of Ann."""
    memory.set("door", "open", audience=["Ann"])
    memory.report("Cyd", "Bob", "door", "open", listeners=["Ann"])
    memory.set("key", "lost", audience=["Ann", "Bob"])
    memory.set("key", "found", audience=["Bob"])
    memory.grant("Ann")
    with view_of("Ann", memory.scenario, memory.store) as view:
        assert own_mind.common_ground(view, "Bob").text() == (
            "As Ann sees it:\n"
            "- key: common, 'lost'.\n"
            "- door: all believe 'open', but Ann thinks Bob thinks Ann does not know."
        )


def test_hidden_and_absent_answer_the_same(support: Memory) -> None:
    support.set("plan", "secret", audience=["Escalation"])
    support.grant("Maya")
    with view_of("Maya", support.scenario, support.store) as view:
        hidden, absent = (
            own_mind.common_ground(view, person, entity)
            for person, entity in (("Zoe", "plan"), ("Noe", "nalp"))
        )
        assert hidden.text() == absent.text().replace("Noe", "Zoe")
        hidden, absent = (own_mind.common_ground(view, person) for person in ("Zoe", "Noe"))
        renamed = absent.model_dump_json().replace("Noe", "Zoe")
        assert hidden.model_dump_json() == renamed
