"""`Memory`: what a caller in Python sees, on a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from stores import memory_of

from so_mcp import Memory
from so_mcp.database import Transaction
from so_mcp.errors import (
    ConflictError,
    InvalidEventError,
    InvalidInputError,
    InvalidNameError,
    UnknownNameError,
)

NewMemory = Callable[..., Memory]


@contextmanager
def commands_of(memory: Memory) -> Iterator[list[list[str]]]:
    """The commands sent inside the block: one list a round trip."""
    trips: list[list[str]] = []

    def note(commands: list[tuple[str, ...]]) -> None:
        trips.append([f"{c[0]} {c[1]}" if len(c) > 1 else c[0] for c in commands])

    memory.database.observers.append(note)
    yield trips
    memory.database.observers.remove(note)


def support(memory: Memory) -> None:
    memory.join(["Maya", "Billing"], "chat")
    memory.say("Billing", "refund", "approved", room="chat")
    memory.leave("Maya")
    memory.set("refund", "rejected", room="chat", by="Finance")


def test_one_who_left_keeps_her_belief_and_the_other_knows_it(memory: Memory) -> None:
    support(memory)
    assert memory.believes("Maya", "refund") == "approved"
    assert memory.believes(["Billing", "Maya"], "refund") == "approved"
    assert memory.believes("Billing", "refund") == "rejected"
    assert memory.truth("refund") == "rejected"
    assert memory.context_for("Billing", talking_to="Maya") == (
        "- refund: you believe 'rejected', but Maya believes 'approved'. "
        "Correct this before relying on it."
    )


def test_the_actor_of_an_event_witnesses_it_without_being_in_the_room(memory: Memory) -> None:
    support(memory)
    assert memory.believes("Finance", "refund") == "rejected"
    assert memory.believes(["Billing", "Finance"], "refund") == "rejected"


def test_unknown_is_none_and_a_slip_of_an_agents_name_is_an_error(memory: Memory) -> None:
    support(memory)
    assert memory.believes("Maya", "weather") is None
    with pytest.raises(UnknownNameError, match="Did you mean 'Maya'"):
        memory.believes("maya", "refund")
    with pytest.raises(UnknownNameError, match="Known are: 'Maya', 'Billing', 'Finance'"):
        memory.believes(["Maya", "Zed"], "refund")


def test_what_became_unknown_is_unknown_to_those_who_saw_it(memory: Memory) -> None:
    support(memory)
    memory.set("refund", None, audience=["Billing"])
    assert memory.truth("refund") is None
    assert memory.believes("Billing", "refund") is None
    assert memory.believes("Finance", "refund") == "rejected"
    assert memory.held("Billing", "refund") is not None


def test_repeated_neighbours_of_a_chain_collapse_and_others_stay(memory: Memory) -> None:
    support(memory)
    assert memory.believes(["Maya", "Maya"], "refund") == "approved"
    assert memory.believes(["Billing", "Finance", "Finance", "Billing"], "refund") == "rejected"
    with pytest.raises(InvalidInputError, match="one or more agents"):
        memory.believes([], "refund")


def test_seven_agents_and_four_private_messages_leave_28_pairs_wrong(new_memory: NewMemory) -> None:
    """The example under "Wrong, missing, no verdict"; one message to all four leaves 16."""
    everyone = [f"P{number}" for number in range(7)]
    for private, wrong in ((True, 28), (False, 16)):
        memory = new_memory()
        memory.set("decision", "Friday", audience=everyone)
        memory.set("decision", "Monday", audience=everyone[:3])
        for listeners in [[name] for name in everyone[3:]] if private else [everyone[3:]]:
            memory.tell("P0", listeners, "decision", "Monday")
        assert memory.false_beliefs(1) == []
        assert len(memory.false_beliefs(2)) == wrong
        memory.announce("P0", "decision", "Monday")
        assert memory.false_beliefs(2) == memory.false_beliefs(3) == []


def test_nobody_asked_about_is_an_error_and_not_reassurance(memory: Memory) -> None:
    support(memory)
    with pytest.raises(InvalidInputError, match="agents: expected one or more"):
        memory.false_beliefs(agents=[])
    with pytest.raises(InvalidInputError, match="expected another agent than 'Maya'"):
        memory.context_for("Maya", "Maya")


def test_an_undated_event_after_one_in_the_future_is_refused(memory: Memory) -> None:
    memory.set("e", "v", by="Ann", happened_at="2099-01-01T00:00:00Z")
    with pytest.raises(InvalidEventError, match="lies in the future"):
        memory.set("e", "w", by="Ann")


def test_a_batch_is_committed_in_pieces_and_an_error_says_how_much_is_in(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer's event in the middle makes a later piece impossible."""
    events = [
        {"kind": "state", "entity": "e", "value": str(n), "by": "Ann", "happened_at": 1_000 + n}
        for n in range(99)
    ]
    events.append({"kind": "enter", "agents": ["Ann"], "room": "hall", "place": True})
    commit = Transaction.commit

    def interfere(self: Transaction, counters: dict, *rest: object) -> None:
        commit(self, counters, *rest)  # type: ignore[arg-type]
        if counters.get("seq") == 64:
            monkeypatch.undo()
            with memory_of(memory.store, memory.scenario) as other:
                other.join("Bob", "hall", happened_at=1_020)

    monkeypatch.setattr(Transaction, "commit", interfere)
    with pytest.raises(ConflictError, match=r"The 96 events before events\[96\] are recorded"):
        memory.record(events)
    assert memory.step() == 97
    assert memory.verify() == []


