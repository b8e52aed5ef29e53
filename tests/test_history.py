"""The log as answers tell it: `timeline`, `missed`, `replay`, and an agent's `what_changed`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, attentive_logs, attentive_settings, logs, settings
from stores import view_of
from test_memory import commands_of

from so_mcp import AgentView, Memory, scenarios
from so_mcp.errors import InvalidInputError, UnknownNameError
from so_mcp.history import Change, what_changed
from so_mcp.minds import Since
from so_mcp.names import mind_key
from so_mcp.seen import SeenEvent
from so_mcp.tools import history, own_mind
from so_mcp.wording import circles, happened

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def sally(memory: Memory) -> Memory:
    scenarios.play(memory, scenarios.load("sally"))
    return memory


@pytest.fixture
def billing(support: Memory) -> Iterator[AgentView]:
    """Billing's own view, with its own login."""
    support.grant("Billing")
    with view_of("Billing", support.scenario, support.store) as view:
        yield view


def numbers(found: Any) -> list[int]:
    return [event.number for event in found.events]


def batch(size: int, audience: list[str]) -> list[dict[str, Any]]:
    """Events of one call without times: they share a moment."""
    return [
        {"kind": "state", "entity": "refund", "value": str(number), "audience": audience}
        for number in range(size)
    ]


# What happened -----------------------------------------------------------------------------------


def test_the_timeline_says_who_did_what_where_and_who_saw_it_newest_last(support: Memory) -> None:
    assert history.timeline(support, limit=5).text() == (
        "- event 28, 2026-03-02T10:15:00Z: Shipping told Escalation in dispatch that address_4411 "
        "is '12 Elm Street'. Seen by Escalation and Shipping.\n"
        '- event 29, 2026-03-02T10:16:00Z: Escalation said "Perfect. Now somebody has to talk to '
        'Maya." in dispatch. Seen by Escalation and Shipping.\n'
        "- event 30, 2026-03-02T10:20:00Z: Escalation entered chat. Seen by Escalation.\n"
        "- event 31, 2026-03-02T10:31:00Z: Maya entered chat. Seen by Escalation and Maya.\n"
        '- event 32, 2026-03-02T10:32:00Z: Maya said "Hello again! When will I have my money?" in '
        "chat. Seen by Escalation and Maya.\n"
        "The newest 5 of 32. Narrow with entity, agent or since; as_of goes back; or raise limit."
    )


def test_the_timeline_of_an_entity_and_of_a_witness(support: Memory) -> None:
    assert history.timeline(support, entity="refund_4411").text() == (
        "- event 10, 2026-03-02T09:18:00Z: Maya said refund_4411 is 'requested' in chat. Seen by "
        "Billing and Maya.\n"
        "- event 11, 2026-03-02T09:21:00Z: Billing said refund_4411 is 'approved' in chat. Seen by "
        "Billing and Maya.\n"
        "- event 15, 2026-03-02T09:40:00Z: Billing told Finance in internal that refund_4411 is "
        "'approved'. Seen by Billing and Finance.\n"
        "- event 16, 2026-03-02T09:52:00Z: Finance said refund_4411 is 'rejected' in internal. Seen "
        "by Billing and Finance.\n"
        "- event 20, 2026-03-02T09:58:00Z: Billing told Escalation and Finance in internal that "
        "refund_4411 is 'rejected'. Seen by Billing, Escalation and Finance.\n"
        "- event 22, 2026-03-02T10:01:00Z: Billing told Escalation and Finance in internal that "
        "Maya believes refund_4411 is 'approved'. Seen by Billing, Escalation and Finance."
    )
    assert numbers(support.timeline(entity="refund_4411", agent="Maya")) == [10, 11]
    seen = support.timeline(agent="Shipping", limit=500)
    assert numbers(seen) == [1, 2, 3, 6, 9, 25, 26, 27, 28, 29]
    assert all("Shipping" in event.witnesses for event in seen.events)


