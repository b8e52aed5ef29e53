"""Handoffs: the shortest message that repairs a team, and nothing in it that must not pass on."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import model
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from logs import AGENTS, ENTITIES, attentive_logs, attentive_settings, logs, settings
from stores import every_key, view_of
from test_memory import commands_of

from so_mcp import Memory, handoff, scenarios, tokens
from so_mcp.errors import InvalidInputError, SecondOrderError, UnknownNameError
from so_mcp.names import mind_key, world_key
from so_mcp.tools import own_mind
from so_mcp.tools.handoff import handoff_delta

NewMemory = Callable[..., Memory]
ROOT = Path(__file__).resolve().parents[1]

# What each tells each on `support`, and its tokens; read and found right by a person.
SUPPORT = {
    ("Billing", "Finance"): (24, """\
- address_4411: 7 Oak Lane
- Shipping still believes address_4411 is 12 Elm Street"""),
    ("Billing", "Escalation"): (24, """\
- address_4411: 7 Oak Lane
- Shipping still believes address_4411 is 12 Elm Street"""),
    ("Billing", "Shipping"): (37, """\
- replacement_4411: decided
- refund_4411: rejected
- address_4411: 7 Oak Lane
- Maya still believes refund_4411 is approved"""),
    ("Billing", "Maya"): (37, """\
- replacement_4411: decided
- refund_4411: rejected
- Shipping still believes address_4411 is 12 Elm Street (it is 7 Oak Lane)"""),
    ("Finance", "Billing"): (5, "Nothing to hand over."),
    ("Finance", "Escalation"): (5, "Nothing to hand over."),
    ("Finance", "Shipping"): (26, """\
- replacement_4411: decided
- refund_4411: rejected
- Maya still believes refund_4411 is approved"""),
    ("Finance", "Maya"): (15, """\
- replacement_4411: decided
- refund_4411: rejected"""),
    ("Escalation", "Billing"): (18, """\
- address_4411: 12 Elm Street
- replacement_4411: packed"""),
    ("Escalation", "Finance"): (18, """\
- address_4411: 12 Elm Street
- replacement_4411: packed"""),
    ("Escalation", "Shipping"): (35, """\
- refund_4411: rejected
- Billing and Finance still believe replacement_4411 is decided (it is packed)
- Maya still believes refund_4411 is approved"""),
    ("Escalation", "Maya"): (39, """\
- address_4411: 12 Elm Street
- replacement_4411: packed
- refund_4411: rejected
- Billing and Finance still believe replacement_4411 is decided"""),
    ("Shipping", "Billing"): (7, "- replacement_4411: packed"),
    ("Shipping", "Finance"): (18, """\
- replacement_4411: packed
- address_4411: 12 Elm Street"""),
    ("Shipping", "Escalation"): (5, "Nothing to hand over."),
    ("Shipping", "Maya"): (18, """\
- replacement_4411: packed
- address_4411: 12 Elm Street"""),
    ("Maya", "Billing"): (5, "Nothing to hand over."),
    ("Maya", "Finance"): (18, """\
- address_4411: 7 Oak Lane
- refund_4411: approved"""),
    ("Maya", "Escalation"): (18, """\
- address_4411: 7 Oak Lane
- refund_4411: approved"""),
    ("Maya", "Shipping"): (18, """\