def test_a_login_may_be_made_before_anybody_names_its_agent(memory: Memory) -> None:
    memory.set("e", "v", by="Ann")
    memory.grant("Bob")
    memory.set("e", "w", audience=["Bob"])
    assert memory.believes("Bob", "e") == "w"
    assert memory.verify() == []


def test_a_false_belief_names_the_event_that_was_missed(memory: Memory) -> None:
    support(memory)
    depth_1, depth_2 = memory.false_beliefs()
    assert (depth_1.chain, depth_1.believed, depth_1.actual) == (("Maya",), "approved", "rejected")
    assert [event.number for event in depth_1.missed] == [4]
    assert depth_2.chain == ("Maya", "Billing")
    assert depth_2.missed[0].witnesses == ("Billing", "Finance")
    missing = memory.false_beliefs(2, missing=True)
    assert {b.chain for b in missing if b.verdict == "missing"} == {
        ("Maya", "Finance"), ("Finance", "Maya")
    }


def test_an_explanation_names_source_witnesses_and_what_was_missed(memory: Memory) -> None:
    support(memory)
    found = memory.explain(["Billing", "Maya"], "refund")
    assert found.value == "approved"
    assert found.event is not None
    assert (found.event.number, found.event.witnesses) == (2, ("Billing", "Maya"))
    assert [event.number for event in found.missed["Maya"]] == [4]
    assert "Billing" not in found.missed
    assert found.sentence == (
        "Billing thinks Maya believes refund is 'approved' (event 2, Billing said refund is "
        "'approved' in chat, witnessed by Billing and Maya); Maya missed event 4: Finance set "
        "refund to 'rejected' in chat."
    )


def test_who_knows_tells_up_to_date_out_of_date_and_unaware_apart(memory: Memory) -> None:
    support(memory)
    memory.tell("Billing", "Shipping", "parcel", "sent")
    found = memory.who_knows("refund")
    assert found.up_to_date == ("Billing", "Finance")
    assert found.out_of_date == {"Maya": "approved"}
    assert found.unaware == ("Shipping",)
    parcel = memory.who_knows("parcel")
    assert (parcel.truth, parcel.unverified) == (None, {"Shipping": "sent"})


def test_a_report_changes_what_its_hearers_think_of_the_one_reported_on(memory: Memory) -> None:
    support(memory)
    memory.report("Billing", "Maya", "refund", "approved", listeners=["Escalation"])
    assert memory.believes(["Escalation", "Maya"], "refund") == "approved"
    assert memory.believes("Escalation", "refund") is None
    assert memory.believes("Maya", "refund") == "approved"


def test_every_question_can_be_asked_as_of_an_earlier_time(memory: Memory) -> None:
    memory.set("refund", "open", audience=["Ann"], happened_at="2026-01-01T10:00:00Z")
    memory.set("refund", "done", audience=["Ann"], happened_at="2026-01-02T10:00:00Z")
    early = "2026-01-01T12:00:00Z"
    assert memory.believes("Ann", "refund", as_of=early) == "open"
    assert memory.believes("Ann", "refund", as_of="2025-12-31T12:00:00Z") is None
    assert memory.truth("refund", as_of=early) == "open"
    assert memory.explain("Ann", "refund", as_of=early).value == "open"
    assert memory.who_knows("refund", as_of=early).up_to_date == ("Ann",)
    with pytest.raises(InvalidInputError, match="as_of: expected a time such as"):
        memory.believes("Ann", "refund", as_of="yesterday")