def test_since_is_a_step_or_a_time_and_as_of_ends_it(support: Memory) -> None:
    assert numbers(support.timeline(since=30)) == [31, 32]
    assert numbers(support.timeline(since="2026-03-02T10:20:00Z")) == [30, 31, 32]
    assert numbers(support.timeline(since=1_772_446_800_000)) == [30, 31, 32]
    assert numbers(support.timeline(since="2026-03-02T10:20:00.001Z")) == [31, 32]
    assert numbers(support.timeline(as_of="2026-03-02T09:00:00Z")) == [1, 2, 3]
    assert numbers(support.timeline(since=1, as_of="2026-03-02T09:00:00Z", limit=1)) == [3]
    assert support.timeline(since=32).events == ()


@pytest.mark.parametrize("since", [-1, True, "12", "yesterday", 2**60])
def test_a_since_that_is_neither_is_refused_with_both_that_would_do(
    memory: Memory, since: Any
) -> None:
    with pytest.raises(InvalidInputError, match=r"^since: expected a step as a number from 0, or a "):
        memory.timeline(since=since)


def test_what_is_not_there_is_said_to_be_so(support: Memory) -> None:
    assert history.timeline(support, entity="refnd_4411").text() == (
        "No such event. No event of this scenario is about 'refnd_4411'. Did you mean refund_4411?"
    )
    assert history.timeline(support, since=32).text() == "No such event."
    assert "Did you mean refund_4411?" in history.replay(support, "refnd_4411").text()
    assert "Did you mean refund_4411?" in history.missed(support, "Maya", entity="refnd_4411").text()
    for ask in (lambda: support.timeline(agent="maya"), lambda: support.missed("maya")):
        with pytest.raises(UnknownNameError, match="Did you mean 'Maya'"):
            ask()
    for ask in (support.timeline, lambda limit: support.missed("Maya", limit=limit),
                lambda limit: support.replay("refund_4411", limit=limit)):
        with pytest.raises(InvalidInputError, match="limit: expected 1 or more, got 0"):
            ask(limit=0)


def test_an_alias_means_the_same_in_every_question(support: Memory) -> None:
    support.alias("the refund", "refund_4411")
    support.alias("Ms Elm", "Maya")
    assert support.timeline("the refund", "Ms Elm") == support.timeline("refund_4411", "Maya")
    assert support.missed("Ms Elm", entity="the refund") == support.missed(
        "Maya", entity="refund_4411"
    )
    assert support.replay("the refund") == support.replay("refund_4411")


SEEN: dict[str, Any] = {
    "number": 1, "at": 0, "actor": "Ann", "room": "hall", "entity": "lamp", "value": "lit",
    "text": None, "about": None, "witnesses": ("Ann", "Bob", "Cyd"),
}
SAID = SeenEvent(**SEEN, kind="say")
ABOUT: dict[str, Any] = {"target": 1, "of": SAID}
READ = ABOUT | {"kind": "read", "actor": None, "agents": ("Bob",), "room": None, "value": None}
EDITED = ABOUT | {"kind": "edit", "number": 2, "value": "off", "edits": "say"}
EDIT = SeenEvent(**SEEN | EDITED)
RETRACT = ABOUT | {"kind": "retract", "value": None}
FORWARD = ABOUT | {"kind": "forward", "actor": "Bob", "room": None, "audience": ("Dee",)}