- address_4411: 7 Oak Lane
- refund_4411: approved"""),
}


def every_pair(memory: Memory) -> list[tuple[str, str]]:
    return list(itertools.permutations(memory.agents(), 2))


def values(found: handoff.Handoff) -> tuple[set, set]:
    """(entity, value) of the facts, and (agent, entity, value) of the mistaken."""
    return (
        {(fact.entity, fact.value) for fact in found.facts},
        {(item.agent, item.entity, item.value) for item in found.mistaken},
    )


# What is handed over ---------------------------------------------------------------------------


def test_on_support_every_pair_is_told_what_it_needs_in_at_most_60_tokens(support: Memory) -> None:
    found = {pair: support.handoff_delta(*pair) for pair in every_pair(support)}
    assert {pair: (one.tokens, one.text) for pair, one in found.items()} == SUPPORT
    for one in found.values():
        assert one.tokens <= 60
        assert one.transcript_tokens is not None
        assert one.tokens < one.transcript_tokens


def test_on_org_it_is_the_date_and_who_shares_the_thread_has_nothing_to_hand_over(
    memory: Memory,
) -> None:
    scenarios.play(memory, scenarios.load("org"))
    told = {"Ben": set(), "Ada": {"Dan", "Eva", "Finn", "Grace"}}
    told["Chloe"] = told["Ada"]
    for late in ("Dan", "Eva", "Finn", "Grace"):
        told[late] = set(memory.agents()) - {late, "Ben"}
    for sender, receiver in every_pair(memory):
        text = memory.handoff_delta(sender, receiver).text
        expected = "- launch_date: Tuesday" if receiver in told[sender] else handoff.NOTHING
        assert text == expected


def test_a_fact_says_from_whom_when_and_whether_the_receiver_has_it_wrong(support: Memory) -> None:
    newest, refund, address = support.handoff_delta("Billing", "Shipping").facts
    assert (newest.entity, newest.how, newest.source, newest.wrong) == (
        "replacement_4411", "said", "Finance", False
    )
    assert (address.value, address.source, address.wrong) == ("7 Oak Lane", "Maya", True)
    assert newest.at > refund.at > address.at == 1_772_443_440_000


def test_one_who_is_mistaken_is_handed_over_with_what_is_so_and_how_one_knows(
    support: Memory,
) -> None:
    [maya] = support.handoff_delta("Finance", "Shipping").mistaken
    assert (maya.agent, maya.entity, maya.value, maya.how, maya.source) == (
        "Maya", "refund_4411", "approved", "reported", "Billing"
    )
    # What it last heard of it, though it was itself who decided.
    assert (maya.actual.value, maya.actual.source) == ("rejected", "Billing")


def test_what_is_new_stands_first_and_news_is_also_that_somebody_came_to_be_wrong(
    memory: Memory,
) -> None:
    memory.set("e", "1", audience=["Ann", "Bob", "Cyd", "Dee"])
    memory.set("f", "1", audience=["Ann", "Cyd"])
    memory.set("e", "2", audience=["Ann", "Bob"])
    memory.set("g", "1", audience=["Ann"])
    memory.tell("Ann", "Dee", "f", "2")
    found = memory.handoff_delta("Ann", "Bob")
    assert [fact.entity for fact in found.facts] == ["g", "f"]
    # Bob was there when e was 1, so it knows that Cyd and Dee believe so.
    assert [(item.agent, item.entity) for item in found.mistaken] == [("Dee", "f")]
    assert found.text == "- g: 1\n- f: 1\n- Dee still believes f is 2"


def test_those_with_the_same_mistakes_share_a_line_and_no_line_can_be_misread(
    memory: Memory,
) -> None:
    for entity in ("e", "f", "g"):
        memory.set(entity, "old; older", audience=["Ann", "Cyd", "Dee"])
        memory.set(entity, "new\n- h: 1", audience=["Ann"])
    memory.tell("Ann", ["Dee"], "g", "new\n- h: 1")
    memory.tell("Ann", ["Bob"], "f", "new\n- h: 1")
    assert memory.handoff_delta("Ann", "Bob").text.splitlines() == [
        r"- g: 'new\n- h: 1'",
        r"- e: 'new\n- h: 1'",
        "- Cyd still believes g is 'old; older'",
        r"- Cyd and Dee still believe f is 'old; older' (it is 'new\n- h: 1'); e is 'old; older'",
    ]


def test_two_who_witnessed_the_same_have_nothing_to_hand_over(memory: Memory) -> None:
    memory.set("e", "1", audience=["Ann", "Bob", "Cyd"])
    memory.set("e", "2", audience=["Ann", "Bob"])
    found = memory.handoff_delta("Ann", "Bob")
    assert (found.facts, found.mistaken, found.text) == ((), (), "Nothing to hand over.")


def test_what_the_sender_does_not_know_is_neither_a_fact_nor_anybodys_mistake(
    memory: Memory,
) -> None:
    memory.set("e", "1", audience=["Ann", "Bob", "Cyd"])
    memory.set("e", None, audience=["Ann"])
    memory.report("Dee", "Cyd", "f", "2", listeners=["Ann"])
    for value, who in (("1", "Cyd"), (None, "Cyd"), ("2", "Bob")):
        memory.set("g", value, audience=["Ann", who])
    assert memory.handoff_delta("Ann", "Bob").text == handoff.NOTHING


def test_a_handoff_holds_no_more_than_a_hundred_items_and_the_rest_follows(memory: Memory) -> None:
    memory.record(
        [{"kind": "state", "entity": f"e{n}", "value": "1", "by": "Ann"} for n in range(103)]
        + [{"kind": "enter", "agents": ["Ann", "Bob"], "room": "chat"}]
    )
    answer = handoff_delta(memory, "Ann", "Bob", commit=True)
    assert answer.cut
    assert [answer.facts[n].entity for n in (0, 99)] == ["e102", "e3"]
    assert answer.text().splitlines()[100] == (
        "Only the newest 100: the rest follows when these are recorded as told. Or exclude names."
    )
    rest = handoff_delta(memory, "Ann", "Bob", commit=True)
    assert (rest.cut, rest.handoff) == (False, "- e2: 1\n- e1: 1\n- e0: 1")
    assert memory.handoff_delta("Ann", "Bob").text == handoff.NOTHING


def test_a_handoff_as_of_an_earlier_time_is_what_it_was_then(support: Memory) -> None:
    early = support.handoff_delta("Billing", "Escalation", as_of="2026-03-02T09:53:00Z")
    assert early.text == (
        "- refund_4411: rejected\n- address_4411: 7 Oak Lane\n"
        "- Maya still believes refund_4411 is approved\n"
        "- Shipping still believes address_4411 is 12 Elm Street"
    )
    assert early.transcript_tokens is not None
    now = support.handoff_delta("Billing", "Escalation").transcript_tokens
    assert now is not None
    assert early.transcript_tokens < now
    with pytest.raises(InvalidInputError, match="as_of asks about an earlier time"):
        support.handoff_delta("Billing", "Maya", as_of="2026-03-02T09:53:00Z", commit=True)


def test_names_are_checked_before_anything_is_handed_over(support: Memory) -> None:
    for arguments, error, message in (
        (("Bilings", "Maya"), UnknownNameError, "Did you mean 'Billing'"),
        (("Billing", "maya"), UnknownNameError, "Did you mean 'Maya'"),
        (("Billing", "Billing"), InvalidInputError, "goes to another agent"),
        (("Billing", "Maya", ["refnd_4411"]), UnknownNameError, "Did you mean 'refund_4411'"),
        (("Billing", "Maya", ["Maya"]), InvalidInputError, "give or get the handoff itself"),
        (("Billing", "Maya", [""]), InvalidInputError, "exclude: expected a name"),
    ):
        with pytest.raises(error, match=message):
            support.handoff_delta(*arguments, commit=True)
    assert support.step() == 32


UNKNOWN = None
on_the_real_engine = hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(log=logs(), chosen=settings, data=st.data())
@on_the_real_engine
def test_it_is_what_the_model_of_belief_says_and_empty_after_it_was_recorded(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    repairs_as_the_model_says(new_memory, log, chosen, data)


@given(log=attentive_logs(), chosen=attentive_settings, data=st.data())
@on_the_real_engine
def test_so_it_is_whatever_was_hidden_read_edited_passed_on_or_retracted(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    repairs_as_the_model_says(new_memory, log, chosen, data)


def repairs_as_the_model_says(
    new_memory: NewMemory, log: list[dict[str, Any]], chosen: dict[str, str], data: st.DataObject
) -> None:
    memory, reference = new_memory(**chosen), model.Model(**chosen)
    memory.record(log)
    for event in log:
        reference.record(event)
    if len(reference.agents) < 2:
        return

    def expected(sender: str, receiver: str) -> tuple[set, set]:
        facts, mistaken = set(), set()
        for entity in ENTITIES:
            own = reference.believes([sender], entity)
            if own is UNKNOWN:
                continue
            if reference.believes([sender, receiver], entity) != own:
                facts.add((entity, own))
            for third in set(AGENTS) - {sender, receiver}:
                value = reference.believes([sender, third], entity)
                if value not in (UNKNOWN, own) and (
                    reference.believes([sender, receiver, third], entity) != value
                ):
                    mistaken.add((third, entity, value))
        return facts, mistaken

    for pair in itertools.permutations(reference.agents, 2):
        assert values(memory.handoff_delta(*pair)) == expected(*pair)
    sender, receiver = data.draw(st.sampled_from(list(itertools.permutations(reference.agents, 2))))
    given_ = memory.handoff_delta(sender, receiver, commit=True)
    assert len(given_.recorded) == len(given_.items)
    for event in given_.events:
        reference.record(event | {"happened_at": 10**13})
    assert memory.handoff_delta(sender, receiver).items == []
    lines = {
        **{fact.line: reference.believes([receiver], fact.entity) == fact.value
           for fact in given_.facts},
        **{item.line: reference.believes([receiver, item.agent], item.entity) == item.value
           for item in given_.mistaken},
    }
    assert set(given_.doubted) == {line for line, believed in lines.items() if not believed}
    assert memory.verify() == []


def test_what_was_read_or_passed_on_is_handed_over_and_what_was_retracted_is_not(
    memory: Memory,
) -> None:
    memory.record([
        {"kind": "enter", "agents": ["Ann", "Cyd"], "room": "board", "reads": "later"},
        {"kind": "say", "speaker": "Cyd", "room": "board", "entity": "e", "value": "1"},
        {"kind": "say", "speaker": "Cyd", "audience": ["Dee"], "entity": "f", "value": "1",
         "hidden": ["Ann"]},
        {"kind": "say", "speaker": "Cyd", "audience": ["Ann", "Dee"], "entity": "g", "value": "1"},
        {"kind": "read", "agents": ["Ann"], "event": 2},
        {"kind": "retract", "speaker": "Cyd", "event": 4, "audience": ["Ann"]},
        {"kind": "enter", "agents": ["Bob"], "room": "yard"},
    ])
    assert memory.handoff_delta("Ann", "Bob").text == "- e: 1\n- f: 1"
    # That Dee still believes g is no news: Ann does not know what is so of it.
    assert memory.handoff_delta("Ann", "Dee").text == "- e: 1"
    memory.record([{"kind": "forward", "speaker": "Ann", "event": 2, "listeners": ["Bob"]}])
    assert memory.handoff_delta("Ann", "Bob").text == "- f: 1"
    assert [(fact.how, fact.source) for fact in memory.handoff_delta("Bob", "Dee").facts] == [
        ("forwarded", "Cyd")
    ]


# What must not pass on -------------------------------------------------------------------------


def test_nothing_of_an_excluded_entity_or_agent_is_handed_over(support: Memory) -> None:
    for exclude, left in (
        # The entity, and so that Maya is mistaken about it.
        (["refund_4411"], "- replacement_4411: decided\n- address_4411: 7 Oak Lane"),
        # The third party, and what came from her.
        (["Maya"], "- replacement_4411: decided\n- refund_4411: rejected"),
        # The source; and that Maya is mistaken follows from what it said.
        (["Finance"], "- address_4411: 7 Oak Lane"),
        (["Finance", "Maya"], handoff.NOTHING),
    ):
        found = support.handoff_delta("Billing", "Shipping", exclude)
        assert found.text == left
        assert found.proof is not None
        assert found.proof.withheld == 4 - len(found.items)
        answer = handoff_delta(support, "Billing", "Shipping", exclude)
        assert not any(name in answer.model_dump_json() for name in exclude)
        assert not any(name in answer.text() for name in exclude)
    assert support.step() == 32


def test_a_value_that_names_the_excluded_is_withheld_however_it_is_written(memory: Memory) -> None:
    memory.set("plan", "ask MAYA's sister", audience=["Ann"])
    memory.set("maya_file", "open", audience=["Ann"])
    memory.set("e", "1", audience=["Ann", "Maya"])
    memory.join("Bob", "chat")
    found = memory.handoff_delta("Ann", "Bob", "Maya")
    assert found.text == "- e: 1"
    assert found.proof is not None
    assert found.proof.withheld == 2


def test_an_alias_excludes_what_it_means_and_a_name_excludes_its_aliases(memory: Memory) -> None:
    memory.set("refund_4411", "rejected", audience=["Ann", "Maya"])
    memory.set("note", "Mrs. Miller is angry", audience=["Ann"])
    memory.join("Bob", "chat")
    memory.alias("the refund", "refund_4411")
    memory.alias("Mrs. Miller", "Maya")
    memory.alias("Bobby", "Bob")
    found = memory.handoff_delta("Ann", "Bobby", ["the refund"])
    assert found.text == "- note: Mrs. Miller is angry"
    assert found.proof is not None
    assert found.proof.chains == 3  # Bob; Bob, Ann; Bob, Ann, Bob
    assert memory.handoff_delta("Ann", "Bob", ["Maya"]).text == "- refund_4411: rejected"
    with pytest.raises(InvalidInputError, match="goes to another agent"):
        memory.handoff_delta("Bob", "Bobby")
    with pytest.raises(InvalidInputError, match="give or get the handoff itself"):
        memory.handoff_delta("Ann", "Bob", ["Bobby"])


def test_the_proof_says_what_was_compared_on_a_fork_that_is_gone(support: Memory) -> None:
    prefix = f"so:{{{support.scenario}}}:*"
    before = every_key(support, prefix)
    proof = support.handoff_delta("Billing", "Shipping", ["refund_4411"]).proof
    # Shipping; one of four others; or one of four and then one of four.
    assert proof == handoff.Proof(
        withheld=2,
        compared="Shipping's chains to depth 3 about excluded entities or through excluded agents",
        chains=1 + 4 + 4 * 4,
        unchanged=True,
    )
    assert every_key(support, prefix) == before
    assert support.handoff_delta("Billing", "Shipping").proof is None


def test_a_handoff_that_would_let_it_through_is_not_given(support: Memory) -> None:
    """As if nothing had been filtered: what the receiver would learn shows on the fork."""
    whole = support.handoff_delta("Billing", "Shipping")
    refund = replace(whole, facts=whole.facts[1:2], mistaken=())
    for found, agents, entities in (
        (whole, [], ["refund_4411"]),
        (whole, ["Maya"], []),
        (refund, ["Billing"], []),  # no item names Billing, but it is known now what it believes
    ):
        with pytest.raises(SecondOrderError, match="so it is not given"):
            handoff.prove(support, found, agents, entities)
    # Where nobody's belief about Maya changes, but a value names her.
    support.set("plan", "call Maya", audience=["Billing"])
    plan = replace(whole, facts=support.handoff_delta("Billing", "Shipping").facts[:1], mistaken=())
    with pytest.raises(SecondOrderError, match="learn of 'Maya'"):
        handoff.prove(support, plan, ["Maya"], [])
    assert support.step() == 33


def test_what_is_withheld_is_not_recorded_either(support: Memory) -> None:
    about = ["refund_4411"]
    asked = [["Shipping", *rest] for k in range(3)
             for rest in itertools.product(support.agents(), repeat=k)]
    before = [support.believes(chain, "refund_4411") for chain in asked]
    found = support.handoff_delta("Billing", "Shipping", about, commit=True)
    assert len(found.recorded) == 2
    assert [support.believes(chain, "refund_4411") for chain in asked] == before
    assert support.believes("Shipping", "address_4411") == "7 Oak Lane"
    assert support.handoff_delta("Billing", "Shipping", about).text == handoff.NOTHING


# Recording it ----------------------------------------------------------------------------------


def test_recorded_as_testimony_it_is_believed_and_there_is_nothing_left(support: Memory) -> None:
    found = support.handoff_delta("Billing", "Shipping", commit=True)
    assert (found.recorded, found.doubted) == ((33, 34, 35, 36), ())
    log = support.database.read(world_key(support.scenario), "world/events", after=32, upto=99)
    assert [(e["kind"], e["actor"], e["audience"], e["about"], e["text"]) for e in log] == [
        ("tell", "Billing", ["Shipping"], None, "replacement_4411: decided"),
        ("tell", "Billing", ["Shipping"], None, "refund_4411: rejected"),
        ("tell", "Billing", ["Shipping"], None, "address_4411: 7 Oak Lane"),
        ("report", "Billing", ["Shipping"], "Maya", "Maya still believes refund_4411 is approved"),
    ]
    assert support.believes("Shipping", "address_4411") == "7 Oak Lane"
    assert support.believes(["Shipping", "Maya"], "refund_4411") == "approved"
    assert support.believes("Maya", "refund_4411") == "approved"
    again = support.handoff_delta("Billing", "Shipping", commit=True)
    assert (again.text, again.recorded) == (handoff.NOTHING, ())
    assert support.step() == 36
    assert support.verify() == []


def test_a_receiver_whose_policy_does_not_trust_the_sender_is_said_to_doubt_it(
    new_memory: NewMemory,
) -> None:
    memory = new_memory(policy="exit-order", rooms="place")
    memory.join(["Ann", "Bob"], "hall")
    memory.set("e", "1", audience=["Ann", "Cyd"])
    memory.set("e", "2", audience=["Ann"])
    answer = handoff_delta(memory, "Ann", "Bob", commit=True)
    assert answer.recorded is not None
    assert answer.recorded.doubted == ["e: 2", "Cyd still believes e is 1"]
    assert answer.text() == (
        "- e: 2\n- Cyd still believes e is 1\n"
        "[15 tokens, the transcript 0, by o200k_base. Recorded as events 4 and 5. "
        "Not believed: e: 2; Cyd still believes e is 1.]"
    )
    assert memory.believes("Bob", "e") is None
    assert memory.handoff_delta("Ann", "Bob").text == handoff.NOTHING


def test_a_line_longer_than_an_events_words_may_be_is_cut_there_and_nowhere_else(
    memory: Memory,
) -> None:
    memory.join("Bob", "chat")
    memory.set("e", "x" * 20_000, audience=["Ann"])
    memory.handoff_delta("Ann", "Bob", commit=True)
    assert memory.believes("Bob", "e") == "x" * 20_000


# Tokens ----------------------------------------------------------------------------------------


def test_the_transcript_is_the_words_that_the_sender_witnessed_in_order_and_no_more(
    memory: Memory,
) -> None:
    record = scenarios.play(memory, scenarios.load("support"))
    for agent in memory.agents():
        words = [
            one.event.text for one in record.events if agent in one.witnesses and one.event.text
        ]
        rows = memory.database.read(
            world_key(memory.scenario), "world/transcript", agent=agent, as_of=2**53
        )
        assert [row["text"] for row in rows] == words
        other = next(name for name in memory.agents() if name != agent)
        found = memory.handoff_delta(agent, other)
        assert found.transcript_tokens == sum(map(tokens.count, words))
        assert found.tokens == tokens.count(found.text)


def test_what_was_read_later_belongs_to_the_transcript_once(memory: Memory) -> None:
    memory.record([
        {"kind": "enter", "agents": ["Ann", "Bob", "Cyd"], "room": "board", "reads": "later"},
        {"kind": "say", "speaker": "Bob", "room": "board", "text": "one two three"},
        {"kind": "say", "speaker": "Ann", "audience": ["Cyd"], "text": "four"},
    ])
    assert memory.handoff_delta("Ann", "Cyd").transcript_tokens == 1
    for _ in range(2):
        memory.record([{"kind": "read", "agents": ["Ann"], "event": 2, "text": "five"}])
    assert memory.handoff_delta("Ann", "Cyd").transcript_tokens == 1 + 3 + 2


def test_the_tokenizer_is_the_one_that_is_pinned_and_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pin = f"{tokens.PACKAGE}=={tokens.VERSION}"
    assert pin in project["dependencies"]
    assert pin in (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    assert version(tokens.PACKAGE) == tokens.VERSION
    assert tokens.TOKENIZER == "o200k_base (bpe-openai 0.1.4)"


@pytest.mark.parametrize(("text", "count"), [
    ("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("漢字 🦊", 5),
    ("- refund_4411: rejected\n- Maya still believes refund_4411 is approved", 18),
])
def test_a_text_has_as_many_tokens_as_it_has(text: str, count: int) -> None:
    assert tokens.count(text) == count


def test_counting_needs_no_network_and_is_not_loaded_before_it_is_needed() -> None:
    """Without the right to open a file or socket, once the library itself is loaded."""
    program = """
