"""Why it is believed: `explain` with who told whom, an agent's own `explain`, and `who_knows`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from stores import view_of
from test_memory import commands_of

from so_mcp import AgentView, Memory
from so_mcp.testimony import Telling, Trail, shortest
from so_mcp.tools import own_mind, supervisor

NewMemory = Callable[..., Memory]


@pytest.fixture
def own_view(support: Memory) -> Iterator[Callable[[str], AgentView]]:
    """Makes views of agents of the support story, each with its own login."""
    views: list[AgentView] = []

    def make(agent: str) -> AgentView:
        support.grant(agent)
        views.append(view_of(agent, support.scenario, support.store))
        return views[-1]

    yield make
    for view in views:
        view.close()


def came(memory: Memory, chain: str | list[str]) -> Trail:
    trail = memory.explain(chain, "refund").trail
    assert trail is not None
    return trail


# Who told whom -----------------------------------------------------------------------------------


def test_testimony_is_traced_back_to_one_who_saw_it(memory: Memory) -> None:
    memory.set("refund", "rejected", by="Finance")
    memory.tell("Finance", "Billing", "refund", "rejected")
    memory.tell("Billing", "Shipping", "refund", "rejected")
    memory.set("refund", "paid", by="Finance")
    assert supervisor.explain(memory, ["Shipping"], "refund").text() == (
        "Shipping believes refund is 'rejected' (event 3, Billing told Shipping that refund is "
        "'rejected', witnessed by Billing and Shipping); it came from Finance (saw it, event 1) → "
        "Billing → Shipping; Shipping missed event 4: Finance set refund to 'paid'."
    )
    found = supervisor.explain(memory, ["Shipping"], "refund").came_from
    assert found is not None
    assert (found.agents, found.told, found.saw) == (["Finance", "Billing", "Shipping"], [2, 3], 1)


def test_what_support_was_told_came_from_one_who_saw_it(support: Memory) -> None:
    assert supervisor.explain(support, ["Escalation"], "refund_4411").text() == (
        "Escalation believes refund_4411 is 'rejected' (event 20, Billing told Escalation and "
        "Finance in internal that refund_4411 is 'rejected', witnessed by Billing, Escalation and "
        "Finance); it came from Billing (saw it, event 16) → Escalation."
    )
    assert supervisor.explain(
        support, ["Shipping"], "replacement_4411", "2026-03-02T10:12:00Z"
    ).text() == (
        "Shipping believes replacement_4411 is 'decided' (event 26, Escalation told Shipping in "
        "dispatch that replacement_4411 is 'decided', witnessed by Escalation and Shipping); it "
        "came from Billing (saw it, event 17) → Escalation → Shipping."
    )
    assert supervisor.explain(support, ["Billing", "Shipping"], "address_4411").text() == (
        "Billing thinks Shipping believes address_4411 is '12 Elm Street' (event 9, Billing told "
        "Shipping that address_4411 is '12 Elm Street', witnessed by Billing and Shipping); it came "
        "from Billing (saw it, event 8); Billing missed event 28: Shipping told Escalation in "
        "dispatch that address_4411 is '12 Elm Street'; Shipping missed event 12: Maya said "
        "address_4411 is '7 Oak Lane' in chat."
    )


def test_what_was_seen_is_not_traced(support: Memory) -> None:
    found = supervisor.explain(support, ["Maya"], "refund_4411")
    assert found.came_from is None
    assert found.text() == (
        "Maya believes refund_4411 is 'approved' (event 11, Billing said refund_4411 is 'approved' "
        "in chat, witnessed by Billing and Maya); Maya missed event 16: Finance said refund_4411 "
        "is 'rejected' in internal."
    )


def test_a_lie_is_traced_to_the_first_who_told_it(memory: Memory) -> None:
    memory.set("refund", "open", audience=["Liar", "Dupe", "Last"])
    memory.tell("Liar", "Dupe", "refund", "paid")
    memory.tell("Dupe", "Last", "refund", "paid")
    assert "; it came from Liar (nobody saw it) → Dupe → Last." in memory.explain(
        "Last", "refund"
    ).sentence
    assert "; it came from Liar (nobody saw it); Liar missed event 3: " in memory.explain(
        ["Liar", "Dupe"], "refund"
    ).sentence
    memory.set("refund", "paid", audience=["Clerk"])  # it comes true afterwards
    assert came(memory, "Last") == Trail(("Liar", "Dupe", "Last"), (2, 3), None, was_so=False)


def test_one_who_had_not_seen_what_others_had_is_said_to_have_guessed(memory: Memory) -> None:
    memory.set("refund", "paid", audience=["Clerk"])
    memory.tell("Guesser", "Dupe", "refund", "paid")
    assert "it came from Guesser (had not seen it) → Dupe." in memory.explain(
        "Dupe", "refund"
    ).sentence


def test_only_what_was_told_before_with_that_value_and_was_believed_counts(memory: Memory) -> None:
    memory.set("refund", "paid", by="Saw")
    memory.tell("Saw", "Teller", "other", "paid")
    memory.tell("Saw", "Teller", "refund", "lost")
    memory.tell("Teller", "Last", "refund", "paid")
    memory.tell("Saw", "Teller", "refund", "paid")
    assert came(memory, "Last") == Trail(("Teller", "Last"), (4,), None, was_so=True)


def test_one_who_was_not_believed_is_on_no_trail(new_memory: NewMemory) -> None:
    """exit-order: who left after the speaker, or is still there, believes nothing it says."""
    memory = new_memory(policy="exit-order", rooms="place")
    memory.join(["Saw", "Stays"], "hall")
    memory.set("refund", "open", room="hall")
    memory.set("refund", "paid", by="Saw")
    memory.tell("Saw", ["Stays", "Away"], "refund", "paid")
    memory.tell("Stays", "Last", "refund", "paid")
    assert came(memory, "Away").agents == ("Saw", "Away")
    assert came(memory, "Last") == Trail(("Stays", "Last"), (5,), None, was_so=True)


def test_the_shortest_of_several_trails_is_told_and_ends_with_the_beliefs_own_event(
    memory: Memory,
) -> None:
    memory.set("refund", "paid", by="Saw")
    memory.tell("Saw", "Long", "refund", "paid")
    memory.tell("Long", "Longer", "refund", "paid")
    memory.tell("Longer", "Teller", "refund", "paid")
    memory.tell("Saw", "Teller", "refund", "paid")
    memory.tell("Saw", "Last", "refund", "paid")
    memory.tell("Teller", "Last", "refund", "paid")
    assert (came(memory, "Last").agents, came(memory, "Last").told) == (
        ("Saw", "Teller", "Last"), (5, 7)
    )
    memory.set("refund", "paid", by="Teller")  # too late to have told it from that
    assert came(memory, "Last").agents == ("Saw", "Teller", "Last")
    memory.tell("Teller", "Last", "refund", "paid")
    assert came(memory, "Last").agents == ("Teller", "Last")


def test_what_lay_in_plain_sight_on_entering_was_seen(new_memory: NewMemory) -> None:
    memory = new_memory(rooms="place")
    memory.set("refund", "on the desk", located_in="office", room="office")
    memory.join("Ann", "office")
    assert memory.explain("Ann", "refund").sentence == (
        "Ann believes refund is 'on the desk' (event 2, Ann entered office, where it lay in plain "
        "sight, witnessed by Ann)."
    )
    memory.tell("Ann", "Bob", "refund", "on the desk")
    assert "it came from Ann (saw it, event 2) → Bob." in memory.explain("Bob", "refund").sentence


def test_tellings_that_share_a_moment_are_told_apart(memory: Memory) -> None:
    memory.record([
        {"kind": "state", "entity": "refund", "value": "paid", "by": "Saw"},
        *({"kind": "tell", "speaker": a, "listeners": [b], "entity": "refund", "value": "paid"}
          for a, b in (("B", "C"), ("Saw", "A"), ("A", "B"), ("C", "D"))),
    ])
    assert came(memory, "D") == Trail(("B", "C", "D"), (2, 5), None, was_so=True)


tellings = st.lists(
    st.builds(Telling, st.sampled_from("abcd"), st.sampled_from("abcde"), st.integers(1, 8),
              st.integers(0, 2)),
    max_size=9, unique=True,
)


orders = st.tuples(st.integers(0, 2), st.integers(0, 9))


@given(tellings, st.dictionaries(st.sampled_from("abcd"), orders))
@hypothesis_settings(max_examples=300, deadline=None)
def test_the_search_finds_what_trying_every_order_finds(
    told: list[Telling], saw: dict[str, tuple[int, int]]
) -> None:
    last = [telling for telling in told if telling.hearer == "e"]
    found = shortest(last, told, saw)
    paths = [
        path
        for size in range(1, min(len(told), 5) + 1)
        for path in permutations(told, size)
        if path[-1] in last
        and all(a.hearer == b.speaker and a.order < b.order
                for a, b in pairwise(path))
    ]
    seen = [path for path in paths if saw.get(path[0].speaker, (9, 9)) < path[0].order]
    assert tuple(found) in paths if paths else found == []
    if seen:
        assert tuple(found) in seen
        assert len(found) == min(map(len, seen))
    elif paths:
        assert found[0].order == min(path[0].order for path in paths)


def test_however_many_told_it_the_round_trips_are_as_many(memory: Memory) -> None:
    memory.set("refund", "paid", by="A0")
    for size in (2, 9):
        for number in range(size):
            memory.tell(f"A{number}", [f"A{number + 1}"], "refund", "paid")
        with commands_of(memory) as trips:
            found = memory.explain(f"A{size}", "refund")
        assert found.trail is not None
        assert found.trail.agents == tuple(f"A{number}" for number in range(size + 1))
        assert len(trips) == 6


def test_what_nobody_holds_is_explained_with_the_name_it_may_be(support: Memory) -> None:
    assert supervisor.explain(support, ["Maya"], "refund").text() == (
        "Maya does not know refund (no event that reached it says so). No event of this scenario is "
        "about 'refund'."
    )


# Who knows ---------------------------------------------------------------------------------------


def test_who_knows_and_who_is_wrong_about_who_does(support: Memory) -> None:
    assert supervisor.who_knows(support, "refund_4411").text() == (
        "refund_4411 is 'rejected'. Up to date: Billing, Finance and Escalation. Out of date: Maya "
        "believes 'approved'. Unaware: Shipping. Wrong about who knows: Maya takes Billing to "
        "believe 'approved'; Maya takes Finance and Escalation to be unaware."
    )
    assert supervisor.who_knows(support, "replacement_4411").text() == (
        "replacement_4411 is 'packed'. Up to date: Escalation and Shipping. Out of date: Billing "
        "believes 'decided', Finance believes 'decided'. Unaware: Maya. Wrong about who knows: "
        "Billing and Finance take Escalation to believe 'decided'; Billing and Finance take Shipping "
        "to be unaware; Shipping takes Billing and Finance to be unaware."
    )


def test_everyone_knows_and_hardly_anyone_knows_who_else_does(org: Memory) -> None:
    assert supervisor.who_knows(org, "launch_date").text() == (
        "launch_date is 'Tuesday'. Up to date: Ada, Ben, Chloe, Dan, Eva, Finn and Grace. Wrong "
        "about who knows: Dan, Eva, Finn and Grace take each other, Ada and Chloe to believe "
        "'Friday'; Ada and Chloe take Dan, Eva, Finn and Grace to believe 'Friday'."
    )
    assert len(org.who_knows("launch_date").misjudged or ()) == 28
    org.announce("Ada", "launch_date", "Tuesday")
    assert org.who_knows("launch_date").misjudged == ()


def test_one_taken_to_be_up_to_date_is_told_apart(memory: Memory) -> None:
    memory.set("refund", "paid", audience=["Ann", "Bob"])
    memory.set("refund", "lost", audience=["Bob"])
    memory.set("refund", "paid")
    assert supervisor.who_knows(memory, "refund").text() == (
        "refund is 'paid'. Up to date: Ann. Out of date: Bob believes 'lost'. Wrong about who knows: "
        "Ann takes Bob to be up to date."
    )
    memory.set("refund", None)
    answer = supervisor.who_knows(memory, "refund")
    assert [one.taken_for for one in answer.misjudged] == ["unverified"]
    assert "Ann takes Bob to believe 'paid'." in answer.text()


def test_the_misjudged_are_the_wrong_and_missing_chains_of_depth_2(support: Memory) -> None:
    """But for those of minds that hold nothing at all of the entity."""
    for entity in support.entities():
        for as_of in (None, "2026-03-02T09:30:00Z"):
            wrong = {
                (b.chain, b.believed, b.actual)
                for b in support.false_beliefs(2, entity, as_of=as_of, missing=True)
            }
            found = {
                ((m.agent, m.person), m.believes, m.actual)
                for m in support.who_knows(entity, as_of).misjudged or ()
            }
            assert found <= wrong
            silent = {chain[0] for chain, _, _ in wrong - found}
            for agent in silent:
                assert all(support.believes(c, entity, as_of) is None for c in
                           (agent, *([agent, other] for other in support.agents())))


def test_who_knows_reads_each_mind_once(support: Memory) -> None:
    with commands_of(support) as trips:
        support.who_knows("refund_4411")
    assert len(trips) == 2
    minds = [command.rpartition(":")[2] for command in trips[-1] if ":mind:" in command]
    assert sorted(minds) == sorted(support.agents())


def test_where_many_misjudge_one_another_the_answer_is_cut_and_says_what_to_ask(
    memory: Memory,
) -> None:
    agents = [f"A{number}" for number in range(14)]
    for number, agent in enumerate(agents):
        memory.set("refund", f"v{number}", audience=[agent, agents[number - 1]])
    answer = supervisor.who_knows(memory, "refund")
    assert answer.cut
    assert len(answer.misjudged) == 12
    assert answer.text().endswith(
        "More on who is wrong about who knows: ask false_beliefs with depth 2, this entity and agents."
    )


def test_among_very_many_agents_who_misjudges_whom_is_left_out(memory: Memory) -> None:
    memory.set("refund", "paid", audience=[f"A{number}" for number in range(142)])
    found = memory.who_knows("refund")
    assert found.misjudged is None
    assert len(found.up_to_date) == 142
    assert supervisor.who_knows(memory, "refund").cut


# Why I believe it --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "entity", "person", "sentence"),
    [
        ("Billing", "refund_4411", None,
         ("You believe refund_4411 is 'rejected': Finance said so in internal, 2026-03-02T09:52:00Z. "
          'Took part, as you saw it: you and Finance. The words: "No. We replace what is broken."')),
        ("Billing", "refund_4411", "Maya",
         ("You think Maya believes refund_4411 is 'approved': you said so in chat, "
          '2026-03-02T09:21:00Z. Took part, as you saw it: you and Maya. The words: "Done. Your '
          'refund is approved."')),
        ("Billing", "refund_4411", "Escalation",
         ("You think Escalation believes refund_4411 is 'rejected': you told Escalation and Finance "
          'in internal that it is, 2026-03-02T09:58:00Z. The words: "Take 4411, please. No refund."')),
        ("Billing", "order_4411", None,
         ("You believe order_4411 is 'broken': Maya announced it, 2026-03-02T09:11:00Z. Took part, as "
          'you saw it: you, Escalation, Finance, Maya and Shipping. The words: "Ticket 4411: my lamp '
          'came broken."')),
        ("Escalation", "refund_4411", None,
         ("You believe refund_4411 is 'rejected': Billing told you and Finance in internal that it "
          'is, 2026-03-02T09:58:00Z. The words: "Take 4411, please. No refund."')),
        ("Escalation", "refund_4411", "Maya",
         ("You think Maya believes refund_4411 is 'approved': Billing told you and Finance in "
          'internal that Maya believes it, 2026-03-02T10:01:00Z. The words: "But I told Maya it is '
          'approved."')),
        ("Escalation", "refund_4411", "Escalation",
         ("You believe refund_4411 is 'rejected': Billing told you and Finance in internal that it "
          'is, 2026-03-02T09:58:00Z. The words: "Take 4411, please. No refund."')),
        ("Shipping", "refund_4411", None, "You know nothing of refund_4411."),
        ("Shipping", "refund_4411", "Maya",
         "Nothing tells you what Maya believes about refund_4411."),
    ],
)
def test_an_agent_is_told_how_its_belief_came(
    own_view: Callable[[str], AgentView], agent: str, entity: str, person: str | None, sentence: str
) -> None:
    answer = own_mind.explain(own_view(agent), entity, person)
    assert answer.text() == answer.sentence == sentence
    assert (answer.came is None) == sentence.startswith(("You know nothing", "Nothing tells"))


def test_what_was_seen_and_what_became_unknown_are_told_to_an_agent(
    support: Memory, own_view: Callable[[str], AgentView]
) -> None:
    when = "2026-03-03T10:00:00Z"
    view = own_view("Maya")
    support.set("lamp", "lit", room="chat", happened_at=when)
    support.set("refund_4411", None, by="Billing", audience=["Maya"], happened_at=when)
    support.set("address_4411", "gone", by="Maya", happened_at=when)
    assert own_mind.explain(view, "lamp").text() == (
        f"You believe lamp is 'lit': you saw it in chat, {when}. Took part, as you saw it: "
        "Escalation and you."
    )
    assert own_mind.explain(view, "refund_4411").text() == (
        f"You do not know refund_4411: Billing made it unknown, {when}. Took part, as you saw it: "
        "Billing and you."
    )
    assert own_mind.explain(view, "refund_4411", "Billing").text() == (
        f"You think Billing does not know refund_4411: Billing made it unknown, {when}. Took part, "
        "as you saw it: Billing and you."
    )
    assert own_mind.explain(view, "address_4411").text() == (
        f"You believe address_4411 is 'gone': you set it, {when}. Took part, as you saw it: you."
    )


def test_hidden_and_absent_are_explained_byte_for_byte_the_same(
    support: Memory, own_view: Callable[[str], AgentView]
) -> None:
    support.set("plan", "secret", audience=["Escalation"])
    view = own_view("Maya")
    for hidden, absent in (
        (("plan", None), ("nalp", None)),
        (("plan", "Escalation"), ("nalp", "Noitalacse")),
    ):
        answers = [
            own_mind.explain(view, *asked).model_dump_json()
            .replace("Escalation", "Noitalacse").replace("plan", "nalp")
            for asked in (hidden, absent)
        ]
        assert answers[0] == answers[1]


def test_an_explanation_to_an_agent_is_one_round_trip_to_its_own_mind(
    own_view: Callable[[str], AgentView],
) -> None:
    view = own_view("Billing")
    view.step()  # so it is known which node of a cluster has its mind
    trips: list[list[tuple[str, ...]]] = []
    view.database.observers.append(trips.append)
    view.explain("refund_4411", "Maya")
    [commands] = trips
    for command in commands:
        assert command[0] == "GRAPH.RO_QUERY"
        assert command[1].endswith(":mind:Billing")


# Attention ---------------------------------------------------------------------------------------

NINE = 1_772_442_000_000  # 2026-03-02T09:00:00Z
DESK: list[dict[str, Any]] = [
    {"kind": "enter", "agents": ["Maya", "Billing"], "room": "chat"},
    {"kind": "say", "speaker": "Maya", "entity": "refund", "value": "requested", "room": "chat"},
    {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved", "room": "chat",
     "distracted": ["Maya"], "hidden": ["Eve"]},
    {"kind": "say", "speaker": "Maya", "room": "chat", "text": "Hello?"},
    {"kind": "tell", "speaker": "Finance", "listeners": ["Maya"], "entity": "voucher",
     "value": "20 euro", "noticed": ["Billing"]},
    {"kind": "enter", "agents": ["Finance", "Shipping", "Billing"], "room": "board",
     "reads": "later"},
    {"kind": "say", "speaker": "Finance", "entity": "budget", "value": "tight", "room": "board"},
    {"kind": "read", "agents": ["Shipping"], "event": 7},
    {"kind": "forward", "speaker": "Shipping", "event": 7, "listeners": ["Stock"]},
    {"kind": "edit", "speaker": "Finance", "event": 7, "value": "ample"},
    {"kind": "say", "speaker": "Finance", "entity": "lamps", "value": "sold out",
     "audience": ["Stock", "Shipping"]},
    {"kind": "retract", "speaker": "Finance", "event": 11, "audience": ["Stock"]},
    {"kind": "read", "agents": ["Gus"], "event": 7},
]
DESK = [event | {"happened_at": NINE + 60_000 * n} for n, event in enumerate(DESK, 1)]


@pytest.fixture
def desk(memory: Memory) -> Memory:
    """A desk where each way not to take something in occurs once."""
    memory.record(DESK)
    return memory


@pytest.mark.parametrize(
    ("chain", "entity", "sentence"),
    [
        (["Billing", "Maya"], "refund",
         ("Billing thinks Maya believes refund is 'approved' (event 3, Billing said refund is "
          "'approved' in chat, witnessed by Billing and Eve); Maya was there but did not take event "
          "3 in; since then Billing saw Finance and Maya talk (event 5); since then Billing and Maya "
          "spoke (event 4).")),
        (["Maya"], "refund",
         ("Maya believes refund is 'requested' (event 2, Maya said refund is 'requested' in chat, "
          "witnessed by Billing and Maya); Maya was there but did not take event 3 in: Billing said "
          "refund is 'approved' in chat.")),
        (["Billing", "Eve"], "refund",
         ("Billing thinks Eve does not know refund (no event that reached it says so); Eve took event "
          "3 in unseen: Billing said refund is 'approved' in chat; Eve missed event 2: Maya said "
          "refund is 'requested' in chat.")),
        (["Billing", "Maya"], "voucher",
         ("Billing thinks Maya does not know voucher (no event that reached it says so); Billing saw "
          "them talk at event 5 and heard nothing: Finance told Maya that voucher is '20 euro'; since "
          "then Billing and Maya spoke (event 4).")),
        (["Billing"], "budget",
         ("Billing does not know budget (no event that reached it says so); Billing has not read "
          "event 7, which was delivered: Finance said budget is 'tight' in board.")),
        (["Shipping"], "budget",
         ("Shipping believes budget is 'tight' (event 8, Shipping read event 7 (Finance said budget "
          "is 'tight' in board), witnessed by Shipping); Shipping has read the original of event 7, "
          "not the edit (event 10: budget is now 'ample').")),
        (["Finance", "Shipping"], "budget",
         ("Finance thinks Shipping does not know budget (no event that reached it says so); Finance "
          "missed event 8: Shipping read event 7 (Finance said budget is 'tight' in board); Shipping "
          "has read the original of event 7, not the edit (event 10: budget is now 'ample').")),
        (["Stock"], "budget",
         ("Stock believes budget is 'tight' (event 9, Shipping passed event 7 on to Stock (Finance "
          "said budget is 'tight' in board), witnessed by Shipping and Stock); Stock was passed the "
          "original of event 7, not the edit (event 10: budget is now 'ample').")),
        (["Gus"], "budget",
         ("Gus believes budget is 'ample' (event 13, Gus read event 7 as edited (event 10: budget is "
          "now 'ample'), witnessed by Gus).")),
        (["Stock"], "lamps",
         ("Stock does not know lamps (what said so was retracted); event 12 reached Finance and "
          "Stock: Finance told Stock that event 11 is retracted (Finance said lamps is 'sold out').")),
        (["Shipping"], "lamps",
         ("Shipping believes lamps is 'sold out' (event 11, Finance said lamps is 'sold out', "
          "witnessed by Finance, Shipping and Stock); Shipping missed event 12: Finance told Stock "
          "that event 11 is retracted (Finance said lamps is 'sold out').")),
    ],
)
def test_who_did_not_take_it_in_is_explained_with_why(
    desk: Memory, chain: list[str], entity: str, sentence: str
) -> None:
    assert supervisor.explain(desk, chain, entity).text() == sentence


def test_that_one_thinks_another_took_it_in_is_found_wrong_at_depth_2(desk: Memory) -> None:
    assert supervisor.false_beliefs(desk, 2, "refund").text() == (
        "- Maya thinks Billing believes refund is 'requested', really 'approved'; missed: Billing "
        "said refund is 'approved' in chat (Maya did not take it in; Eve unseen) (event 3)\n"
        "- Billing thinks Maya believes refund is 'approved', really 'requested'; Maya was there but "
        "did not take event 3 in\n"
        "- Eve thinks Maya believes refund is 'approved', really 'requested'; Maya was there but did "
        "not take event 3 in"
    )
    desk.record([{"kind": "read", "agents": ["Maya"], "event": 3, "happened_at": NINE + 10**6}])
    wrong = {found.chain: found for found in desk.false_beliefs(2, "refund", missing=True)}
    assert ("Billing", "Maya") not in wrong
    assert wrong["Maya", "Eve"].actual == "approved"  # that Eve listened, nobody knows
    assert "was there" not in supervisor.explain(desk, ["Billing", "Maya"], "refund").text()


def test_how_a_belief_came_is_said_where_it_was_read_or_passed_on(desk: Memory) -> None:
    when = "2026-03-02T09:07:00Z"
    assert supervisor.believes(desk, ["Shipping"], "budget").text() == (
        f"Shipping believes budget is 'tight' (read by Shipping later, said by Finance, {when})."
    )
    assert supervisor.believes(desk, ["Shipping", "Finance"], "budget").text() == (
        f"Shipping thinks Finance believes budget is 'tight' (read later, said by Finance, {when})."
    )
    passed_on = supervisor.believes(desk, ["Stock"], "budget")
    assert passed_on.text() == (
        f"Stock believes budget is 'tight' (passed on by Shipping, said by Finance, {when})."
    )
    assert (passed_on.how, passed_on.source, passed_on.through) == (
        "forwarded", "Finance", "Shipping"
    )


@pytest.mark.parametrize(
    ("agent", "entity", "person", "sentence"),
    [
        ("Billing", "refund", "Maya",
         ("You think Maya believes refund is 'approved': you said so in chat, 2026-03-02T09:03:00Z. "
          "Took part, as you saw it: you and Maya. Since then Finance and Maya spoke at "
          "2026-03-02T09:05:00Z; you do not know about what.")),
        ("Billing", "voucher", "Finance",
         ("Nothing tells you what Finance believes about voucher. Finance and Maya spoke at "
          "2026-03-02T09:05:00Z; you do not know about what.")),
        ("Billing", "voucher", None, "You know nothing of voucher."),
        ("Shipping", "budget", None,
         ("You believe budget is 'tight': you read later that Finance said so in board, "
          "2026-03-02T09:07:00Z. Took part, as you saw it: Finance.")),
        ("Shipping", "budget", "Finance",
         ("You think Finance believes budget is 'tight': Finance said so in board, which was read "
          "later, 2026-03-02T09:07:00Z. Took part, as you saw it: Finance.")),
        ("Shipping", "budget", "Stock",
         ("You think Stock believes budget is 'tight': you passed on that Finance said so in board, "
          "2026-03-02T09:07:00Z. Took part, as you saw it: Finance.")),
        ("Stock", "budget", None,
         ("You believe budget is 'tight': Shipping passed on that Finance said so in board, "
          "2026-03-02T09:07:00Z. Took part, as you saw it: Finance.")),
    ],
)
def test_an_agent_is_told_what_it_read_was_passed_and_saw(
    desk: Memory, agent: str, entity: str, person: str | None, sentence: str
) -> None:
    desk.grant(agent)
    with view_of(agent, desk.scenario, desk.store) as view:
        assert own_mind.explain(view, entity, person).text() == sentence


def test_before_a_conversation_one_is_reminded_of_talks_one_only_saw(desk: Memory) -> None:
    spoke = "- Finance and Maya spoke at 2026-03-02T09:05:00Z; you do not know about what."
    assert desk.context_for("Billing", "Maya").splitlines() == [
        "- You and Maya agree on: refund ('approved').", spoke,
    ]
    assert desk.context_for("Billing", "Finance").splitlines()[-1] == spoke
    assert "spoke" not in desk.context_for("Billing", "Finance", NINE + 4 * 60_000)
    assert "spoke" not in desk.context_for("Maya", "Finance")
    desk.grant("Billing")
    with view_of("Billing", desk.scenario, desk.store) as view:
        assert own_mind.context_for(view, "Maya").text().splitlines()[-1] == spoke