@pytest.mark.parametrize(
    ("fields", "clause"),
    [
        ({"kind": "enter", "agents": ("Ann", "Bob")}, "Ann and Bob entered hall"),
        ({"kind": "exit", "agents": ("Ann",)}, "Ann left hall"),
        ({"kind": "exit", "agents": ("Ann",), "room": None}, "Ann left every room"),
        ({"kind": "state"}, "Ann set lamp to 'lit' in hall"),
        ({"kind": "state", "room": None}, "Ann set lamp to 'lit'"),
        ({"kind": "state", "value": None}, "Ann made lamp unknown in hall"),
        ({"kind": "state", "actor": None}, "lamp became 'lit' in hall"),
        ({"kind": "state", "actor": None, "value": None}, "lamp became unknown in hall"),
        ({"kind": "say"}, "Ann said lamp is 'lit' in hall"),
        ({"kind": "say", "value": None}, "Ann said lamp is unknown in hall"),
        ({"kind": "say", "entity": None, "value": None, "text": "Hello,\n you  two!"},
         'Ann said "Hello, you two!" in hall'),
        ({"kind": "say", "entity": None, "value": None, "text": "a" * 81},
         f'Ann said "{"a" * 79}…" in hall'),
        ({"kind": "announce", "everyone": True, "room": None}, "Ann announced that lamp is 'lit'"),
        ({"kind": "tell"}, "Ann told Bob and Cyd in hall that lamp is 'lit'"),
        ({"kind": "tell", "room": None, "everyone": True}, "Ann told everyone that lamp is 'lit'"),
        ({"kind": "tell", "witnesses": ("Ann",)}, "Ann said in hall that lamp is 'lit'"),
        ({"kind": "tell", "audience": ("@crew", "Bob"), "room": None},
         "Ann told @crew and Bob that lamp is 'lit'"),
        ({"kind": "tell", "witnesses": ("Ann", "Bob", "Eve"), "hidden": ("Eve",)},
         "Ann told Bob in hall that lamp is 'lit'"),
        ({"kind": "tell", "witnesses": ("Ann", *"abcdefghi")},
         "Ann told a, b, c, d, e, f, g and 2 others in hall that lamp is 'lit'"),
        ({"kind": "tell", "value": "x" * 20_000, "witnesses": ("Ann", "Bob")},
         f"Ann told Bob in hall that lamp is '{'x' * 79}…'"),
        ({"kind": "report", "about": "Dee", "room": None},
         "Ann told Bob and Cyd that Dee believes lamp is 'lit'"),
        ({"kind": "enter", "agents": ("Ann",), "room": "@crew"}, "Ann joined @crew"),
        ({"kind": "away", "agents": ("Ann", "@crew")}, "Ann and @crew stepped away from hall"),
        ({"kind": "away", "agents": ("Ann",), "room": None}, "Ann stepped away"),
        ({"kind": "back", "agents": ("Ann",)}, "Ann came back to hall"),
        ({"kind": "back", "agents": ("Ann",), "room": None}, "Ann came back"),
        (READ, "Bob read event 1 (Ann said lamp is 'lit' in hall)"),
        (READ | {"receipt": True}, "Bob read event 1 (Ann said lamp is 'lit' in hall), with a receipt"),
        (READ | {"room": "hall"},
         "Bob read event 1 (Ann said lamp is 'lit' in hall) and acknowledged it in hall"),
        (READ | {"audience": ("Ann",)},
         "Bob read event 1 (Ann said lamp is 'lit' in hall) and acknowledged it to Ann"),
        (READ | {"of": EDIT}, "Bob read event 1 as edited (event 2: lamp is now 'off')"),
        ({"kind": "read", "actor": None, "agents": ("Bob",), "room": None, "target": 1},
         "Bob read event 1"),
        (EDITED, "Ann edited event 1 in hall: lamp is now 'off'"),
        (EDITED | {"room": None}, "Ann edited event 1: lamp is now 'off'"),
        (EDITED | {"room": None, "audience": ("Bob",)}, "Ann edited event 1 for Bob: lamp is now 'off'"),
        (EDITED | {"value": "lit", "text": "Lit, I think."},
         'Ann edited event 1 in hall: it says now "Lit, I think."'),
        (EDITED | {"about": "Dee"}, "Ann edited event 1 in hall: Dee believes lamp is now 'off'"),
        (EDITED | {"entity": None, "value": None, "text": "Bye."},
         'Ann edited event 1 in hall: it says now "Bye."'),
        (RETRACT, "Ann retracted event 1 in hall (Ann said lamp is 'lit' in hall)"),
        (RETRACT | {"room": None, "audience": ("Bob", "Cyd")},
         "Ann told Bob and Cyd that event 1 is retracted (Ann said lamp is 'lit' in hall)"),
        (RETRACT | {"room": None, "everyone": True},
         "Ann told everyone that event 1 is retracted (Ann said lamp is 'lit' in hall)"),
        (FORWARD, "Bob passed event 1 on to Dee (Ann said lamp is 'lit' in hall)"),
        (FORWARD | {"audience": (), "room": "yard"},
         "Bob passed event 1 on in yard (Ann said lamp is 'lit' in hall)"),
        (FORWARD | {"audience": (), "everyone": True},
         "Bob passed event 1 on to everyone (Ann said lamp is 'lit' in hall)"),
    ],
)
def test_every_kind_of_event_reads_as_a_clause(fields: dict[str, Any], clause: str) -> None:
    assert happened(SeenEvent(**SEEN | fields)) == clause