def test_an_id_is_recorded_once_and_a_changed_event_under_it_is_refused(memory: Memory) -> None:
    event = {"kind": "state", "entity": "e", "value": "v", "audience": ["Ann"], "id": "one"}
    first, second = memory.record([event]), memory.record([event, event])
    assert not first.events[0].again
    assert [recorded.again for recorded in second.events] == [True, True]
    assert {r.event.seq for r in (*first.events, *second.events)} == {1}
    with pytest.raises(ConflictError, match="another value"):
        memory.record([{**event, "value": "w"}])
    assert memory.believes("Ann", "e") == "v"


def test_nothing_of_a_batch_with_a_wrong_event_is_written(memory: Memory) -> None:
    good = {"kind": "state", "entity": "e", "value": "v", "audience": ["Ann"]}
    for bad in ({"kind": "say", "speaker": "Ann"}, {**good, "entity": "a\x00b"}):
        with pytest.raises(InvalidEventError, match=r"events\[1\]"):
            memory.record([good, bad])
    memory.join("Ann", "hall")  # a channel
    with pytest.raises(ConflictError, match=r"events\[1\].room: 'hall' is a channel"):
        memory.record([good, {"kind": "enter", "agents": ["Bob"], "room": "hall", "place": True}])
    assert memory.entities() == []
    assert memory.agents() == ["Ann"]


def test_record_says_which_names_it_made_and_which_are_near(memory: Memory) -> None:
    support(memory)
    record = memory.tell("Billing", "maya", "refnd", "late", text="sorry")
    assert (record.agents, record.entities, record.rooms) == (["maya"], ["refnd"], [])
    assert record.near == {"maya": ["Maya"], "refnd": ["refund"]}
    assert memory.believes("Maya", "refnd") is None


@pytest.mark.parametrize(
    "name", ["*", "a?b", "[x]", "Tomás", "Mary Ann", "a:b", "A>B", "{x}", "李雷", "🦊", "👩‍👧", "x'\"\\`$"]
)
def test_any_printable_name_is_just_a_name(memory: Memory, name: str) -> None:
    memory.set(name, name, audience=[name, "Other"], room=None)
    assert memory.believes([name, "Other", name], name) == name
    assert memory.believes("Other", name) == name
    assert name in memory.agents()


def test_names_are_nfc_normalised_and_case_sensitive(memory: Memory) -> None:
    memory.set("e", "v", audience=["Tomás"])
    assert memory.believes("Toma\u0301s", "e") == "v"
    memory.set("e", "w", audience=["tomás"])
    assert memory.believes("Tomás", "e") == "v"


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x00b", "x" * 201, "\ud800", "@"])
def test_a_name_that_cannot_name_is_refused_before_anything_is_written(
    memory: Memory, name: str
) -> None:
    with pytest.raises(InvalidInputError):
        memory.set("e", "v", audience=[name])
    with pytest.raises(InvalidNameError):
        memory.believes(name, "e")
    assert memory.agents() == []


def test_settings_are_fixed_when_a_scenario_is_made(new_memory: NewMemory) -> None:
    memory = new_memory(policy="exit-order", rooms="place")
    memory.set("e", "v", by="Ann")
    with (
        memory_of(memory.store, memory.scenario, policy="credulous") as other,
        pytest.raises(ConflictError, match="Leave the settings out"),
    ):
        other.set("e", "w", by="Ann")
    with memory_of(memory.store, memory.scenario, policy="exit-order") as same:
        same.set("e", "w", by="Ann")
    with pytest.raises(InvalidInputError, match="policy: expected"):
        new_memory(policy="gullible")


def test_a_nested_read_is_one_ro_query_on_one_mind(memory: Memory) -> None:
    support(memory)
    with commands_of(memory) as trips:
        memory.believes(["Billing", "Maya", "Billing"], "refund")
    assert trips == [[f"GRAPH.RO_QUERY so:{{{memory.scenario}}}:mind:Billing"]]