import resource, socket, sys
import so_mcp, so_mcp.tools
assert not any("bpe" in name for name in sys.modules)
def forbid(event, _):
    if event.startswith("socket."):
        raise AssertionError(event)
from so_mcp import tokens
sys.addaudithook(forbid)
tokens._bindings()
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
try:
    open("/dev/null")
except OSError:
    print(tokens.count("Maya still believes refund_4411 is approved"))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "10\n"


def test_a_handoff_is_four_round_trips_and_reads_one_mind(support: Memory) -> None:
    with commands_of(support) as trips:
        support.handoff_delta("Billing", "Maya")
    world, mind = (f"GRAPH.RO_QUERY {key}" for key in (
        world_key(support.scenario), mind_key(support.scenario, "Billing")
    ))
    assert trips == [[world, world], [mind], [mind], [world]]


def story(seed: int) -> list[dict[str, Any]]:
    """A made-up support desk: 5 to 8 agents, 60 to 200 events, every one with words or moves."""
    chance = random.Random(seed)
    agents = ["Maya", "Billing", "Finance", "Shipping", "Escalation", "Legal", "Stock", "Night"]
    agents = agents[:chance.randint(5, 8)]
    rooms = ["chat", "internal", "dispatch"]
    entities = [f"{what}_{chance.randint(100, 999)}" for what in
                ("refund", "parcel", "address", "invoice", "ticket", "voucher")]
    states = ["open", "approved", "rejected", "sent", "on hold", "closed", "waiting for stock"]
    openings = ["Quick update before I forget:", "I have just looked it up in the system, and",
                "Sorry for the delay, we were all in a meeting.", "As far as I can see",
                "Please do not tell the customer yet, but", "After the call this morning:"]
    chats = ["Has anybody seen the keys to the storeroom?", "I am back in ten minutes.",
             "Thank you, that was quick!", "Let me check that and come back to you.",
             "Good morning all, there is coffee in the kitchen."]
    events: list[dict[str, Any]] = [
        {"kind": "enter", "agents": agents, "room": "internal"},
        {"kind": "say", "speaker": agents[1], "room": "internal", "text": chats[4]},
    ]
    for _ in range(chance.randint(58, 198)):
        speaker, other, third = chance.sample(agents, 3)
        room, entity, value = map(chance.choice, (rooms, entities, states))
        fact = {"entity": entity, "value": value}
        sentence = f"{chance.choice(openings)} {entity} is {value} now."
        events.append(chance.choice([
            {"kind": "enter", "agents": [speaker], "room": room},
            {"kind": "exit", "agents": [speaker], "room": room},
            {"kind": "say", "speaker": speaker, "room": room, "text": chance.choice(chats)},
            {"kind": "say", "speaker": speaker, "room": room, "text": sentence, **fact},
            {"kind": "say", "speaker": speaker, "room": room, "text": sentence, **fact},
            {"kind": "tell", "speaker": speaker, "listeners": [other], "text": sentence, **fact},
            {"kind": "report", "speaker": speaker, "about": third, "listeners": [other],
             "text": f"{third} told me that {entity} is {value}.", **fact},
        ]))
    return events


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_made_up_desks_a_handoff_is_a_fraction_of_the_transcript(
    memory: Memory, seed: int
) -> None:
    events = story(seed)
    assert 60 <= len(events) <= 200
    memory.record(events)
    assert 5 <= len(memory.agents()) <= 8
    found = [memory.handoff_delta(*pair) for pair in every_pair(memory)]
    shares = [one.tokens / (one.transcript_tokens or 1) for one in found]
    assert max(shares) <= 1 / 3
    assert sum(shares) / len(shares) <= 1 / 8
    assert max(one.tokens for one in found) <= 100


