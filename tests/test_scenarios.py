"""The scenarios that come with the package are sound stories, and show what they are there for."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from so_mcp import Memory, scenarios
from so_mcp.errors import ConflictError, UnknownNameError
from so_mcp.events import check_events

if TYPE_CHECKING:
    from collections.abc import Callable

every_scenario = pytest.mark.parametrize("name", scenarios.names())


def wrong(memory: Memory, depth: int) -> set[tuple[str, str, str | None, str | None]]:
    """(chain, entity, what it believes, what is so) of all that are wrong at a depth."""
    return {
        (" > ".join(found.chain), found.entity, found.believed, found.actual)
        for found in memory.false_beliefs(depth)
    }


@pytest.fixture
def sally(memory: Memory) -> Memory:
    scenarios.play(memory, scenarios.load("sally"))
    return memory


def test_there_are_three_scenarios_in_the_order_of_the_alphabet():
    assert scenarios.names() == ["org", "sally", "support"]


@every_scenario
def test_a_scenario_is_called_what_its_file_is_and_says_what_it_is_about(name: str):
    scenario = scenarios.load(name)
    assert scenario.name == name
    assert scenario.title
    assert scenario.summary.endswith((".", "?"))


@every_scenario
def test_every_event_is_one_that_record_takes_with_an_id_of_its_own(name: str):
    events = scenarios.load(name).events
    assert len(check_events(events)) == len(events)
    assert [event["id"] for event in events] == [f"{name}-{n:02}" for n in range(1, len(events) + 1)]


@every_scenario
def test_events_happen_minutes_apart_each_after_the_one_before_in_utc(name: str):
    times = [event["happened_at"] for event in scenarios.load(name).events]
    assert all(time.endswith("Z") for time in times)
    gaps = [
        (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
        for earlier, later in pairwise(times)
    ]
    assert min(gaps) >= 60


@every_scenario
def test_who_speaks_says_it_in_words(name: str):
    spoken = [event for event in scenarios.load(name).events if "speaker" in event]
    assert spoken
    assert all(event["text"] for event in spoken)


@every_scenario
def test_playing_records_every_event_and_the_minds_equal_a_replay(name: str, memory: Memory):
    scenario = scenarios.load(name)
    record = scenarios.play(memory, scenario)
    assert [recorded.event.id for recorded in record.events] == [e["id"] for e in scenario.events]
    assert record.near == {}
    assert memory.verify() == []


@pytest.mark.parametrize(("name", "hint"), [
    ("suport", "Did you mean 'support'?"),
    ("Sally", "Did you mean 'sally'?"),
    ("weather", "Known are: 'org', 'sally', 'support'."),
    ("../pyproject", "Known are: 'org', 'sally', 'support'."),
])
def test_a_name_that_is_none_is_refused_and_near_ones_are_offered(name: str, hint: str):
    with pytest.raises(UnknownNameError) as refused:
        scenarios.load(name)
    assert str(refused.value) == f"scenario: none is called '{name}'. {hint}"


def test_a_scenario_is_not_played_into_a_world_that_is_set_otherwise(memory: Memory):
    memory.join("Sally", "playroom")  # a channel, as rooms are unless it is said otherwise
    with pytest.raises(ConflictError, match="its rooms is 'channel'"):
        scenarios.play(memory, scenarios.load("sally"))
    assert memory.agents() == ["Sally"]


# Sally and Anne --------------------------------------------------------------------------------


def test_sally_looks_in_the_basket_and_anne_knows_that_she_will(sally: Memory):
    assert sally.truth("marble") == "box"
    assert sally.believes("Sally", "marble") == "basket"
    assert sally.believes("Anne", "marble") == "box"
    assert sally.believes(["Anne", "Sally"], "marble") == "basket"
    assert sally.believes(["Anne", "Sally", "Anne"], "marble") == "basket"
    assert wrong(sally, 1) == {("Sally", "marble", "basket", "box")}
    assert wrong(sally, 2) == {("Sally > Anne", "marble", "basket", "box")}


def test_sally_missed_that_anne_moved_the_marble(sally: Memory):
    [found] = sally.false_beliefs(1)
    assert [(event.actor, event.value, event.witnesses) for event in found.missed] == [
        ("Anne", "box", ("Anne",))
    ]


def test_coming_back_sally_sees_basket_and_box_again_and_not_what_is_in_them(sally: Memory):
    sources = {entity: sally.explain("Sally", entity).event for entity in sally.entities()}
    assert {entity: event and event.kind for entity, event in sources.items()} == {
        "basket": "enter", "box": "enter", "marble": "state",
    }


# Support ---------------------------------------------------------------------------------------


def test_maya_still_believes_in_her_refund_and_thinks_billing_does(support: Memory):
    assert support.truth("refund_4411") == "rejected"
    assert support.believes("Maya", "refund_4411") == "approved"
    assert support.believes(["Maya", "Billing"], "refund_4411") == "approved"


def test_escalation_was_not_in_the_chat_and_knows_from_a_report_that_maya_is_wrong(
    support: Memory,
):
    assert support.believes("Escalation", "refund_4411") == "rejected"
    known = support.explain(["Escalation", "Maya"], "refund_4411")
    assert known.value == "approved"
    assert known.event is not None
    assert (known.event.kind, known.event.actor) == ("report", "Billing")
    assert support.context_for("Escalation", talking_to="Maya").startswith(
        "- refund_4411: you believe 'rejected', but Maya believes 'approved'."
    )


def test_shipping_knows_of_the_new_lamp_and_nothing_at_all_of_the_refund(support: Memory):
    assert support.believes("Shipping", "replacement_4411") == "packed"
    for chain in (["Shipping"], *(["Shipping", other] for other in support.agents())):
        assert support.believes(chain, "refund_4411") is None


def test_the_parcel_goes_to_an_old_address_and_only_billing_knows_what_shipping_thinks(
    support: Memory,
):
    knowers = support.who_knows("address_4411")
    assert set(knowers.up_to_date) == {"Billing", "Maya"}
    assert knowers.out_of_date == {"Escalation": "12 Elm Street", "Shipping": "12 Elm Street"}
    assert knowers.unaware == ("Finance",)
    assert support.believes(["Billing", "Shipping"], "address_4411") == "12 Elm Street"
    assert support.believes(["Maya", "Shipping"], "address_4411") is None


def test_who_is_wrong_in_the_support_story_at_depths_one_and_two(support: Memory):
    assert wrong(support, 1) == {
        ("Maya", "refund_4411", "approved", "rejected"),
        ("Billing", "replacement_4411", "decided", "packed"),
        ("Finance", "replacement_4411", "decided", "packed"),
        ("Escalation", "address_4411", "12 Elm Street", "7 Oak Lane"),
        ("Shipping", "address_4411", "12 Elm Street", "7 Oak Lane"),
    }
    assert wrong(support, 2) == {
        ("Maya > Billing", "refund_4411", "approved", "rejected"),
        ("Billing > Escalation", "replacement_4411", "decided", "packed"),
        ("Finance > Escalation", "replacement_4411", "decided", "packed"),
        ("Shipping > Billing", "address_4411", "12 Elm Street", "7 Oak Lane"),
    }


def test_all_five_agree_that_the_order_is_broken_at_any_depth(support: Memory):
    assert support.who_knows("order_4411").up_to_date == tuple(support.agents())
    for depth in (1, 2, 3):
        assert support.false_beliefs(depth, "order_4411", missing=True) == []


# A decision that changed -----------------------------------------------------------------------


def test_in_the_end_nobody_is_wrong_about_the_date_and_28_of_42_pairs_about_each_other(
    org: Memory,
):
    assert len(org.agents()) == 7
    assert org.who_knows("launch_date").up_to_date == tuple(org.agents())
    assert wrong(org, 1) == set()
    assert len(wrong(org, 2)) == 28
    assert org.false_beliefs(2, "release_notes", missing=True) == []


def test_after_the_thread_and_before_the_messages_four_are_wrong_about_the_date(org: Memory):
    found = org.false_beliefs(1, as_of="2026-03-02T16:00:00Z")
    assert [belief.chain[0] for belief in found] == ["Dan", "Eva", "Finn", "Grace"]


def test_one_message_to_the_four_together_leaves_16_pairs_and_an_announcement_none(
    new_memory: Callable[..., Memory],
):
    told, announced = new_memory(), new_memory()
    events = scenarios.load("org").events
    date: dict[str, Any] = {"entity": "launch_date", "value": "Tuesday"}
    told.record(events[:-4])
    told.tell("Ben", ["Dan", "Eva", "Finn", "Grace"], **date)
    announced.record(events)
    announced.announce("Ada", **date)
    assert [len(wrong(told, depth)) for depth in (1, 2)] == [0, 16]
    assert [len(wrong(announced, depth)) for depth in (1, 2, 3)] == [0, 0, 0]