def test_a_timeline_says_who_did_not_take_it_in_who_did_unseen_and_who_noticed(
    memory: Memory,
) -> None:
    memory.record([{"kind": "say", "speaker": "Ann", "entity": "lamp", "value": "lit",
                    "audience": ["Bob", "Cyd"], "distracted": ["Bob"], "hidden": ["Eve"],
                    "noticed": ["Dee"], "happened_at": 1_000}])
    assert history.timeline(memory).text() == (
        "- event 1, 1970-01-01T00:00:01Z: Ann said lamp is 'lit' (Bob did not take it in; Eve unseen; "
        "Dee saw them talk). Seen by Ann, Cyd and Eve."
    )


# What was missed ---------------------------------------------------------------------------------


def test_what_an_agent_missed_comes_newest_first_with_who_could_tell_it(support: Memory) -> None:
    assert history.missed(support, "Maya", entity="refund_4411").text() == (
        "Maya missed:\n"
        "- event 22, 2026-03-02T10:01:00Z: Billing told Escalation and Finance in internal that "
        "Maya believes refund_4411 is 'approved'. Could tell it: Billing, Escalation and Finance.\n"
        "- event 20, 2026-03-02T09:58:00Z: Billing told Escalation and Finance in internal that "
        "refund_4411 is 'rejected'. Could tell it: Billing, Escalation and Finance.\n"
        "- event 16, 2026-03-02T09:52:00Z: Finance said refund_4411 is 'rejected' in internal. "
        "Could tell it: Billing and Finance.\n"
        "- and what Maya believes all the same: event 15."
    )
    everything = support.missed("Maya")
    assert [found.event.number for found in everything.events] == [
        29, 28, 27, 26, 23, 22, 21, 20, 18, 17, 16, 15, 9, 2
    ]
    assert all("Maya" not in found.event.witnesses for found in everything.events)


def test_who_came_and_went_is_not_among_what_was_missed(support: Memory) -> None:
    kinds = {found.event.kind for found in support.missed("Maya").events}
    assert kinds == {"say", "tell", "report"}


def test_what_was_missed_but_learned_otherwise_is_told_apart(org: Memory) -> None:
    assert history.missed(org, "Dan").text() == (
        "Dan missed:\n"
        '- event 7, 2026-03-02T15:31:00Z: Chloe said "The payment tests are red, and they will not '
        'be green by Friday." in thread. Could tell it: Ada, Ben and Chloe.\n'
        "- and what Dan believes all the same: events 12, 11, 10 and 8."
    )
    before = org.missed("Dan", as_of="2026-03-02T16:01:00Z")  # Ben has not written to Dan yet
    assert [(found.event.number, found.knows) for found in before.events] == [(8, False), (7, False)]
    assert history.missed(org, "Dan", since=10, limit=1).text() == (
        "Dan missed:\n- and what Dan believes all the same: event 12.\n"
        "The newest 1 of 2. Narrow with entity or since; as_of goes back; or raise limit."
    )
    assert history.missed(org, "Ben").text() == "Ben missed nothing."


# Step by step ------------------------------------------------------------------------------------


def test_a_replay_says_who_was_where_who_saw_it_and_what_it_changed(support: Memory) -> None:
    assert history.replay(support, "refund_4411").text() == (
        "- event 10, 2026-03-02T09:18:00Z: Maya said refund_4411 is 'requested' in chat. Seen by "
        "Billing and Maya.\n"
        "  Where they are: chat: Billing and Maya; internal: Billing and Finance.\n"
        "  Now Billing and Maya believe 'requested', and think the same of each other.\n"
        "- event 11, 2026-03-02T09:21:00Z: Billing said refund_4411 is 'approved' in chat. Seen by "
        "Billing and Maya.\n"
        "  Now Billing and Maya believe 'approved' (before: 'requested'), and think the same of "
        "each other.\n"
        "- event 15, 2026-03-02T09:40:00Z: Billing told Finance in internal that refund_4411 is "
        "'approved'. Seen by Billing and Finance.\n"
        "  Where they are: chat: Billing; internal: Billing and Finance.\n"
        "  Now Finance believes 'approved'; Billing and Finance think each other believe "
        "'approved'.\n"
        "- event 16, 2026-03-02T09:52:00Z: Finance said refund_4411 is 'rejected' in internal. Seen "
        "by Billing and Finance.\n"
        "  Now Billing and Finance believe 'rejected' (before: 'approved'), and think the same of "
        "each other.\n"
        "- event 20, 2026-03-02T09:58:00Z: Billing told Escalation and Finance in internal that "
        "refund_4411 is 'rejected'. Seen by Billing, Escalation and Finance.\n"
        "  Where they are: chat: Billing; internal: Billing, Escalation and Finance.\n"
        "  Now Escalation believes 'rejected'; Billing and Finance think Escalation believes "
        "'rejected'; Escalation thinks Billing and Finance believe 'rejected'.\n"
        "- event 22, 2026-03-02T10:01:00Z: Billing told Escalation and Finance in internal that "
        "Maya believes refund_4411 is 'approved'. Seen by Billing, Escalation and Finance.\n"
        "  Now Escalation and Finance think Maya believes 'approved'."
    )


