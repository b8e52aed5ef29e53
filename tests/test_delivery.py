"""Where a message went: delivered, read, acknowledged, passed on; and what one may still read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from logs import AGENTS, attentive_logs, attentive_settings
from stores import environment

from so_mcp import Memory
from so_mcp.cli import main
from so_mcp.errors import InvalidInputError, UnknownNameError
from so_mcp.tools import history

NewMemory = Callable[..., Memory]

on_the_real_engine = hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)
NINE = 1_772_442_000_000  # 2026-03-02T09:00:00Z

DESK: list[dict[str, Any]] = [
    {"kind": "enter", "agents": ["Billing", "Maya", "Dan"], "room": "chat"},
    {"kind": "enter", "agents": ["Billing", "Finance", "Gus", "Ida"], "room": "board",
     "reads": "later", "history": "all"},
    {"kind": "enter", "agents": ["Shipping", "Stock"], "room": "@team"},
    {"kind": "away", "agents": ["Dan"], "room": "chat"},
    {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved", "room": "chat",
     "distracted": ["Maya"], "hidden": ["Eve"], "noticed": ["Gus"], "id": "refund-1"},
    {"kind": "say", "speaker": "Finance", "entity": "budget", "value": "tight", "room": "board"},
    {"kind": "read", "agents": ["Gus"], "event": 6, "receipt": True},
    {"kind": "forward", "speaker": "Gus", "event": 6, "listeners": ["@team"]},
    {"kind": "edit", "speaker": "Finance", "event": 6, "value": "ample"},
    {"kind": "read", "agents": ["Billing"], "event": 6, "audience": ["Finance"]},
    {"kind": "retract", "speaker": "Finance", "event": 6, "audience": ["Gus"]},
    {"kind": "enter", "agents": ["Newbie"], "room": "board"},
    {"kind": "back", "agents": ["Dan"]},
]
DESK = [event | {"happened_at": NINE + 60_000 * n} for n, event in enumerate(DESK, 1)]


@pytest.fixture
def desk(memory: Memory) -> Memory:
    """A desk where each thing happened once."""
    memory.record(DESK)
    return memory


# What became of a message --------------------------------------------------------------------------


def test_what_became_of_a_message_is_said_in_a_line_each(desk: Memory) -> None:
    assert desk.delivery("refund-1").lines() == [
        "Event 5, 2026-03-02T09:05:00Z: Billing said refund is 'approved' in chat.",
        "Took it in: Billing.",
        "Seemed to, and did not: Maya.",
        "Took it in unseen: Eve.",
        "Saw them talk: Gus.",
        "Delivered, not read: Maya and Dan.",
    ]
    assert desk.delivery(6).lines() == [
        "Event 6, 2026-03-02T09:06:00Z: Finance said budget is 'tight' in board.",
        "Took it in: Finance.",
        "Delivered, not read: Ida.",
        "May read it, and has not: Newbie.",
        "Read by Gus at 2026-03-02T09:07:00Z (event 7) with a receipt, seen by Finance.",
        "Read as event 9 by Billing at 2026-03-02T09:10:00Z (event 10), seen by Finance.",
        "Passed on by Gus to Shipping and Stock at 2026-03-02T09:08:00Z (event 8).",
        "Since then: Finance edited event 6: budget is now 'ample' (event 9).",
        ("Since then: Finance told Gus that event 6 is retracted (Finance said budget is 'tight' in "
         "board) (event 11)."),
    ]


def test_what_one_may_read_and_has_not_is_the_newest_version_of_it(desk: Memory) -> None:
    assert {agent: desk.readable(agent) for agent in desk.agents()} == {
        "Billing": [], "Maya": [5], "Dan": [5], "Finance": [], "Gus": [9], "Ida": [9],
        "Shipping": [], "Stock": [], "Eve": [], "Newbie": [9],
    }
    desk.record([{"kind": "read", "agents": ["Maya", "Gus"], "event": number} for number in (5, 6)])
    assert desk.readable("Maya") == desk.readable("Gus") == []
    assert desk.delivery(5).unread == ("Dan",)


def test_a_message_without_a_fact_can_be_unread_too(memory: Memory) -> None:
    memory.record([
        {"kind": "enter", "agents": ["Ann", "Bob"], "room": "board", "reads": "later"},
        {"kind": "say", "speaker": "Ann", "room": "board", "text": "Call me."},
    ])
    assert (memory.readable("Bob"), memory.readable("Ann")) == ([2], [])
    memory.record([{"kind": "read", "agents": ["Bob"], "event": 2}])
    assert memory.readable("Bob") == []
    assert memory.missed("Bob").events == ()


def test_what_is_no_event_or_never_happened_has_no_delivery(desk: Memory) -> None:
    desk.void(5)
    for event, message in (
        (5, "event: event 5 never happened: it was voided."),
        (99, "event: no event has the number 99. The newest is 14."),
        ("nope", "event: no event has the id 'nope'. The newest is 14."),
        (True, "event: no event has the number True."),
    ):
        with pytest.raises(InvalidInputError, match=f"^{message}"):
            desk.delivery(event)
    assert desk.readable("Maya") == []
    with pytest.raises(UnknownNameError, match="Did you mean 'Maya'"):
        desk.readable("maya")


def test_the_command_line_says_it_too(
    desk: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(desk.store).items():
        monkeypatch.setenv(name, value)
    assert main(["delivery", "6", "--scenario", desk.scenario]) == 0
    assert capsys.readouterr().out.splitlines() == desk.delivery(6).lines()
    assert main(["delivery", "refund-2", "--scenario", desk.scenario]) == 1
    assert "no event has the id 'refund-2'" in capsys.readouterr().err


# Why it was missed -----------------------------------------------------------------------------


def test_what_was_missed_says_why(desk: Memory) -> None:
    found = {
        (agent, missed.event.number): missed.why
        for agent in desk.agents() for missed in desk.missed(agent, limit=100).events
    }
    assert {key: why for key, why in found.items() if why != "absent"} == {
        ("Maya", 5): "distracted", ("Dan", 5): "away", ("Gus", 5): "noticed",
        ("Ida", 6): "unread", ("Newbie", 6): "readable",
    }
    assert ("Gus", 6) not in found  # it read it
    assert ("Billing", 6) not in found  # it read it as edited
    assert ("Shipping", 6) not in found  # it was passed on
    assert ("Ida", 7) not in found  # that somebody read holds nothing to know
    assert history.missed(desk, "Ida", entity="budget").text() == (
        "Ida missed:\n"
        "- event 11, 2026-03-02T09:11:00Z: Finance told Gus that event 6 is retracted (Finance said "
        "budget is 'tight' in board). Could tell it: Finance and Gus.\n"
        "- event 9, 2026-03-02T09:09:00Z: Finance edited event 6: budget is now 'ample'. Could tell "
        "it: Finance.\n"
        "- event 8, 2026-03-02T09:08:00Z: Gus passed event 6 on to @team (Finance said budget is "
        "'tight' in board). Could tell it: Gus, Shipping and Stock.\n"
        "- event 6, 2026-03-02T09:06:00Z: Finance said budget is 'tight' in board. Ida has not read "
        "it, though it was delivered. Could tell it: Finance."
    )
    assert [
        history.missed(desk, agent, entity=entity).text().splitlines()[-1].partition(". ")[2]
        for agent, entity in (("Maya", "refund"), ("Dan", "refund"), ("Gus", "refund"),
                              ("Newbie", "budget"))
    ] == [
        "Maya was there but did not take it in. Could tell it: Billing and Eve.",
        "Dan was away. Could tell it: Billing and Eve.",
        "Gus saw them talk and heard nothing. Could tell it: Billing and Eve.",
        "Newbie may read it. Could tell it: Finance.",
    ]


# Against the model -----------------------------------------------------------------------------


def modelled(log: list[dict[str, Any]], chosen: dict[str, str]) -> model.Model:
    reference = model.Model(**chosen, max_depth=1)
    for event in log:
        reference.record(event)
    return reference


def number_of(event: dict[str, Any], log: list[dict[str, Any]]) -> int:
    """The number of the event that another one is about."""
    name = event["event"]
    ids = {line.get("id"): seq for seq, line in enumerate(log, 1)}
    return name if isinstance(name, int) else ids[name]


class Versions:
    """By brute force: what is an edit of what, and which version a reading finds."""

    def __init__(self, log: list[dict[str, Any]]) -> None:
        self.log = log
        self.out = model.left_out([
            event | ({"event": number_of(event, log)} if "event" in event else {}) for event in log
        ])

    def order(self, seq: int) -> tuple[int, int]:
        return self.log[seq - 1]["happened_at"], seq

    def of(self, seq: int) -> set[int]:
        return {other for other in range(1, len(self.log) + 1)
                if other not in self.out and self.first(other) == self.first(seq)}

    def first(self, seq: int) -> int:
        event = self.log[seq - 1]
        return self.first(number_of(event, self.log)) if event["kind"] == "edit" else seq

    def newest(self, seq: int, before: tuple[int, int] = (2**60, 0)) -> int:
        return max((s for s in self.of(seq) if self.order(s) < before), key=self.order)

    def readings(self) -> list[tuple[int, int]]:
        """(seq of the reading, seq of what was found)."""
        return [
            (seq, self.newest(number_of(event, self.log), self.order(seq)))
            for seq, event in enumerate(self.log, 1)
            if event["kind"] == "read" and seq not in self.out
        ]


def read_by(reference: model.Model) -> dict[int, set[str]]:
    """Who read which version, as the model counts it; groups expanded."""
    return {seq: past.readers for seq, past in reference._replay().past.items()}


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_readable_is_what_the_model_says_may_be_read_less_what_was(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    memory, reference, versions = new_memory(**chosen), modelled(log, chosen), Versions(log)
    memory.record(log)
    truly, readers = reference.truly(), read_by(reference)
    for agent in reference.agents:
        newest = {versions.newest(seq) for seq in reference.readable(agent)}
        has = {seq for seq in newest if agent in truly[seq - 1] or agent in readers[seq]}
        assert memory.readable(agent) == sorted(newest - has), agent


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_a_delivery_is_what_the_model_says_became_of_it(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    memory, reference, versions = new_memory(**chosen), modelled(log, chosen), Versions(log)
    memory.record(log)
    truly, appeared, readers = reference.truly(), reference.appeared(), read_by(reference)
    noticed, may = reference.noticed(), {a: reference.readable(a) for a in reference.agents}
    for seq, event in enumerate(log, 1):
        if seq in versions.out:
            continue
        found = memory.delivery(seq)
        assert set(found.reached) == truly[seq - 1]
        assert set(found.appeared) == appeared[seq - 1]
        assert set(found.inattentive) == appeared[seq - 1] - truly[seq - 1]
        assert set(found.unseen) == truly[seq - 1] - appeared[seq - 1]
        assert set(found.noticed) == noticed[seq - 1]
        has = set(truly[seq - 1]).union(*(readers[version] for version in versions.of(seq)))
        said = event["kind"] not in ("enter", "exit", "away", "back", "read", "retract")
        assert {*found.unread, *found.may_read} == {
            agent for agent in reference.agents if said and seq in may[agent] and agent not in has
        }
        assert sorted((reading.number, reading.shows) for reading in found.read) == [
            (reading, shows) for reading, shows in versions.readings()
            if said and shows in versions.of(seq)
        ]
        assert {e.number for e in found.edits} == {
            version for version in versions.of(seq)
            if version != versions.first(seq) and versions.order(version) > versions.order(seq)
        }
        for kind, numbers in (("retract", {e.number for e in found.retractions}),
                              ("forward", {one.number for one in found.passed_on})):
            assert numbers == {
                other for other, line in enumerate(log, 1)
                if line["kind"] == kind and other not in versions.out
                and number_of(line, log) == seq
            }


@given(log=attentive_logs(), chosen=attentive_settings)
@on_the_real_engine
def test_missed_is_what_was_neither_taken_in_nor_read_nor_passed_on_and_says_why(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str]
) -> None:
    memory, reference, versions = new_memory(**chosen), modelled(log, chosen), Versions(log)
    memory.record(log)
    truly, appeared = reference.truly(), reference.appeared()
    readers, noticed = read_by(reference), reference.noticed()
    shows = dict(versions.readings())
    holds = ("state", "say", "tell", "report", "announce", "edit", "retract", "forward")
    for agent in reference.agents:
        has = {seq for seq in range(1, len(log) + 1) if agent in truly[seq - 1]}
        for reading, shown in shows.items():
            if agent in readers[shown] and agent in memory_readers(reference, log, reading):
                has |= {s for s in versions.of(shown) if versions.order(s) <= versions.order(shown)}
        for seq in sorted(has):
            while log[seq - 1]["kind"] == "forward" and seq not in versions.out:
                seq = number_of(log[seq - 1], log)  # noqa: PLW2901 - along the chain
                has.add(seq)
        found = {one.event.number: one.why for one in memory.missed(agent, limit=500).events}
        told = {
            seq for seq, event in enumerate(log, 1)
            if seq not in versions.out and event["kind"] in holds and tells(event, log)
        }
        assert set(found) == told - has, agent
        for seq, why in found.items():
            assert (why == "distracted") == (agent in appeared[seq - 1])
            if why in ("unread", "away", "readable"):
                assert seq in reference.readable(agent)
            elif why != "distracted" and log[seq - 1]["kind"] != "retract":
                assert seq not in reference.readable(agent)
                assert (why == "noticed") == (agent in noticed[seq - 1])


def memory_readers(reference: model.Model, log: list[dict[str, Any]], reading: int) -> set[str]:
    """Who read by an event: the model's witnesses of it, of those that it names."""
    named = set(log[reading - 1]["agents"])
    crew = {"@crew"} & named
    return {a for a in AGENTS if a in named or (crew and a in reference.truly()[reading - 1])}


def tells(event: dict[str, Any], log: list[dict[str, Any]]) -> bool:
    """Whether an event, or what it is about, gives a value or has words."""
    while event.get("entity") is None and event.get("text") is None and "event" in event:
        event = log[number_of(event, log) - 1]
    return event.get("entity") is not None or event.get("text") is not None