# As tools --------------------------------------------------------------------------------------


def test_the_supervisors_text_is_the_handoff_and_below_it_what_is_for_the_supervisor(
    support: Memory,
) -> None:
    answer = handoff_delta(support, "Finance", "Shipping")
    assert answer.text() == (
        "- replacement_4411: decided\n- refund_4411: rejected\n"
        "- Maya still believes refund_4411 is approved\n[26 tokens, the transcript 92, by o200k_base.]"
    )
    assert answer.tokens.model_dump() == {
        "handoff": 26, "transcript": 92, "tokenizer": "o200k_base (bpe-openai 0.1.4)"
    }
    assert (answer.proof, answer.recorded, answer.cut) == (None, None, False)
    withheld = handoff_delta(support, "Finance", "Shipping", ["Maya"], commit=True)
    assert withheld.text() == (
        "- replacement_4411: decided\n- refund_4411: rejected\n"
        "[15 tokens, the transcript 92, by o200k_base. 1 withheld; proved: Shipping's chains to depth 3 about "
        "excluded entities or through excluded agents (8) are unchanged by this. "
        "Recorded as events 33 and 34.]"
    )


def test_an_agents_own_handoff_is_the_same_from_its_own_mind_alone(support: Memory) -> None:
    support.grant("Billing")
    with view_of("Billing", support.scenario, support.store) as view:
        sent: list[tuple[str, ...]] = []
        view.database.observers.append(sent.extend)
        for receiver in ("Finance", "Escalation", "Shipping", "Maya"):
            answer = own_mind.handoff_delta(view, receiver)
            count, text = SUPPORT["Billing", receiver]
            assert answer.text() == answer.handoff == text
            assert (answer.tokens.handoff, answer.tokens.transcript) == (count, None)
        kept = own_mind.handoff_delta(view, "Shipping", ["Maya"])
        assert kept.text() == "- replacement_4411: decided\n- refund_4411: rejected"
        assert "withheld" not in kept.model_dump_json()
        assert {command[:2] for command in sent} == {
            ("GRAPH.RO_QUERY", mind_key(support.scenario, "Billing"))
        }
        with pytest.raises(UnknownNameError, match="Did you mean 'refund_4411'"):
            view.handoff_delta("Shipping", ["refnd_4411"])