def test_a_replay_of_private_messages_changes_two_minds_at_a_time(org: Memory) -> None:
    lines = history.replay(org, "launch_date").text().splitlines()
    assert [line for line in lines if line.startswith("  ")] == [
        "  Where they are: meeting: Ada, Ben, Chloe, Dan, Eva, Finn and Grace.",
        ("  Now Ada, Ben, Chloe, Dan, Eva, Finn and Grace believe 'Friday', and think the same of "
         "each other."),
        "  Where they are: thread: Ada, Ben and Chloe.",
        ("  Now Ada, Ben and Chloe believe 'Tuesday' (before: 'Friday'), and think the same of each "
         "other."),
        *(f"  Now {name} believes 'Tuesday' (before: 'Friday'); Ben and {name} think each other "
          "believe 'Tuesday' (before: 'Friday')." for name in ("Dan", "Eva", "Finn", "Grace")),
    ]
    first, *_ = org.replay("launch_date").steps
    assert len(first.changes) == 7 + 42


def test_coming_to_see_something_on_entering_is_a_step_of_its_replay(new_memory: NewMemory) -> None:
    memory = new_memory(rooms="place")
    memory.join("Ann", "kitchen")
    memory.set("lamp", "lit", room="kitchen", located_in="kitchen")
    memory.join("Ann", "kitchen")  # she has seen it: nothing changes
    memory.join("Bob", "garden")
    memory.join("Bob", "kitchen")  # which leaves the garden
    assert [
        (step.event.number, step.where, [(c.chain, c.held.via) for c in step.changes])
        for step in memory.replay("lamp").steps
    ] == [
        (2, {"kitchen": ("Ann",)}, [(("Ann",), "saw")]),
        (5, {"kitchen": ("Ann", "Bob")},
         [(("Bob",), "saw"), (("Ann", "Bob"), "saw"), (("Bob", "Ann"), "saw")]),
    ]


def test_events_that_share_a_moment_are_replayed_one_after_the_other(memory: Memory) -> None:
    events = batch(3, ["Ann", "Bob"]) + batch(1, ["Ann"])
    recorded = memory.record(events)
    assert len({one.event.at for one in recorded.events}) == 1
    changes = [
        [(change.chain, change.before, change.held.value) for change in step.changes]
        for step in memory.replay("refund").steps
    ]
    chains = [("Ann",), ("Bob",), ("Ann", "Bob"), ("Bob", "Ann")]
    assert changes == [
        [(chain, None, "0") for chain in chains],
        [(chain, "0", "1") for chain in chains],
        [(chain, "1", "2") for chain in chains],
        [(("Ann",), "2", "0")],
    ]


def test_the_newest_steps_are_kept_and_what_was_believed_before_them_is_known(
    memory: Memory,
) -> None:
    memory.record(batch(3, ["Ann", "Bob"]))
    found = history.replay(memory, "refund", limit=1)
    assert found.cut
    first, second = found.text().splitlines()[-2:]
    assert first == (
        "  Now Ann and Bob believe '2' (before: '1'), and think the same of each other."
    )
    assert second == "Earlier events are left out: as_of goes back; or raise limit."
    assert not history.replay(memory, "refund", limit=3).cut


