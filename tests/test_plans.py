"""Plans of announcements: what each would lead to is what it leads to, and which is best."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import ENTITIES, VALUES, logs, settings
from test_memory import commands_of
from test_what_if import state

from so_mcp import Memory, scenarios
from so_mcp.errors import InvalidInputError, UnknownNameError
from so_mcp.planner import Goal, Message, Planner
from so_mcp.plans import Plans
from so_mcp.progress import silent
from so_mcp.tools.plans import plan_announcements

NewMemory = Callable[..., Memory]
FOUR = ["Dan", "Eva", "Finn", "Grace"]


@pytest.fixture
def org(memory: Memory) -> Memory:
    """The story of the decision that changed, up to before the messages."""
    memory.record(scenarios.load("org").events[:-4])
    return memory


def by_name(found: Plans) -> dict[str, Any]:
    return {plan.name: plan for plan in found.tried}


def forks(trips: list[list[str]]) -> int:
    """How many forks were made: each copies one counters key."""
    return sum(command.startswith("COPY ") for trip in trips for command in trip)


# The classic -----------------------------------------------------------------------------------


def test_four_private_messages_leave_28_wrong_one_message_16_an_announcement_none(
    org: Memory,
) -> None:
    found = org.plan_announcements("launch_date", "Ben", FOUR)
    assert (found.goal.value, found.now.wrong[:2]) == ("Tuesday", (4, 12))
    plans = by_name(found)
    assert {name: (len(p.events), p.wrong[:2], p.reached) for name, p in plans.items()} == {
        "private messages": (4, (0, 28), False),
        "group message": (1, (0, 16), True),
        "announcement": (1, (0, 0), True),
    }
    assert plans["announcement"].wrong == (0, 0, 0)
    assert found.best is plans["announcement"]
    # The messages are those that the story goes on with.
    said = [
        {key: event[key] for key in ("kind", "speaker", "listeners", "entity", "value")}
        for event in scenarios.load("org").events[-4:]
    ]
    assert list(plans["private messages"].events) == said


def test_the_answer_says_which_is_best_and_what_to_record(org: Memory) -> None:
    answer = plan_announcements(org, "launch_date", "Ben", FOUR)
    assert answer.text() == (
        "Goal: Dan, Eva, Finn and Grace to believe launch_date is 'Tuesday', and of each other.\n"
        "Wrong about it at depths 1, 2 and 3: 4, 12, 24 now. After\n"
        "- private messages (4 messages) fails: Dan would not think Eva believes it (and 11 more "
        "such); wrong: 0, 28, 64\n"
        "- group message (1 message) reaches the goal; wrong: 0, 16, 64\n"
        "- announcement (1 message) reaches the goal; wrong: 0, 0, 0\n"
        "Room statements: nobody to be told is in a room.\n"
        "Mixed plans: none does better than these.\n"
        "Announcement: of those that reach the goal with 1 message, it leaves the least wrong (0 "
        "at depth 2; the group message 16).\n"
        'record: [{"kind": "announce", "speaker": "Ben", "entity": "launch_date", "value": '
        '"Tuesday"}]'
    )


def test_nobody_need_be_told_who_is_not_to_know(org: Memory) -> None:
    """Told along, those who know already learn who else does, and nothing that they did not know."""
    found = org.plan_announcements("launch_date", "Ben", ["Dan", "Eva"], ["Finn", "Grace"])
    plans = by_name(found)
    assert (plans["announcement"].reached, plans["announcement"].leaked) == (False, ("Finn", "Grace"))
    mixed = plans["mixed plan"]
    assert found.best is mixed
    assert [event["listeners"] for event in mixed.events] == [["Ada", "Chloe", "Dan", "Eva"]]
    assert (mixed.learned, mixed.wrong[1] < plans["group message"].wrong[1]) == ((), True)


# Support ---------------------------------------------------------------------------------------


def test_maya_is_told_of_her_refund_and_shipping_never_hears_of_it(support: Memory) -> None:
    answer = plan_announcements(support, "refund_4411", "Escalation", ["Maya"], ["Shipping"])
    assert answer.text() == (
        "Goal: Maya to believe refund_4411 is 'rejected'; not Shipping.\n"
        "Wrong about it at depths 1, 2 and 3: 1, 1, 0 now. After\n"
        "- private messages (1 message) reaches the goal; wrong: 0, 3, 2\n"
        "- room statements (1 message) reaches the goal; wrong: 0, 3, 2\n"
        "- announcement (1 message) fails: Shipping would learn it; wrong: 0, 0, 0\n"
        "- mixed plan (1 message: to Billing, Finance and Maya) reaches the goal; wrong: 0, 0, 0\n"
        "Mixed plan: of those that reach the goal with 1 message, it leaves the least wrong (0 at "
        "depth 2; the private messages 3).\n"
        'record: [{"kind": "tell", "listeners": ["Billing", "Finance", "Maya"], "speaker": '
        '"Escalation", "entity": "refund_4411", "value": "rejected"}]'
    )
    assert (answer.recommended, answer.goal.keep_from) == ("mixed plan", ["Shipping"])


def test_a_mistake_is_not_passed_on_without_a_warning(support: Memory) -> None:
    found = support.plan_announcements("address_4411", "Shipping", ["Maya"])
    assert found.goal.value == "12 Elm Street"
    [warning] = found.warnings
    assert warning == (
        "Beware: address_4411 is '7 Oak Lane'. To tell otherwise spreads a mistake; to announce it "
        "makes it so."
    )
    plans = by_name(found)
    assert plans["announcement"].overturned == "7 Oak Lane"
    assert plans["announcement"].wrong < plans["private messages"].wrong
    assert found.best is plans["private messages"]


def test_what_an_announcement_alone_reaches_says_so(support: Memory) -> None:
    """Testimony never changes what its speaker believes; a declaration does."""
    found = support.plan_announcements(
        "refund_4411", "Escalation", ["Escalation", "Maya"], value="granted"
    )
    assert found.best is by_name(found)["announcement"]
    assert found.reason == "Announcement: only this reaches the goal."
    assert by_name(found)["private messages"].failure == "Escalation would not believe it"


def test_when_nothing_reaches_the_goal_it_says_how_near_it_comes(support: Memory) -> None:
    answer = plan_announcements(
        support, "refund_4411", "Escalation", ["Escalation", "Maya"], ["Shipping"], "granted"
    )
    assert answer.recommended is None
    assert answer.reason == (
        "None of these reaches the goal; even after the private messages Escalation would not "
        "believe it."
    )
    assert answer.notes == [
        "Mixed plans: not even all messages that Shipping would not hear together reach the goal."
    ]
    assert "record:" not in answer.text()


def test_what_is_so_already_needs_no_message(org: Memory) -> None:
    found = org.plan_announcements("launch_date", "Ben", ["Ada", "Chloe"])
    assert found.best is not None
    assert found.best.events == ()
    assert found.reason == "Nothing needs to be said: they believe it, and believe it of each other."


def test_private_messages_do_not_help_those_who_only_do_not_know_of_each_other(
    memory: Memory,
) -> None:
    for agent in ("Ann", "Bob", "Cyd"):
        memory.set("e", "v", audience=[agent])
    found = memory.plan_announcements("e", "Cyd", ["Ann", "Bob"])
    assert "private messages" not in by_name(found)
    assert "Private messages: each believes it already, only not of each other." in found.notes
    assert by_name(found)["group message"].learned == ()
    # But with the speaker among them a private message shares it with the speaker.
    found = memory.plan_announcements("e", "Cyd", ["Ann", "Cyd"])
    assert by_name(found)["private messages"].reached


def test_it_is_too_late_to_keep_it_from_one_who_believes_it(org: Memory) -> None:
    found = org.plan_announcements("launch_date", "Ben", ["Dan"], ["Chloe", "Grace"])
    assert found.warnings == ("Too late to keep it from Chloe: believed already.",)
    assert by_name(found)["announcement"].leaked == ("Grace",)
    assert found.best is not None
    assert [event["listeners"] for event in found.best.events] == [["Ada", "Dan", "Eva", "Finn"]]


def test_a_statement_is_made_in_each_room_where_one_to_be_told_is_and_all_there_hear_it(
    memory: Memory,
) -> None:
    memory.join(["Ann", "Zoe"], "hall")
    memory.join(["Bob"], "yard")
    memory.join(["Cyd"], "attic")
    memory.set("e", "v", by="Dee")
    found = memory.plan_announcements("e", "Dee", ["Ann", "Bob"], ["Zoe"])
    rooms = by_name(found)["room statements"]
    assert [event["room"] for event in rooms.events] == ["hall", "yard"]
    assert (rooms.learned, rooms.leaked) == (("Zoe",), ("Zoe",))
    assert rooms.failure == "Zoe would learn it"


def test_where_trust_depends_on_who_left_first_only_a_declaration_reaches_two(
    new_memory: NewMemory,
) -> None:
    memory = new_memory(policy="exit-order", rooms="place")
    memory.join(["Ann", "Bob", "Cyd"], "hall")
    memory.set("e", "v", room="hall")
    memory.leave("Ann")
    memory.leave("Bob")
    memory.set("e", "w", room="hall")
    memory.leave("Cyd")
    found = memory.plan_announcements("e", "Cyd", ["Ann", "Bob"])
    plans = by_name(found)
    assert plans["private messages"].unmet == (("Ann", "Bob"), ("Bob", "Ann"))
    assert plans["group message"].unmet == (("Ann", "Bob"), ("Bob", "Ann"))
    assert found.reason == "Announcement: only this reaches the goal."


# The smallest mixed plan -----------------------------------------------------------------------


def test_the_search_finds_two_messages_where_one_does_not_do(memory: Memory) -> None:
    """Told one by one each believes it; that the other does they thought before."""
    memory.set("e", "v", audience=["Ann", "Bob", "Sue"])
    memory.set("e", "w", audience=["Ann"])
    memory.set("e", "w", audience=["Bob"])
    memory.set("e", "w", audience=["Cyd"])
    memory.join("Zed", "hall")
    goal = Goal("e", "v", "Sue", ("Ann", "Bob"), ("Zed",))

    def told(*listeners: str) -> Message:
        return Message(frozenset(listeners), listeners)

    with memory.fork() as base:
        planner = Planner(base, goal, silent)
        plan, _ = planner.smallest([
            told("Cyd"), told("Ann"), told("Ann", "Bob", "Zed"), told("Ann", "Cyd"), told("Bob")
        ])
        assert plan is not None
        assert [event["listeners"] for event in plan.events] == [["Ann"], ["Bob"]]
        assert planner.smallest([told("Ann", "Bob", "Zed"), told("Ann", "Cyd")]) == (
            None, "Mixed plans: not even all messages that Zed would not hear together reach the goal."
        )
        assert planner.smallest([])[0] is None


def test_the_search_gives_up_after_so_many_plans_and_says_so(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("so_mcp.planner.MAX_TRIED", 1)
    memory.set("e", "v", audience=["Ann", "Bob", "Sue"])
    memory.set("e", "w", audience=["Ann", "Bob"])
    goal = Goal("e", "v", "Sue", ("Ann", "Bob"), ())
    with memory.fork() as base:
        planner = Planner(base, goal, silent)
        one, other = (Message(frozenset(("Ann", "Bob")), room=room) for room in ("a", "b"))
        assert planner.smallest([one, other]) == (None, "Mixed plans: given up after 1.")


# Properties ------------------------------------------------------------------------------------


on_the_real_engine = hypothesis_settings(
    max_examples=15,
    deadline=None,  # a shared, noisy machine
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # names a scenario of its own
)


@on_the_real_engine
@given(log=logs(max_size=8), chosen=settings, data=st.data())
def test_each_plan_leads_to_what_recording_its_events_leads_to_by_the_model_too(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    for event in log:
        reference.record(event)
    agents = memory.agents()
    if len(agents) < 2:
        return
    speaker = data.draw(st.sampled_from(agents))
    know = data.draw(
        st.lists(st.sampled_from(agents), min_size=1, max_size=3, unique=True).filter(
            lambda names: names != [speaker]
        )
    )
    kept = [a for a in agents if a not in (speaker, *know) and data.draw(st.booleans())]
    entity, value = data.draw(st.sampled_from(ENTITIES)), data.draw(st.sampled_from(VALUES))
    untouched = state(memory)
    found = memory.plan_announcements(entity, speaker, know, kept, value)
    assert state(memory) == untouched
    plan = data.draw(st.sampled_from(found.tried))
    believed = {a for a in agents if reference.believes((a,), entity) == value}
    memory.record(plan.events)
    for event in plan.events:
        reference.record(event | {"happened_at": 10_000})
    assert plan.wrong == tuple(len(memory.false_beliefs(d, entity)) for d in (1, 2, 3))
    goal = [*((agent,) for agent in know), *permutations(know, 2)]
    assert plan.unmet == tuple(c for c in goal if reference.believes(c, entity) != value)
    reached = set().union(*reference.witnesses()[len(log):]) - {speaker, *know} - believed
    assert set(plan.learned) == reached
    assert set(plan.leaked) == reached & set(kept)
    assert plan.reached == (not plan.unmet and not plan.leaked)
    if found.best is not None:
        assert all(found.best.rank <= other.rank for other in found.tried if other.reached)
        assert found.best.reached
    else:
        assert not any(other.reached for other in found.tried)


# How -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changed", "message"), [
    ({"speaker": "ben"}, "Did you mean 'Ben'?"),
    ({"know": ["Dan", "eva"]}, "Did you mean 'Eva'?"),
    ({"keep_from": ["Graze"]}, "Did you mean 'Grace'?"),
    ({"know": []}, "know: expected somebody besides the speaker 'Ben', got []."),
    ({"know": ["Ben"]}, "know: expected somebody besides the speaker 'Ben', got ['Ben']."),
    ({"keep_from": ["Ben"]}, "keep_from: 'Ben' is the speaker or in know too"),
    ({"keep_from": ["Dan"]}, "keep_from: 'Dan' is the speaker or in know too"),
    ({"entity": "launchdate"}, "Did you mean launch_date?"),
    ({"speaker": "Dan", "know": ["Ben"], "entity": "weather"}, "'Dan' does not know 'weather'"),
    ({"value": ""}, "value: expected text"),
    ({"entity": "a\x00"}, "U+0000"),
])
def test_a_goal_that_cannot_be_is_refused_before_anything_is_copied(
    org: Memory, changed: dict[str, Any], message: str
) -> None:
    goal = {"entity": "launch_date", "speaker": "Ben", "know": ["Dan"], **changed}
    with commands_of(org) as trips, pytest.raises(InvalidInputError) as refused:
        org.plan_announcements(**goal)
    assert message in str(refused.value)
    assert forks(trips) == 0


def test_one_who_does_not_know_is_told_who_does(org: Memory) -> None:
    org.set("budget", "ten", audience=["Ada", "Chloe"])
    with pytest.raises(InvalidInputError, match=r"Up to date: Ada and Chloe\."):
        org.plan_announcements("budget", "Dan", ["Eva"])


def test_aliases_are_understood(org: Memory) -> None:
    org.alias("Benjamin", "Ben")
    org.alias("the date", "launch_date")
    found = org.plan_announcements("the date", "Benjamin", "Dan")
    assert (found.goal.entity, found.goal.speaker, found.goal.value) == (
        "launch_date", "Ben", "Tuesday"
    )


def test_every_distinct_plan_is_tried_once_and_progress_says_which(org: Memory) -> None:
    told: list[tuple[int, int, str]] = []
    with commands_of(org) as trips:
        found = org.plan_announcements(
            "launch_date", "Ben", FOUR, progress=lambda *step: told.append(step)
        )
    assert len(found.tried) == 3
    assert forks(trips) == 1 + 4  # a base to fork from; the usual three, and the four with the three
    assert [done for done, _, _ in told] == [0, 1, 2, 3, 4]
    assert all(done < total for done, total, _ in told)
    assert told[1] == (1, 5, "trying private messages")


def test_a_cancelled_comparison_leaves_nothing_behind(org: Memory) -> None:
    class CancelledError(Exception):
        pass

    untouched = state(org)
    for last in range(4):
        def progress(done: int, _total: int, _next: str, last: int = last) -> None:
            if done == last:
                raise CancelledError

        with pytest.raises(CancelledError):
            org.plan_announcements("launch_date", "Ben", FOUR, progress=progress)
        assert state(org) == untouched


def test_with_many_agents_depth_3_is_not_counted_and_it_says_so(
    org: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("so_mcp.planner.DEPTH_3_UP_TO", 6)
    answer = plan_announcements(org, "launch_date", "Ben", FOUR)
    assert answer.wrong == [4, 12]
    assert [plan.wrong for plan in answer.plans] == [[0, 28], [0, 16], [0, 0]]
    assert "Not counted deeper than 2: there are 7 agents." in answer.notes
    assert "Wrong about it at depths 1 and 2: 4, 12 now." in answer.text()


def test_an_unknown_name_is_an_unknown_name(org: Memory) -> None:
    with pytest.raises(UnknownNameError):
        org.plan_announcements("launch_date", "Zed", ["Dan"])