def test_to_an_agent_the_hidden_and_the_absent_answer_alike(support: Memory) -> None:
    support.set("plan", "secret", audience=["Auditor"])
    support.grant("Shipping")
    with view_of("Shipping", support.scenario, support.store) as view:
        hidden, absent = (
            own_mind.handoff_delta(view, name).model_dump_json().replace(name, "X")
            for name in ("Auditor", "Rotidua")
        )
        assert hidden == absent
        errors = []
        for name in ("Auditor", "Rotidua", "plan", "nalp"):
            with pytest.raises(UnknownNameError) as caught:
                view.handoff_delta("Maya", [name])
            errors.append(str(caught.value).replace(name, "X"))
        assert len(set(errors)) == 1
        assert json.loads(hidden)["facts"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("Zoë", "fire Zoe\u0308"), ("Jean Paul", "fire Jean\nPaul"), ("Maya", "fire Ma\u00adya"),
     ("Maya", "fire \uff2d\uff21\uff39\uff21")],
)
def test_what_looks_like_an_excluded_name_is_withheld_too(
    memory: Memory, name: str, said: str
) -> None:
    memory.tell("Ann", [name, "Bob"], "lunch", "noon")
    memory.set("plan", said, audience=["Ann"])
    found = memory.handoff_delta("Ann", "Bob", exclude=[name])
    assert found.items == []
    assert found.proof is not None
    assert found.proof.withheld == 1