def test_a_replay_as_of_an_earlier_time_ends_there(support: Memory) -> None:
    found = support.replay("refund_4411", as_of="2026-03-02T09:45:00Z")
    assert [step.event.number for step in found.steps] == [10, 11, 15]
    assert found.steps == support.replay("refund_4411").steps[:3]


def test_an_event_that_changed_nobodys_belief_is_said_to_have(memory: Memory) -> None:
    memory.set("refund", "open", audience=["Ann"])
    memory.set("refund", "open", audience=["Ann"])
    memory.set("refund", "lost")
    memory.set("refund", None, audience=["Ann"])
    lines = history.replay(memory, "refund").text().splitlines()
    assert [line for line in lines if line.startswith("  ")] == [
        "  Where they are: in no room.",
        "  Now Ann believes 'open'.",
        "  It changed nobody's belief.",
        "  It changed nobody's belief.",
        "  Now Ann no longer knows (before: 'open').",
    ]


@given(log=logs(), chosen=settings)
@on_the_real_engine
def test_after_each_event_a_replay_and_the_model_agree_on_orders_1_and_2(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    chains = [(a,) for a in AGENTS] + [(a, b) for a in AGENTS for b in AGENTS if a != b]
    at: dict[str, dict[int, list[Change]]] = {
        entity: {step.event.number: list(step.changes) for step in memory.replay(entity).steps}
        for entity in ENTITIES
    }
    believed: dict[tuple[tuple[str, ...], str], str | None] = {}
    for number, event in enumerate(log, 1):
        reference.record(event)
        for entity in ENTITIES:
            for change in at[entity].pop(number, ()):
                assert believed.get((change.chain, entity)) == change.before
                believed[change.chain, entity] = change.held.value
            for chain in chains:
                assert believed.get((chain, entity)) == reference.believes(chain, entity)
            assert event.get("entity") != entity or number in {
                step.event.number for step in memory.replay(entity).steps
            }
    assert not any(left for left in at.values())


def test_however_long_and_crowded_the_round_trips_are_as_many(memory: Memory) -> None:
    for size in (3, 15):
        agents = [f"A{number}" for number in range(size)]
        memory.record(batch(size, agents))
        for question, trips_expected, minds in (
            (lambda: memory.timeline("refund", "A0"), 2, 0),
            (lambda: memory.missed("A0", entity="refund"), 3, 1),
            (lambda: memory.replay("refund", limit=500), 4, size),
        ):
            with commands_of(memory) as trips:
                question()
            assert len(trips) == trips_expected
            assert len([c for trip in trips for c in trip if ":mind:" in c]) == minds


# In few words ------------------------------------------------------------------------------------


def test_pairs_are_grouped_so_that_all_and_only_they_are_said() -> None:
    everyone = [(a, b) for a in "abc" for b in "abc" if a != b]
    [circle] = circles(everyone)
    assert (circle.agents, circle.of, circle.whom()) == (("a", "b", "c"), (), "each other")
    [circle] = circles([*everyone, ("a", "d"), ("b", "d"), ("c", "d")])
    assert (circle.agents, circle.whom()) == (("a", "b", "c"), "each other and d")
    [circle] = circles([("a", "c"), ("b", "c")])
    assert (circle.agents, circle.whom()) == (("a", "b"), "c")
    assert circles([]) == []


@given(log=logs())
@hypothesis_settings(max_examples=20)
def test_grouping_loses_no_pair_and_adds_none(log: list[dict[str, Any]]) -> None:
    pairs = {(str(e.get("speaker")), str(e.get("entity"))) for e in log}
    pairs |= {(str(e.get("about")), str(e.get("speaker"))) for e in log}
    pairs = {(a, b) for a, b in pairs if a != b}
    said = [
        (agent, other)
        for circle in circles(sorted(pairs))
        for agent in circle.agents
        for other in (*circle.of, *(circle.agents if circle.each_other else ()))
        if other != agent
    ]
    assert sorted(said) == sorted(pairs)


# What is new to an agent -------------------------------------------------------------------------


def test_what_changed_for_an_agent_newest_last(billing: AgentView) -> None:
    assert own_mind.what_changed(billing, since="2026-03-02T09:21:00Z").text() == (
        "- step 11, 2026-03-02T09:21:00Z: refund_4411: you believe 'approved' (before: "
        "'requested'), and think the same of Maya (said by Billing).\n"
        "- step 12, 2026-03-02T09:24:00Z: address_4411: you believe '7 Oak Lane' (before: '12 Elm "
        "Street'), and think the same of Maya (said by Maya).\n"
        "- step 15, 2026-03-02T09:40:00Z: refund_4411: you think Finance believes 'approved' (told "
        "by Billing).\n"
        "- step 16, 2026-03-02T09:52:00Z: refund_4411: you believe 'rejected' (before: 'approved'),"
        " and think the same of Finance (said by Finance).\n"
        "- step 17, 2026-03-02T09:54:00Z: replacement_4411: you believe 'decided', and think the "
        "same of Finance (said by Finance).\n"
        "- step 20, 2026-03-02T09:58:00Z: refund_4411: you think Escalation believes 'rejected' "
        "(told by Billing).\n"
        "- step 21, 2026-03-02T09:59:00Z: replacement_4411: you think Escalation believes 'decided' "
        "(told by Billing)."
    )
    assert own_mind.what_changed(billing, since=17, limit=1).text() == (
        "- step 21, 2026-03-02T09:59:00Z: replacement_4411: you think Escalation believes 'decided' "
        "(told by Billing).\nThe newest 1 of 2. Give a later since, or raise limit."
    )
    assert own_mind.what_changed(billing, since=21).text() == "Nothing has changed for you."


def test_polling_with_the_step_of_the_last_answer_gives_each_change_once(memory: Memory) -> None:
    memory.set("refund", "open", audience=["Ann", "Bob"])
    memory.grant("Ann")
    with view_of("Ann", memory.scenario, memory.store) as view:
        step = view.step()
        memory.record(batch(2, ["Ann", "Bob"]))
        first = view.what_changed(step)
        assert [(c.chain, c.before, c.held.value) for c in first] == [
            (("Ann",), "open", "0"), (("Ann", "Bob"), "open", "0"),
            (("Ann",), "0", "1"), (("Ann", "Bob"), "0", "1"),
        ]
        step = view.step()
        memory.set("refund", "1", audience=["Ann"])  # what she believes already
        memory.set("refund", None, audience=["Ann"])
        assert [(c.chain, c.before, c.held.value) for c in view.what_changed(step)] == [
            (("Ann",), "1", None)
        ]


@given(log=logs(), chosen=settings)
@on_the_real_engine
def test_all_that_changed_is_all_that_is_believed(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    """Folded from the beginning, `what_changed` gives what the model holds of orders 1 and 2."""
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    for event in log:
        reference.record(event)
    for agent in reference.agents:
        memory.grant(agent)
        with view_of(agent, memory.scenario, memory.store) as view:
            believed = {(c.chain, c.held.entity): c.held.value for c in view.what_changed()}
        for chain in [(agent,), *((agent, other) for other in AGENTS if other != agent)]:
            for entity in ENTITIES:
                assert believed.get((chain, entity)) == reference.believes(chain, entity)


def test_nothing_that_did_not_reach_an_agent_shows_in_what_changed(
    support: Memory, billing: AgentView
) -> None:
    before = own_mind.what_changed(billing).model_dump_json()
    support.set("plan", "secret", audience=["Escalation", "Maya"])
    support.tell("Escalation", "Maya", "refund_4411", "rejected")
    assert own_mind.what_changed(billing).model_dump_json() == before


# What was taken back -----------------------------------------------------------------------------

often_enough = hypothesis_settings(on_the_real_engine, max_examples=120)  # few logs retract


@given(log=attentive_logs(), chosen=attentive_settings)
@often_enough
def test_all_that_changed_is_all_that_is_believed_whatever_was_read_edited_or_retracted(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    for event in log:
        reference.record(event)
    for agent in reference.agents:
        changes = what_changed(memory.database, memory.scenario, agent)
        believed = {(c.chain, c.held.entity): c.held.value for c in changes}
        for chain in [(agent,), *((agent, other) for other in AGENTS if other != agent)]:
            for entity in ENTITIES:
                assert believed.get((chain, entity)) == reference.believes(chain, entity)


@given(log=attentive_logs(), chosen=attentive_settings, data=st.data())
@often_enough
def test_what_changed_since_a_step_leads_from_what_was_believed_to_what_is(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    """But for what is found later to have been otherwise, by a void, or an event recorded late."""
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    cut = data.draw(st.integers(0, len(log)))
    newest = max([event["happened_at"] for event in log[:cut]], default=0)
    for event in log[cut:]:
        late = event["happened_at"] < newest
        assume(event["kind"] != "void" and (not late or event["kind"] == "retract"))
        newest = max(newest, event["happened_at"])
    for event in log:
        reference.record(event)
    memory.record(log[:cut])
    steps = {}
    for agent in memory.agents():
        rows = memory.database.read(mind_key(memory.scenario, agent), "mind/step")
        steps[agent] = rows[0]["step"] if rows else 0
    memory.record(log[cut:])
    for agent, step in steps.items():
        changes = what_changed(memory.database, memory.scenario, agent, Since(step=step))
        changes.sort(key=lambda change: change.held.step)
        believed = {(c.chain, c.held.entity): c.held.value for c in changes}
        first = {(c.chain, c.held.entity): c.before for c in reversed(changes)}
        for chain in [(agent,), *((agent, other) for other in AGENTS if other != agent)]:
            for entity in ENTITIES:
                before = reference.believes(chain, entity, as_recorded=cut)
                now = reference.believes(chain, entity)
                assert first.get((chain, entity), before) == before  # nothing is told twice
                assert believed.get((chain, entity), before) == now  # and nothing not


def test_what_was_retracted_is_told_as_a_change_to_what_is_left(memory: Memory) -> None:
    memory.record([
        {"kind": "say", "speaker": "Bob", "entity": "refund", "value": value, "id": value,
         "audience": ["Ann", "Cyd"], "happened_at": at}
        for value, at in (("open", 1_000), ("paid", 2_000))
    ])
    memory.record([
        {"kind": "retract", "speaker": "Bob", "event": "paid", "audience": ["Ann"],
         "happened_at": 3_000},
        {"kind": "retract", "speaker": "Bob", "event": "open", "audience": ["Ann"],
         "happened_at": 4_000},
    ])
    memory.grant("Ann")
    with view_of("Ann", memory.scenario, memory.store) as view:
        assert own_mind.what_changed(view, since=2).text() == (
            "- step 3, 1970-01-01T00:00:03Z: refund: you believe 'open' (before: 'paid'), and think "
            "the same of Bob (an earlier event was retracted).\n"
            "- step 4, 1970-01-01T00:00:04Z: refund: you no longer know (before: 'open'), and think "
            "the same of Bob (an earlier event was retracted)."
        )
        assert view.step() == 4
        assert [c.held.step for c in view.what_changed(3)] == [4, 4]
        memory.tell("Cyd", "Ann", "lunch", "noon", happened_at=5_000)
        assert [c.held.entity for c in view.what_changed(4)] == ["lunch"] * 2
        assert view.what_changed(view.step()) == []
    lines = history.replay(memory, "refund").text().splitlines()
    assert lines[-4:] == [
        ("- event 3, 1970-01-01T00:00:03Z: Bob told Ann that event 2 is retracted (Bob said refund "
         "is 'paid'). Seen by Ann and Bob."),
        ("  Now Ann and Bob believe 'open' (before: 'paid'), and think the same of each other."),
        ("- event 4, 1970-01-01T00:00:04Z: Bob told Ann that event 1 is retracted (Bob said refund "
         "is 'open'). Seen by Ann and Bob."),
        ("  Now Ann and Bob no longer know (before: 'open'), and think the same of each other."),
    ]


def test_after_a_void_nothing_is_told_that_never_happened(memory: Memory) -> None:
    memory.set("refund", "open", audience=["Ann"])
    memory.set("refund", "paid", audience=["Ann"])
    memory.void(2)
    changes = what_changed(memory.database, memory.scenario, "Ann")
    assert [(c.before, c.held.value) for c in changes] == [(None, "open")]
    memory.set("address", "old", audience=["Ann"], happened_at=1)  # recorded late
    changes = what_changed(memory.database, memory.scenario, "Ann", Since(step=1))
    assert [(c.held.entity, c.held.value) for c in changes] == [("address", "old")]
