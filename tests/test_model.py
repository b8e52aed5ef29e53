"""The reference model itself, by small examples worked by hand from the specification of belief
and from SEMANTICS.md: the model is what the engine is measured by, so something must measure it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import model
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import ENTITIES, attentive_logs, attentive_settings

Event = dict[str, Any]


def story(*events: Event, **settings: Any) -> model.Model:
    """A model that has recorded these, ten milliseconds apart unless they say when: 10, 20, …"""
    told = model.Model(**settings)
    for number, event in enumerate(events, 1):
        told.record({"happened_at": 10 * number} | event)
    return told


def enter(*agents: str, room: str = "chat", **more: Any) -> Event:
    return {"kind": "enter", "agents": list(agents), "room": room} | more


def away(*agents: str, **more: Any) -> Event:
    return {"kind": "away", "agents": list(agents)} | more


def say(speaker: str, value: str | None = "red", **more: Any) -> Event:
    where = {} if "audience" in more else {"room": "chat"}
    return {"kind": "say", "speaker": speaker, "entity": "ball", "value": value} | where | more


def tell(speaker: str, *listeners: str, value: str = "red", **more: Any) -> Event:
    to = {"listeners": list(listeners)} if listeners else {}
    return {"kind": "tell", "speaker": speaker, "entity": "ball", "value": value} | to | more


def report(speaker: str, about: str, *listeners: str, **more: Any) -> Event:
    return {"kind": "report", "about": about} | {
        k: v for k, v in tell(speaker, *listeners, **more).items() if k != "kind"
    }


def read(*agents: str, event: str | int, **more: Any) -> Event:
    return {"kind": "read", "agents": list(agents), "event": event} | more


def edit(speaker: str, event: str | int, **more: Any) -> Event:
    return {"kind": "edit", "speaker": speaker, "event": event} | more


def retract(speaker: str, event: str | int, *audience: str, **more: Any) -> Event:
    to = {"audience": list(audience)} if audience else {}
    return {"kind": "retract", "speaker": speaker, "event": event} | to | more


def forward(speaker: str, event: str | int, *listeners: str, **more: Any) -> Event:
    to = {"listeners": list(listeners)} if listeners else {}
    return {"kind": "forward", "speaker": speaker, "event": event} | to | more


def void(event: str | int) -> Event:
    return {"kind": "void", "event": event}


def held(told: model.Model, *chains: str, **when: Any) -> list[str | None]:
    """What these chains believe of the ball."""
    return [told.believes(chain, "ball", **when) for chain in chains]


THREE = enter("Ann", "Bob", "Cyd")
LATER = enter("Ann", "Bob", "Cyd", reads="later")


# Attention


def test_of_one_distracted_the_others_think_it_took_it_in_and_it_knows_nothing() -> None:
    told = story(THREE, say("Ann", distracted=["Bob"]))
    assert held(told, "Bob", "Bob>Ann", "Ann>Bob", "Cyd>Ann>Bob") == [None, None, "red", "red"]
    assert told.truly()[1] == {"Ann", "Cyd"}
    assert told.appeared()[1] == {"Ann", "Bob", "Cyd"}


def test_one_hidden_knows_it_and_what_the_others_think_and_nobody_thinks_it_does() -> None:
    told = story(enter("Ann", "Bob"), say("Ann", hidden=["Eve"]))
    assert held(told, "Eve", "Eve>Ann", "Eve>Ann>Bob") == ["red", "red", "red"]
    assert held(told, "Ann>Eve", "Eve>Ann>Eve", "Ann>Bob>Eve") == [None, None, None]
    assert told.witnesses()[1] == told.truly()[1] == {"Ann", "Bob", "Eve"}


def test_hiding_one_who_is_present_takes_it_from_what_the_others_think_only() -> None:
    told = story(THREE, say("Ann", hidden=["Cyd"]))
    assert held(told, "Cyd", "Cyd>Bob", "Bob>Cyd", "Cyd>Bob>Cyd") == ["red", "red", None, None]


def test_one_both_hidden_and_distracted_took_it_in_unseen() -> None:
    told = story(THREE, say("Ann", hidden=["Bob"], distracted=["Bob"]))
    assert held(told, "Bob", "Ann>Bob") == ["red", None]


def test_to_be_distracted_takes_nothing_from_one_whom_it_does_not_reach() -> None:
    told = story(THREE, enter("Dee", room="hall"), say("Ann", distracted=["Dee"]))
    assert told.appeared()[2] == told.truly()[2] == {"Ann", "Bob", "Cyd"}
    assert held(told, "Dee", "Ann>Dee") == [None, None]


def test_an_actor_cannot_be_distracted_but_it_can_be_unseen() -> None:
    with pytest.raises(ValueError, match="actor"):
        story(THREE, say("Ann", distracted=["Ann"]))
    told = story(
        THREE, {"kind": "state", "by": "Ann", "entity": "ball", "value": "red", "room": "chat",
                "hidden": ["Ann"]},
    )
    assert held(told, "Ann", "Bob", "Bob>Ann", "Ann>Bob", "Ann>Bob>Ann") == [
        "red", "red", None, "red", None
    ]
    told = story(tell("Ann", "Bob", "Cyd", hidden=["Ann"]))
    assert held(told, "Bob", "Bob>Cyd", "Bob>Ann", "Ann>Bob") == ["red", "red", None, "red"]


def test_of_a_group_that_is_distracted_the_speaker_is_not() -> None:
    told = story(enter("Ann", "Bob", room="@crew"), THREE, say("Ann", distracted=["@crew"]))
    assert told.truly()[2] == {"Ann", "Cyd"}


def test_a_private_tell_believed_by_one_who_listens_at_the_door() -> None:
    told = story(tell("Ann", "Bob", hidden=["Eve"]))
    assert held(told, "Bob", "Ann>Bob", "Ann", "Eve", "Eve>Bob>Ann", "Bob>Eve") == [
        "red", "red", None, "red", "red", None
    ]


def test_a_distracted_listener_is_thought_to_believe_what_it_was_told() -> None:
    told = story(tell("Ann", "Bob", "Cyd", distracted=["Bob"]))
    assert held(told, "Bob", "Bob>Cyd", "Ann>Bob", "Cyd>Bob") == [None, None, "red", "red"]
    told = story(tell("Ann", "Bob", distracted=["Bob"]), policy="exit-order")
    assert held(told, "Bob", "Bob>Ann", "Ann>Bob", "Ann>Bob>Ann") == [None, None, "red", None]


def test_a_report_overheard_is_about_the_other_mind_alone() -> None:
    told = story(report("Ann", "Max", "Bob", hidden=["Eve", "Max"]))
    assert held(told, "Eve>Max", "Eve>Bob>Max", "Eve", "Bob>Eve>Max") == ["red", "red", None, None]
    assert held(told, "Max>Bob>Max", "Max", "Ann>Max", "Ann>Bob>Max") == ["red", None, None, "red"]


def test_one_reported_on_learns_what_the_others_think_whomever_it_trusts() -> None:
    hall = enter("Ann", "Bob", "Max", room="hall", place=True)
    told = story(hall, report("Ann", "Max", "Bob", "Max"), policy="exit-order")
    assert held(told, "Max>Bob>Max", "Max>Ann>Max", "Bob>Max", "Ann>Bob>Max") == [
        "red", "red", None, "red"
    ]


def test_who_enters_unseen_sees_what_lies_there_and_is_not_thought_to() -> None:
    lies = {"kind": "state", "entity": "ball", "value": "red", "located_in": "hall"}
    told = story(
        enter("Ann", room="hall", place=True), lies, enter("Bob", room="hall", hidden=["Bob"]),
        enter("Cyd", room="hall", distracted=["Ann"]),
    )
    assert held(told, "Bob", "Bob>Ann", as_of=30) == ["red", "red"]
    assert held(told, "Ann>Bob", "Bob>Ann>Bob", as_of=30) == [None, None]
    assert held(told, "Cyd>Bob", "Bob>Cyd") == ["red", "red"]  # what comes after hides nothing
    assert told.truly()[3] == {"Bob", "Cyd"}
    assert told.appeared()[3] == {"Ann", "Bob", "Cyd"}


def test_right_after_an_announcement_those_distracted_know_nothing_and_are_thought_to() -> None:
    told = story({"kind": "announce", "speaker": "Ann", "entity": "ball", "value": "red",
                  "distracted": ["Bob"], "hidden": ["Cyd"]})
    assert told.agents == ["Ann", "Bob", "Cyd"]
    assert held(told, "Bob", "Ann>Bob", "Cyd", "Ann>Cyd") == [None, "red", "red", None]


# Presence


def test_every_stay_is_kept_and_entering_where_one_is_changes_nothing() -> None:
    told = story(
        enter("Ann"), enter("Ann"), {"kind": "exit", "agents": ["Ann"], "room": "chat"},
        enter("Ann", "Bob"),
    )
    assert told.stays("Ann", "chat") == [(1, 3), (4, None)]
    assert told.stays("Bob", "chat") == [(4, None)]


def test_to_enter_a_place_ends_the_stay_in_another_and_none_in_a_channel() -> None:
    told = story(enter("Ann"), enter("Ann", room="hall", place=True),
                 enter("Ann", room="yard", place=True))
    assert told.stays("Ann", "chat") == [(1, None)]
    assert told.stays("Ann", "hall") == [(2, 3)]


def test_what_happens_while_one_is_away_does_not_reach_it_and_everybody_sees_that() -> None:
    told = story(
        THREE, away("Bob", room="chat"), say("Ann"), {"kind": "back", "agents": ["Bob"]},
        say("Ann", "blue"),
    )
    assert held(told, "Ann", "Bob", "Ann>Bob", as_of=40) == ["red", None, None]
    assert held(told, "Bob", "Ann>Bob") == ["blue", "blue"]
    assert told.witnesses()[1] == told.witnesses()[3] == {"Ann", "Bob", "Cyd"}


def test_leaving_or_entering_again_ends_being_away() -> None:
    assert held(story(THREE, away("Bob"), enter("Bob"), say("Ann")), "Bob") == ["red"]
    gone = {"kind": "exit", "agents": ["Bob"]}
    assert held(story(THREE, away("Bob"), gone, enter("Bob"), say("Ann")), "Bob") == ["red"]


def test_to_be_away_without_a_room_is_from_every_room_and_group_and_elsewhere_nothing() -> None:
    told = story(
        enter("Ann", "Bob"), enter("Ann", "Bob", room="@crew"), enter("Ann", room="hall"),
        away("Bob"), enter("Bob", room="hall"), say("Ann"), say("Ann", "blue", room="@crew"),
        say("Ann", "green", room="hall"),
    )
    assert [("Bob" in reached) for reached in told.witnesses()[5:]] == [False, False, True]


def test_who_is_away_hears_a_private_tell_its_name_and_an_announcement() -> None:
    told = story(THREE, away("Bob"), tell("Ann", "Bob"))
    assert held(told, "Bob", "Ann>Bob") == ["red", "red"]
    assert held(story(THREE, away("Bob"), say("Ann", audience=["Bob"])), "Bob") == ["red"]
    assert held(story(THREE, away("Bob"), tell("Ann", everyone=True)), "Bob") == ["red"]
    told = story(THREE, away("Bob"),
                 {"kind": "announce", "speaker": "Ann", "entity": "ball", "value": "red"})
    assert held(told, "Bob") == ["red"]


def test_an_exit_without_a_room_leaves_every_room_and_no_group() -> None:
    told = story(THREE, enter("Bob", "Dee", room="@crew"), {"kind": "exit", "agents": ["Bob"]})
    assert told.stays("Bob", "chat") == [(1, 3)]
    assert told.stays("Bob", "@crew") == [(2, None)]
    assert told.witnesses()[2] == {"Ann", "Bob", "Cyd"}


def test_a_group_stands_for_its_members_at_the_event_and_of_nobody_for_nobody() -> None:
    told = story(
        enter("Bob", "Cyd", room="@crew"), away("Cyd"), tell("Ann", "@crew"),
        {"kind": "exit", "agents": ["Bob"], "room": "@crew"}, tell("Ann", "@crew", value="blue"),
        tell("Ann", "@nobody", value="green"), enter("@crew", room="hall"),
    )
    assert held(told, "Bob", "Cyd", "Ann>Bob", "Bob>Cyd") == ["red", "blue", "red", "red"]
    assert told.witnesses()[5] == {"Ann"}
    assert told.agents == ["Bob", "Cyd", "Ann"]
    assert told.stays("Cyd", "hall") == [(7, None)]


def test_nobody_begins_no_chapter() -> None:
    hall, yard = ({"room": room, "place": True} for room in ("hall", "yard"))
    told = story(enter("Ann", "Bob", **hall), enter("@crew", **yard), tell("Ann", "Bob"),
                 policy="exit-order")
    assert held(told, "Bob", "Ann>Bob") == [None, "red"]  # the chapter is still the hall's


def test_a_group_is_never_a_place() -> None:
    told = story(enter("Ann", room="hall"), enter("Ann", room="@crew"), rooms="place")
    assert told.stays("Ann", "hall") == [(1, None)]
    with pytest.raises(ValueError, match="never a place"):
        story(enter("Ann", room="@crew", place=True)).truth("ball")


# Reading


def test_what_is_said_in_a_room_read_later_reaches_its_speaker_and_who_is_hidden() -> None:
    told = story(LATER, say("Ann", hidden=["Eve"]), tell("Ann", room="chat", value="blue"))
    assert held(told, "Ann", "Bob", "Ann>Bob", "Eve", "Eve>Ann") == [
        "red", None, None, "red", "red"
    ]
    assert told.truth("ball") == "red"
    assert [len(reached) for reached in told.witnesses()] == [3, 2, 1]


def test_movements_in_a_room_read_later_are_witnessed_all_the_same() -> None:
    told = story(LATER, enter("Dee"), {"kind": "exit", "agents": ["Ann"], "room": "chat"})
    assert told.witnesses()[1:] == [{"Ann", "Bob", "Cyd", "Dee"}] * 2


def test_a_reader_knows_what_it_read_and_nobody_knows_that_it_did() -> None:
    told = story(LATER, say("Ann", id="m"), read("Bob", event="m"))
    assert held(told, "Bob", "Bob>Ann", "Ann>Bob", "Bob>Ann>Bob") == ["red", "red", None, None]
    assert told.witnesses()[2] == {"Bob"}


def test_two_who_read_together_do_not_know_of_each_other() -> None:
    told = story(LATER, say("Ann", id="m"), read("Bob", "Cyd", event="m"))
    assert held(told, "Bob", "Cyd", "Bob>Cyd", "Bob>Ann") == ["red", "red", None, "red"]


def test_an_old_message_read_late_never_beats_newer_knowledge() -> None:
    told = story(THREE, say("Ann", id="m"), enter("Dee"), say("Ann", "blue"), read("Dee", event=2))
    assert held(told, "Dee", as_of=40) == held(told, "Dee") == ["blue"]
    told = story(THREE, say("Ann", id="m"), say("Ann", "blue"), read("Dee", event=2))
    assert held(told, "Dee", "Dee>Bob", "Bob") == ["red", "red", "blue"]


def test_as_of_a_time_before_the_reading_it_is_not_known() -> None:
    told = story(LATER, say("Ann"), read("Bob", event=2))
    assert [held(told, "Bob", as_of=at) for at in (20, 29, 30)] == [[None], [None], ["red"]]
    assert held(told, "Bob", as_recorded=2) == [None]


def test_one_who_was_distracted_reads_it_as_if_it_had_been_hidden() -> None:
    told = story(THREE, say("Ann", distracted=["Bob"]), read("Bob", event=2))
    assert held(told, "Bob", "Bob>Ann", "Ann>Bob", "Bob>Ann>Bob") == ["red", "red", "red", None]


def test_who_took_it_in_already_gets_nothing_new_and_text_alone_gives_nothing() -> None:
    told = story(THREE, say("Ann", hidden=["Cyd"]), read("Bob", "Cyd", event=2))
    assert held(told, "Cyd>Bob>Cyd", "Bob>Cyd") == [None, None]
    hello = {"kind": "say", "speaker": "Ann", "text": "hello", "room": "chat"}
    told = story(LATER, hello, read("Bob", event=2, receipt=True))
    assert held(told, "Bob", "Ann>Bob") == [None, None]
    assert told.witnesses()[2] == {"Ann", "Bob"}


def test_a_receipt_tells_those_who_took_it_in_who_reads_it() -> None:
    told = story(LATER, say("Ann"), read("Cyd", event=2), read("Bob", event=2, receipt=True))
    assert held(told, "Ann>Bob", "Bob>Ann>Bob", "Ann>Bob>Ann") == ["red", "red", "red"]
    assert held(told, "Cyd>Bob", "Ann>Cyd", "Bob>Cyd") == [None, None, None]  # it reached neither
    assert told.witnesses()[3] == {"Ann", "Bob"}
    assert held(told, "Ann>Bob", as_of=39) == [None]


def test_a_receipt_shows_as_witnesses_those_who_appeared_to_be() -> None:
    told = story(THREE, say("Ann", distracted=["Bob"], hidden=["Cyd"]),
                 read("Dee", event=2, receipt=True))
    assert told.witnesses()[2] == {"Ann", "Cyd", "Dee"}
    assert held(told, "Ann>Dee>Bob", "Ann>Dee>Cyd", "Ann>Dee") == ["red", None, "red"]
    assert held(told, "Cyd>Dee>Bob", "Bob>Dee", "Dee>Ann>Dee") == ["red", None, "red"]


def test_an_acknowledgement_tells_those_it_reaches_who_know_what_was_read() -> None:
    told = story(
        LATER, say("Ann"), read("Cyd", event=2), read("Bob", event=2, audience=["Cyd", "Dee"])
    )
    assert held(told, "Cyd>Bob", "Bob>Cyd", "Ann>Bob", "Dee>Bob") == ["red", None, None, None]
    assert told.witnesses()[3] == {"Bob", "Cyd", "Dee"}


def test_an_acknowledgement_shows_of_the_witnesses_those_whom_it_reached() -> None:
    told = story(
        enter("Ann", "Bob", "Cyd"), say("Ann"), read("Dee", event=2, audience=["Bob"]),
    )
    assert held(told, "Bob>Dee", "Bob>Dee>Bob", "Dee>Bob>Dee") == ["red", "red", "red"]
    assert held(told, "Bob>Dee>Ann", "Bob>Ann>Dee", "Cyd>Dee") == [None, None, None]
    assert held(told, "Dee>Ann") == ["red"]  # as every reader


def test_a_receipt_of_a_tell_shows_the_speaker_that_it_is_believed_and_not_that_it_is_so() -> None:
    told = story(LATER, tell("Ann", room="chat"), read("Bob", event=2, receipt=True))
    assert held(told, "Ann", "Ann>Bob", "Ann>Bob>Ann", "Bob>Ann") == [None, "red", "red", "red"]
    told = story(
        LATER, tell("Ann", room="chat"), read("Bob", event=2, receipt=True), policy="exit-order"
    )
    assert held(told, "Ann", "Ann>Bob", "Ann>Bob>Ann", "Bob>Ann") == [None, "red", None, "red"]


def test_a_reader_trusts_as_of_what_it_reads() -> None:
    hall = enter("Ann", "Bob", "Cyd", room="hall", place=True)
    gone = {"kind": "exit", "agents": ["Bob"]}
    told = story(hall, tell("Ann", "Cyd"), gone, read("Bob", event=2), policy="exit-order")
    assert held(told, "Bob") == [None]  # when it was told, Bob was still there
    told = story(hall, gone, tell("Ann", "Cyd"), read("Bob", event=3), policy="exit-order")
    assert held(told, "Bob", "Bob>Ann", "Bob>Cyd") == ["red", "red", None]


def test_a_report_read_is_about_the_other_mind() -> None:
    told = story(LATER, report("Ann", "Max", room="chat"), read("Bob", event=2, receipt=True))
    assert held(told, "Bob>Max", "Ann>Max", "Ann>Bob>Max", "Bob") == ["red", None, "red", None]


def test_who_was_delivered_a_message_may_read_it_whatever_the_history() -> None:
    told = story(
        enter("Ann", "Bob", reads="later", history="none"), away("Bob"), say("Ann"),
        enter("Cyd"), say("Ann", hidden=["Dee"]), tell("Ann", "Eve"),
        {"kind": "exit", "agents": ["Bob"]},
    )
    assert told.readable("Bob") == [3, 5]
    assert told.readable("Cyd") == [5]
    assert told.readable("Dee") == [5]
    assert told.readable("Eve") == [6]


def test_the_history_of_a_room_is_for_those_who_are_in_it() -> None:
    def readable(history: str, *more: Event) -> list[int]:
        gone = {"kind": "exit", "agents": ["Bob"]}
        return story(
            enter("Ann"), say("Ann"), enter("Bob"), gone, say("Ann", "blue"), *more,
            history=history,
        ).readable("Bob")

    assert [readable(h) for h in ("none", "since_join", "all")] == [[], [], []]
    again = enter("Bob")
    assert [readable(h, again) for h in ("none", "since_join", "all")] == [[], [5], [2, 5]]


def test_readable_is_not_read() -> None:
    told = story(enter("Ann", history="all"), say("Ann"), enter("Bob"))
    assert told.readable("Bob") == [2]
    assert held(told, "Bob") == [None]


def test_what_a_room_is_the_first_event_that_names_it_says() -> None:
    first = enter("Ann", "Bob", happened_at=5)
    late = [enter("Cyd", happened_at=1, reads="later"), say("Ann")]
    assert held(story(first, *late), "Bob") == [None]
    with pytest.raises(ValueError, match="chat is"):
        story(THREE, enter("Dee", reads="later")).truth("ball")
    assert held(story(THREE, say("Ann"), reads="later"), "Bob") == [None]
    assert held(story(enter("Ann", "Bob", reads="at_once"), say("Ann"), reads="later"), "Bob") == [
        "red"
    ]


# Edits


def test_an_edit_is_seen_by_those_it_names_and_by_later_readers() -> None:
    told = story(
        THREE, say("Ann", id="m"), edit("Ann", "m", value="blue", audience=["Bob"]),
        read("Dee", event="m"),
    )
    assert told.truth("ball") == "blue"
    assert held(told, "Ann", "Bob", "Cyd", "Dee") == ["blue", "blue", "red", "blue"]
    assert held(told, "Ann>Cyd", "Bob>Ann", "Dee>Bob", "Dee>Cyd") == ["red", "blue", "blue", None]


def test_a_reader_of_what_was_edited_since_reads_the_newest_edit_of_then() -> None:
    told = story(
        LATER, say("Ann", id="m"), edit("Ann", "m", value="blue"), read("Bob", event="m"),
        edit("Ann", 3, value="green"), read("Cyd", event="m"),
    )
    assert held(told, "Bob", "Cyd", "Cyd>Bob") == ["blue", "green", None]


def test_an_edit_of_text_alone_keeps_the_value_and_one_of_a_tell_sets_no_truth() -> None:
    told = story(THREE, say("Ann"), edit("Ann", 2, text="or so", audience=["Dee"]))
    assert held(told, "Dee", "Dee>Ann", "Bob") == ["red", "red", "red"]
    told = story(tell("Ann", "Bob"), edit("Ann", 1, value="blue", audience=["Bob"]))
    assert held(told, "Bob", "Ann>Bob", "Ann") == ["blue", "blue", None]
    assert told.truth("ball") is None


def test_an_edit_reaches_those_it_names_even_of_what_was_for_everyone() -> None:
    told = story(
        THREE, {"kind": "announce", "speaker": "Ann", "entity": "ball", "value": "red"},
        edit("Ann", 2, value="blue", audience=["Bob"]),
    )
    assert held(told, "Bob", "Bob>Ann", "Cyd") == ["blue", "blue", "red"]
    assert told.truth("ball") == "blue"


def test_an_edit_of_an_edit_edits_what_was_said() -> None:
    told = story(
        THREE, say("Ann", id="m"), edit("Ann", "m", value="blue", id="x"),
        edit("Ann", "x", text="or so", audience=["Bob"]), read("Cyd", event="x"),
    )
    assert held(told, "Bob", "Cyd") == ["red", "red"]  # the value that was said
    hello = {"kind": "say", "speaker": "Ann", "text": "hello", "audience": ["Bob"]}
    told = story(hello, edit("Ann", 1, text="goodbye"), edit("Ann", 2, text="bye"),
                 forward("Bob", 1, "Dee"))
    assert [told.readable(name) for name in ("Ann", "Bob", "Dee")] == [[1, 2, 3], [1, 4], [4]]


def test_an_edit_has_a_value_or_a_text() -> None:
    with pytest.raises(ValueError, match="a value, a text or both"):
        story(THREE, say("Ann"), edit("Ann", 2))


# Retractions


def test_a_retraction_is_for_the_chains_of_those_it_appeared_to_reach() -> None:
    told = story(
        THREE, say("Ann", "blue"), say("Ann", id="m"), retract("Ann", "m", "Bob"),
    )
    assert told.truth("ball") == "blue"
    assert held(told, "Ann", "Bob", "Cyd") == ["blue", "blue", "red"]
    assert held(told, "Ann>Bob", "Ann>Cyd", "Cyd>Ann", "Bob>Ann>Bob", "Bob>Cyd>Bob") == [
        "blue", "red", "red", "blue", "red"
    ]


def test_as_of_a_time_before_the_retraction_what_was_retracted_counts() -> None:
    told = story(THREE, say("Ann"), retract("Ann", 2, room="chat"))
    assert [held(told, "Bob", as_of=at) for at in (20, 29, 30)] == [["red"], ["red"], [None]]
    assert [told.truth("ball", at) for at in (20, 29, 30)] == ["red", "red", None]


def test_a_retraction_not_taken_in_changes_nothing_though_others_think_so() -> None:
    told = story(THREE, say("Ann"), retract("Ann", 2, room="chat", distracted=["Bob"],
                                            hidden=["Cyd"]))
    assert held(told, "Bob", "Ann>Bob", "Cyd", "Ann>Cyd") == ["red", None, None, "red"]


def test_a_retraction_takes_away_what_was_read_or_forwarded_of_it_too() -> None:
    told = story(
        LATER, say("Ann", id="m"), read("Bob", event="m"), forward("Bob", "m", "Dee"),
        retract("Ann", "m", everyone=True), read("Cyd", event="m"),
    )
    assert held(told, "Bob", "Dee", "Dee>Ann", as_of=40) == ["red", "red", "red"]
    assert held(told, "Bob", "Dee", "Dee>Ann", "Cyd") == [None, None, None, None]


def test_a_retraction_leaves_the_edits_and_can_be_of_one() -> None:
    told = story(THREE, say("Ann", id="m"), edit("Ann", "m", value="blue", room="chat"),
                 retract("Ann", "m", room="chat"))
    assert held(told, "Bob") == ["blue"]
    assert told.truth("ball") == "blue"
    told = story(THREE, say("Ann", id="m"), edit("Ann", "m", value="blue", room="chat", id="x"),
                 retract("Ann", "x", room="chat"))
    assert held(told, "Bob") == ["red"]
    assert told.truth("ball") == "red"


def test_a_retraction_cannot_be_retracted() -> None:
    with pytest.raises(ValueError, match="not of a retract"):
        story(THREE, say("Ann"), retract("Ann", 2, room="chat"), retract("Ann", 3, room="chat"))


# Forwards


def test_a_forward_tells_what_was_said_and_who_heard_it_and_its_first_audience_nothing() -> None:
    told = story(THREE, say("Ann", id="m"), forward("Bob", "m", "Dee"))
    assert held(told, "Dee", "Dee>Ann", "Dee>Ann>Cyd", "Dee>Bob>Dee") == ["red"] * 4
    assert held(told, "Bob>Dee", "Bob>Dee>Bob", "Ann>Dee", "Dee>Ann>Dee") == [
        "red", "red", None, None
    ]
    assert told.truth("ball") == "red"


def test_a_forward_competes_where_it_was_said_and_is_known_from_the_forward_on() -> None:
    told = story(
        THREE, say("Ann", id="m"), tell("Ann", "Dee", value="blue"), forward("Bob", "m", "Dee"),
    )
    assert held(told, "Dee", "Dee>Bob", "Bob>Dee") == ["blue", "red", "red"]
    assert held(told, "Dee>Bob", as_of=39) == [None]


def test_one_who_forwards_a_lie_need_not_believe_it() -> None:
    told = story(tell("Ann", "Bob"), forward("Eve", 1, "Dee"))
    assert held(told, "Eve", "Eve>Dee", "Dee", "Dee>Eve") == [None, "red", "red", "red"]


def test_a_forward_of_a_forward_passes_on_what_was_said_first() -> None:
    told = story(tell("Ann", "Bob"), forward("Bob", 1, "Cyd"), forward("Cyd", 2, "Dee"))
    assert held(told, "Dee", "Dee>Ann>Bob", "Dee>Cyd", "Cyd>Dee") == ["red"] * 4
    assert held(told, "Dee>Ann>Cyd", "Dee>Bob>Cyd", "Bob>Dee") == [None, None, None]


def test_a_forward_of_a_report_is_a_report() -> None:
    told = story(report("Ann", "Max", "Bob"), forward("Bob", 1, "Dee"))
    assert held(told, "Dee>Max", "Dee>Ann>Max", "Dee>Bob>Max", "Bob>Dee>Max") == ["red"] * 4
    assert held(told, "Dee", "Dee>Bob", "Bob", "Bob>Dee") == [None] * 4


def test_a_forward_read_with_a_receipt_shows_whoever_passed_it_on_that_it_is_believed() -> None:
    told = story(THREE, say("Ann"), forward("Bob", 2, "Dee"), read("Eve", event=3, receipt=True))
    assert held(told, "Eve", "Eve>Cyd", "Eve>Dee", "Bob>Eve", "Dee>Eve", "Dee>Eve>Bob") == [
        "red"
    ] * 6
    assert held(told, "Eve>Cyd>Dee", "Cyd>Eve", "Ann>Eve", "Dee>Eve>Cyd") == [None] * 4


def test_to_retract_a_forward_takes_away_what_it_brought_alone() -> None:
    told = story(THREE, say("Ann"), forward("Bob", 2, "Dee"), retract("Bob", 3, "Cyd", "Dee"))
    assert held(told, "Dee", "Dee>Ann", "Bob>Dee", "Bob", "Cyd") == [None, "red", None, "red", "red"]
    assert told.truth("ball") == "red"


def test_by_exit_order_a_forward_is_believed_by_those_who_trust_who_passed_it_on() -> None:
    hall = enter("Ann", "Bob", "Dee", room="hall", place=True)
    told = story(hall, say("Ann", audience=["Ann"]), forward("Bob", 2, "Dee", "Eve"),
                 policy="exit-order")
    assert held(told, "Dee", "Dee>Ann", "Bob>Dee", "Bob>Dee>Bob") == [None, None, "red", None]
    assert held(told, "Eve", "Eve>Ann", "Eve>Bob", "Eve>Dee") == ["red", "red", "red", None]
    told = story(say("Ann", audience=["Bob"]), forward("Bob", 1, "Eve"),
                 read("Fay", event=2, receipt=True), policy="exit-order")
    assert held(told, "Bob>Fay", "Eve>Fay", "Eve>Fay>Eve", "Bob>Fay>Bob") == [
        "red", "red", None, None
    ]


# Asides


def test_to_notice_two_who_talk_changes_no_belief() -> None:
    told = story(tell("Ann", "Bob", noticed=["Cyd", "Bob"]))
    assert told.noticed() == [{"Cyd"}]
    assert told.truly() == told.appeared() == [{"Ann", "Bob"}]
    assert held(told, "Cyd", "Cyd>Bob", "Ann>Cyd") == [None, None, None]


# Late events, and events that never happened


def test_an_event_recorded_late_counts_where_it_belongs() -> None:
    told = story(
        enter("Ann", "Bob"), say("Ann"), say("Ann", "blue", happened_at=15),
        {"kind": "exit", "agents": ["Bob"], "happened_at": 12},
    )
    assert told.truth("ball") == "red"
    assert held(told, "Ann", "Bob") == ["red", None]
    assert held(told, "Bob", as_recorded=3) == ["red"]
    assert held(told, "Bob", as_recorded=3, as_of=15) == ["blue"]


def test_a_late_movement_changes_who_may_have_read_what() -> None:
    told = story(LATER, say("Ann"), enter("Dee", happened_at=15), away("Bob", happened_at=15))
    assert told.readable("Dee") == [2]
    assert told.readable("Dee", as_recorded=2) == []


def test_a_void_event_never_happened_and_voiding_the_void_takes_it_back() -> None:
    events = [enter("Ann", "Bob"), say("Ann", audience=["Zoe", "Bob"], id="m"), void("m"), void(3)]
    told = story(*events[:3])
    assert told.agents == ["Ann", "Bob"]
    assert held(told, "Bob", as_of=25) == [None]
    assert held(told, "Bob", as_recorded=2) == ["red"]
    assert told.truth("ball") is None
    told = story(*events)
    assert told.agents == ["Ann", "Bob", "Zoe"]
    assert held(told, "Bob") == ["red"]
    assert told.witnesses()[2:] == [frozenset(), frozenset()]


def test_what_refers_to_a_void_event_has_no_effect_and_no_more_what_refers_to_that() -> None:
    events = [
        LATER, say("Ann", id="m"), edit("Ann", "m", value="blue", id="x"),
        forward("Ann", "x", "Dee"), read("Bob", event="m"), void("m"),
    ]
    told = story(*events)
    assert held(told, "Ann", "Bob", "Dee", "Ann>Dee") == [None] * 4
    assert told.agents == ["Ann", "Bob", "Cyd"]
    told = story(*events[:5], void("x"))
    assert held(told, "Ann", "Bob", "Dee") == ["red", "red", None]


def test_a_void_retraction_retracted_nothing() -> None:
    told = story(THREE, say("Ann"), retract("Ann", 2, room="chat", id="r"), void("r"))
    assert held(told, "Bob") == ["red"]


# The model itself


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "dance"}, read("Bob", event="nothing"), read("Bob", event=3), read("Bob", event=1),
        read("Bob", event=2, happened_at=1), void(0), say("Ann", id="m"),
    ],
)
def test_what_is_invalid_is_refused(event: Event) -> None:
    with pytest.raises(ValueError):
        story(THREE, say("Ann", id="m"), event)


def test_the_model_imports_the_standard_library_and_itself() -> None:
    allowed = {
        "__future__", "collections", "collections.abc", "dataclasses", "functools", "typing",
        "model_minds", "model_rooms",
    }
    for path in sorted(Path(__file__).parent.glob("model*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert {name.name for name in node.names} <= allowed, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module in allowed, path
            elif isinstance(node, ast.Name):
                assert node.id not in ("__import__", "eval", "exec"), path


@given(log=attentive_logs(max_size=10), chosen=attentive_settings, data=st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_logs_are_valid_and_what_was_answered_then_stays(
    log: list[Event], chosen: dict[str, str], data: st.DataObject
) -> None:
    """Property 4 of the model itself, and 2: the newest event changes only minds it reached."""
    told, whole = model.Model(**chosen, max_depth=3), model.Model(**chosen, max_depth=3)
    for event in log:
        whole.record(event)
    kept = data.draw(st.integers(0, len(log)))
    for event in log[:kept]:
        told.record(event)
    asked = [c for d in (1, 2, 3) for c in model.chains(frozenset(whole.agents), d)]
    for entity in ENTITIES:
        assert told.truth(entity) == whole.truth(entity, as_recorded=kept)
        for chain in asked:
            then = whole.believes(chain, entity, as_recorded=kept)
            assert told.believes(chain, entity) == then
    assert told.truly() == whole.truly(kept)
    newest = all(event["happened_at"] <= log[-1]["happened_at"] for event in log)
    if newest and log[-1]["kind"] != "void":
        for chain in asked:
            if chain[0] not in whole.truly()[-1]:
                for entity in ENTITIES:
                    before = whole.believes(chain, entity, as_recorded=len(log) - 1)
                    assert whole.believes(chain, entity) == before