def test_an_event_is_two_round_trips_however_many_witness_it(memory: Memory) -> None:
    for size in (2, 20):
        agents = [f"A{number}" for number in range(size)]
        memory.join(agents, "room")
        memory.say("A0", "e", "v", room="room")
        with commands_of(memory) as trips:
            memory.say("A0", "e", "w", room="room")
        look, commit = trips
        assert [command.split()[0] for command in look] == ["WATCH", "HMGET", "GET"]
        verbs = [command.split()[0] for command in commit]
        assert verbs == ["MULTI", "HSET", *["GRAPH.QUERY"] * (size + 1), "EXEC"]


def test_questions_read_each_mind_once_whatever_the_depth(memory: Memory) -> None:
    support(memory)
    agents = len(memory.agents())
    for depth in (1, 2, 3):
        with commands_of(memory) as trips:
            memory.false_beliefs(depth)
        reads = [c for trip in trips for c in trip if ":mind:" in c]
        assert len(reads) == agents
    with commands_of(memory) as trips:
        memory.who_knows("refund")
    assert len(trips) == 2


def test_threads_may_share_a_memory(memory: Memory) -> None:
    def work(agent: str) -> None:
        for number in range(25):
            memory.set("e", str(number), by=agent)
            assert memory.believes(agent, "e") == str(number)

    threads = [threading.Thread(target=work, args=(f"T{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.verify() == []
    assert len(memory.record([{"kind": "say", "speaker": "T0", "text": "done",
                               "audience": ["T1"]}]).events) == 1
    assert memory.explain("T0", "e").event is not None


def test_settling_closes_what_is_covered_and_changes_no_answer(memory: Memory) -> None:
    agents = ["Ann", "Bob", "Cyd"]
    for number in range(100):
        memory.set("e", str(number), audience=agents)
    key = f"so:{{{memory.scenario}}}:mind:Ann"
    count = memory.database.command("GRAPH.RO_QUERY", key, "MATCH (b:Active) RETURN count(b)")
    assert count[1][0][0] <= 33
    assert memory.believes(["Ann", "Bob", "Cyd"], "e") == "99"
    assert memory.verify() == []


def test_verify_notices_whatever_is_not_as_the_log_has_it(memory: Memory) -> None:
    for number in range(40):
        memory.set("e", str(number), audience=["Ann", "Bob"])
    mind, world = (f"so:{{{memory.scenario}}}:{graph}" for graph in ("mind:Ann", "world"))
    damage = (
        (mind, "MATCH (b:Belief {step: 3}) DELETE b", [("Ann", "lost")]),
        (mind, "CREATE (:Belief {step: 3, at: 1, entity: 'f', members: [], min_depth: 1})",
         [("Ann", "extra"), ("Ann", "closed")]),
        (mind, "MATCH (b:Active {step: 40}) REMOVE b:Active", [("Ann", "closed")]),
        (world, "MATCH (:Agent)-[w:WITNESSED {step: 5}]->(:Event) DELETE w",
         [(None, "lost"), (None, "lost")]),
        (world, "MATCH (e:Event {seq: 40}) SET e.seq = 41",
         [(None, "missing"), (None, "missing")]),
    )
    for graph, query, expected in damage:
        with memory.fork() as fork:
            assert fork.verify() == []
            key = graph.replace(":mind", f":fork:{fork.scenario[-16:]}:mind").replace(
                ":world", f":fork:{fork.scenario[-16:]}:world")
            fork.database.command("GRAPH.QUERY", key, query)
            found = [(d.agent, d.what) for d in fork.verify()]
            assert set(expected) <= set(found), (query, found)


def test_entering_a_place_shows_what_lies_there_openly_and_no_contents(
    new_memory: NewMemory,
) -> None:
    memory = new_memory(rooms="place")
    memory.join("Ann", "kitchen")
    memory.set("lamp", "lit", room="kitchen", located_in="kitchen")
    memory.set("tin", "closed", room="kitchen", located_in="kitchen")
    memory.set("cake", "whole", room="kitchen", located_in="tin")
    memory.join("Bob", "kitchen")
    assert memory.believes("Bob", "lamp") == "lit"
    assert memory.believes(["Ann", "Bob"], "tin") == "closed"
    assert memory.believes("Bob", "cake") is None
    memory.join("Bob", "garden")
    memory.set("lamp", "dark", room="kitchen")
    assert memory.believes(["Ann", "Bob"], "lamp") == "lit"
    assert memory.believes("Bob", "lamp") == "lit"
