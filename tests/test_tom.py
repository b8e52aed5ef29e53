"""Other data on belief: each format is read, goes through the engine, and is scored.

The stories here are our own, in the formats of the data sets; the data sets themselves are not in
this repository, and a sample of them is scored where they are.
"""

import gzip
import json
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import main
from eval.tom import (
    READERS,
    data,
    exploretom,
    found_in,
    gossip,
    hitom_regen,
    percept,
    storysim,
    tomi,
)
from eval.tom.asking import asked
from eval.tom.scores import UNEXPLAINED, Found, below, score
from eval.tom.told import Row, Story, StoryError

SAMPLE = 10  # stories a file


def item(story: list[str], chain: list[str], entity: str, answer: str, **others: Any) -> Row:
    """An item of a data set."""
    return {"id": "ours", "story": story, "order": len(chain), "chain": chain, "entity": entity,
            "answer": answer, **others}



def failures(found: Found) -> list[tuple[str, str, str, str]]:
    """What was not right: which label, what it is, what was answered, and why."""
    return [(f.key, f.label, f.got, f.why) for f in found.failures]


def wrong(stories: list[Story]) -> list[tuple[str, str, str, str]]:
    """What of these stories is not right."""
    return failures(score(asked(stories)))


# ToMi

TOMI = [
    "Ann entered the barn.",
    "Bob is in the barn.",
    "The lamp is in the sack.",
    "Cy entered the loft.",
    "Bob exited the barn.",
    "Ann hates the rope.",
    "Ann moved the lamp to the chest.",
    "Cy entered the barn.",
]
KEYS = {"object_room": "barn", "answer_published": "chest"}
UNSEEN = "where it was moved while one of the chain was out, who has not been back"


def test_tomi_who_left_keeps_the_belief_and_who_enters_sees_the_object() -> None:
    rows = [
        item(TOMI, [], "lamp", "chest", **KEYS),
        item(TOMI, [], "lamp", "sack", **KEYS) | {"order": -1},
        item(TOMI, ["Bob"], "lamp", "sack", **KEYS),
        item(TOMI, ["Cy"], "lamp", "chest", **KEYS),
        item(TOMI, ["Bob", "Ann"], "lamp", "sack", **KEYS),
        item(TOMI, ["Ann", "Bob"], "lamp", "sack", **KEYS),
        item(TOMI, ["Ann", "Cy"], "lamp", "chest", **KEYS),
        item(TOMI, ["Cy", "Bob"], "lamp", "unknown", **KEYS),
    ]
    told = tomi.read(rows)
    assert len(told) == 1  # recorded once
    # Of where it was at the beginning no move that somebody missed can be the reason.
    assert wrong(told) == [
        ("answer_published", "chest", got, why)
        for got, why in (
            ("sack", UNEXPLAINED), ("sack", UNSEEN), ("sack", UNSEEN), ("sack", UNSEEN),
            ("unknown", UNSEEN),
        )
    ]


@pytest.mark.parametrize("sentence", ["Ann ate the rope.", "The lamp was in the sack.", ""])
def test_a_sentence_of_no_form_is_refused(sentence: str) -> None:
    with pytest.raises(StoryError, match="ToMi: expected one of its forms"):
        tomi.parsed(sentence)
    with pytest.raises(StoryError, match=r"expected 'A enters ROOM\.'"):
        storysim.events([sentence])
    with pytest.raises(StoryError, match="expected a call of two"):
        gossip.events(["Ann and Bob each know one secret of their own.", sentence])
    with pytest.raises(StoryError, match="expected who knows a secret"):
        gossip.events([sentence])


# Percept-ToMi

PERCEPT = [
    "Ann likes the wet-suit.",
    "Ann entered the barn.",
    "Bob entered the barn.",
    "Cy entered the tool room.",
    "The wet-suit is in the loft.",  # a container; there might be a room of that name
    "The loft is in the barn.",
    "Bob exited the barn.",
    "Ann moved the wet-suit to the old sack.",
    "The old sack is in the barn.",
]
PERCEIVED = [
    ["Ann"], ["Ann"], ["Ann", "Bob"], ["Cy"], ["Ann", "Bob"], ["Ann", "Bob"], ["Ann", "Bob"],
    ["Ann"], ["Ann"],
]


def test_percept_each_sentence_has_its_witnesses_and_a_thing_is_written_with_spaces() -> None:
    rows = [
        item(PERCEPT, ["Bob"], "wet - suit", "loft", witnesses=PERCEIVED),
        item(PERCEPT, ["Ann", "Bob"], "wet - suit", "loft", witnesses=PERCEIVED),
        item(PERCEPT, ["Ann"], "wet - suit", "old sack", witnesses=PERCEIVED),
    ]
    found = score(asked(percept.read(rows)))
    assert failures(found) == []
    assert found.scores["witnesses"] == {"all": [27, 27]}


def test_a_witness_set_that_is_another_is_listed_with_what_is_wrong_in_it() -> None:
    sets = [[""], ["Ann"], ["Bob"], ["Ann", "Cy"], *PERCEIVED[4:]]
    sets[5] = ["Bob", "Cy"]
    [story] = percept.read([item(PERCEPT, ["Bob"], "wet - suit", "loft", witnesses=sets)])
    found = score(asked([story]))
    assert [f.why.removeprefix("noise: ") for f in found.failures] == [
        "nobody is named, not even who acts or is there",
        "leaves out one who came in and has not left",
        "names one who has left or never came in",
        "names one who is not there, and not one who is",
    ]
    assert below({"percept_tomi": found}, sampled=True) == []
    assert below({"percept_tomi": found}, sampled=False) == [
        "percept_tomi: 4 of 9 witness sets are others, expected at most 0."
    ]


def test_a_witness_set_is_noise_only_where_the_text_agrees_with_the_engine() -> None:
    [story] = percept.read([item(PERCEPT, ["Bob"], "wet - suit", "loft", witnesses=PERCEIVED)])
    amiss = {**story.events[2], "room": "tool room"}  # as if the engine had put Bob elsewhere
    found = score(asked([replace(story, events=[*story.events[:2], amiss, *story.events[3:]])]))
    witnesses = [failure.why for failure in found.failures if failure.key == "witnesses"]
    assert set(witnesses) == {UNEXPLAINED}
    assert below({"percept_tomi": found}, sampled=True)[-1].startswith("percept_tomi: of ")


# ExploreToM


def explored(tuples: list[list[Any]], *asked_of: tuple[list[str], str, str, str]) -> list[Row]:
    """Items of one story in tuples: chain, entity, property and answer of each."""
    return [
        item([], chain, entity, answer, events=tuples, property=what, label_quirk=False,
             choices={"yes": ["yes", "no"], "no": ["yes", "no"]}.get(answer))
        for chain, entity, what, answer in asked_of
    ]


def test_exploretom_what_is_done_in_a_room_is_seen_there_and_containers_are_closed() -> None:
    tuples = [
        ["enter_room", "Ann", "barn"],
        ["enter_room", "Bob", "barn"],
        ["move_object_container", "Ann", "lamp", "sack"],
        ["leave_room", "Bob", "barn"],
        ["move_object_container", "Ann", "lamp", "chest"],
        ["<state_update> <is_wet>", "Ann", "lamp", "wet", "Ann spilled water on the lamp.", True],
        ["enter_room", "Cy", "barn"],
        ["private_communication", "Ann", "Cy", ["lamp", "container_location", "sack", True]],
        ["broadcast_communication", "Ann", "fair"],
        ["enter_room", "Dee", "barn"],
        ["<state_update> <is_old>", "Ann", "lamp", "old", "Ann scratched the lamp.", True],
    ]
    wet = "<state_update> <is_wet>"
    assert wrong(exploretom.read(explored(
        tuples,
        ([], "lamp", "container_location", "chest"),
        (["Bob"], "lamp", "container_location", "sack"),
        (["Ann", "Bob"], "lamp", "container_location", "sack"),
        (["Cy"], "chest", "room_location", "barn"),
        (["Ann", "Cy"], "chest", "room_location", "barn"),
        (["Dee"], "lamp", "room_location", "barn"),  # she saw it scratched
        (["Dee"], "lamp", "container_location", "unknown"),
        (["Bob"], "lamp", "<state_update> <is_old>", "no"),
        (["Cy"], "lamp", "container_location", "sack"),  # told so; not seen
        (["Ann"], "lamp", "container_location", "chest"),
        (["Ann"], "lamp", wet, "yes"),
        (["Cy"], "lamp", wet, "no"),
        (["Ann"], "fair", "<knowledge>", "yes"),
        (["Cy", "Ann"], "fair", "<knowledge>", "yes"),
        (["Bob"], "fair", "<knowledge>", "no"),
    ))) == []


def test_exploretom_a_thing_moved_to_another_room_leaves_its_container_and_its_room_sees_it() -> None:
    tuples = [
        ["enter_room", "Ann", "barn"],
        ["enter_room", "Bob", "barn"],
        ["move_object_container", "Ann", "lamp", "sack"],
        ["enter_room", "Cy", "loft"],
        ["private_communication", "Bob", "Cy", ["lamp", "container_location", "sack", True]],
        ["move_object_room", "Ann", "lamp", "loft"],
        ["enter_room", "Dee", "loft"],
        ["move_object_container", "Ann", "rope", "chest"],
    ]
    assert wrong(exploretom.read(explored(
        tuples,
        (["Bob"], "lamp", "container_location", "unknown"),
        (["Cy"], "lamp", "container_location", "sack"),
        (["Bob"], "lamp", "room_location", "loft"),
        (["Cy", "Ann"], "lamp", "room_location", "loft"),
        (["Dee"], "lamp", "room_location", "loft"),
        (["Cy"], "rope", "container_location", "chest"),  # Ann came along
        (["Bob"], "rope", "container_location", "unknown"),
    ))) == []


def test_exploretom_peeking_and_distraction_belong_to_what_came_before() -> None:
    tuples = [
        ["enter_room", "Ann", "barn"],
        ["enter_room", "Bob", "barn"],
        ["move_object_container", "Ann", "lamp", "sack"],
        ["move_object_container", "Ann", "lamp", "chest"],
        ["peeking_distracted", ["Cy"], ["Bob"]],
        ["private_communication", "Ann", "Dee", "fair"],
        ["peeking_distracted", [], ["Dee"]],
    ]
    assert wrong(exploretom.read(explored(
        tuples,
        (["Bob"], "lamp", "container_location", "sack"),
        (["Ann", "Bob"], "lamp", "container_location", "chest"),  # he seemed to look
        (["Bob", "Ann"], "lamp", "container_location", "sack"),
        (["Cy"], "lamp", "container_location", "chest"),
        (["Cy", "Bob"], "lamp", "container_location", "chest"),
        (["Cy", "Ann", "Bob"], "lamp", "container_location", "chest"),
        (["Ann", "Cy"], "lamp", "container_location", "unknown"),  # nobody saw her look
        (["Cy", "Ann", "Cy"], "lamp", "container_location", "unknown"),
        (["Dee"], "fair", "<knowledge>", "no"),
        (["Ann", "Dee"], "fair", "<knowledge>", "yes"),
        (["Dee", "Ann"], "fair", "<knowledge>", "no"),
    ))) == []


def test_exploretom_a_quirk_counts_beside_the_answers_and_an_unknown_tuple_is_refused() -> None:
    rows = explored([["enter_room", "Ann", "barn"]], ([], "lamp", "container_location", "sack"))
    quirk = rows[0] | {"label_quirk": True, "answer_sim": None}
    found = score(asked(exploretom.read([quirk])))
    assert found.scores["answer_sim"]["all"] == [1, 1]
    [(key, *_, why)] = failures(found)
    assert key == "answer_with_quirks"
    assert "label_quirk" in why
    with pytest.raises(StoryError, match="ExploreToM: expected one of its tuples"):
        exploretom.events([["enter_room", "Ann", "barn"], ["eat", "Ann", "lamp"]])


# StorySim


def test_storysim_both_rooms_see_a_move_and_each_other_see_it() -> None:
    moves = [
        "Ann enters barn.", "Bob enters barn.", "Cy enters loft.", "Dee enters cellar.",
        "Ann enters loft.", "Ann enters cellar.",
    ]
    expected = {
        ("Bob",): "loft",  # where he saw her go
        ("Cy",): "cellar",
        ("Dee",): "cellar",
        ("Bob", "Cy"): "loft",
        ("Cy", "Bob"): "loft",
        ("Dee", "Cy"): "cellar",
        ("Dee", "Bob"): "unknown",
    }
    rows = [item(moves, list(chain), "Ann", where) for chain, where in expected.items()]
    assert wrong(storysim.read(rows)) == []


# Gossip


def test_gossip_a_call_is_known_by_the_two_and_what_is_only_concluded_is_missed() -> None:
    story = [
        "Ann, Bob and Cy each know one secret of their own.",
        "Ann and Bob had a private phone call and told each other every secret they knew.",
        "Bob and Cy had a private phone call and told each other every secret they knew.",
    ]
    expected = {
        (("Cy",), "Ann's secret"): "yes",
        (("Ann",), "Cy's secret"): "no",
        (("Cy", "Bob"), "Ann's secret"): "yes",
        (("Bob", "Cy", "Bob"), "Ann's secret"): "yes",
        (("Ann", "Cy"), "Bob's secret"): "no",
        (("Cy", "Ann"), "Bob's secret"): "yes",  # from whom else has Bob Ann's secret?
    }
    rows = [
        item(story, list(chain), secret, answer,
             routing_answer="no" if chain == ("Cy", "Ann") else answer)
        for (chain, secret), answer in expected.items()
    ]
    found = score(asked(gossip.read(rows)))
    assert found.scores["false_yes"]["all"] == [0, 2]
    assert found.scores["missed_yes"] == {"all": [1, 4], "1": [0, 1], "2": [1, 2], "3": [0, 1]}
    assert failures(found)[0] == (
        "answer", "yes", "no", "does not follow from who was present (routing_answer is no)"
    )
    assert below({"gossip_calls": found}, sampled=False) == []

    lie = score(asked(gossip.read([rows[0] | {"answer": "no"}])))
    assert failures(lie) == [("answer", "no", "yes", UNEXPLAINED)]
    assert below({"gossip_calls": lie}, sampled=False) == [
        "gossip_calls: 1 false yes, expected none.",
        "gossip_calls: of 1 failures no reason is known; see --failures.",
    ]


# Hi-ToM's generator


def test_hitom_regen_is_read_as_hi_tom_with_its_own_now_at_the_end() -> None:
    story = [
        "Ann, Bob and Cy entered the barn.",
        "The lamp is in the sack.",
        "Ann exited the barn.",
        "Bob moved the lamp to the chest.",
        "Bob exited the barn.",
        "Cy made no movements and stayed in the barn for 1 minute.",
        "Cy exited the barn.",
        "Ann, Bob and Cy entered the waiting_room.",
        "Bob publicly claimed that lamp is in the jar now.",
        "Cy privately told Ann that the lamp is in the box now.",
    ]
    expected = {(): "chest", ("Ann",): "box", ("Bob", "Ann"): "jar", ("Cy",): "chest"}
    rows = [
        item(story, list(chain), "lamp", where, answer_rule=where)
        for chain, where in expected.items()
    ]
    assert wrong(hitom_regen.read(rows)) == []


# The command


def put(folder: Path, name: str, rows: list[Row]) -> None:
    """A data set of ours where the command looks for one."""
    with gzip.open(folder / f"{name}.json.gz", "wt", encoding="utf-8") as file:
        json.dump(rows, file)


def test_a_label_that_the_memory_does_not_agree_with_is_listed_and_the_exit_code_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SO_TOM_PATH", str(tmp_path))
    right = item(TOMI, ["Cy"], "lamp", "chest", **KEYS)
    put(tmp_path, "tomi_test", [right])
    assert main(["tom", "--files", "tomi_test"]) == 0
    assert "1 / 1" in capsys.readouterr().out

    put(tmp_path, "tomi_test", [right, item(TOMI, ["Bob"], "lamp", "chest", **KEYS)])
    assert main(["tom", "--files", "tomi_test", "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "Below the target: tomi_test: 1 of 2, expected all.",
        "Below the target: tomi_test: of 1 failures no reason is known; see --failures.",
    ]
    found = json.loads(printed.out)["tomi_test"]
    assert (found["stories"], found["events"]) == (1, 7)
    one_of_two = {"all": [1, 2], "1": [1, 2]}
    assert found["scores"] == {"answer": one_of_two, "answer_published": one_of_two}
    assert [failure["why"] for failure in found["failures"]] == [
        UNEXPLAINED, UNSEEN
    ]


def test_missing_and_unreadable_data_is_an_error_that_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SO_TOM_PATH", str(tmp_path / "none"))
    assert main(["tom"]) == 1
    assert f"{tmp_path / 'none'} does not exist" in capsys.readouterr().err

    monkeypatch.setenv("SO_TOM_PATH", str(tmp_path))
    asks = ["tom", "--files", "tomi_test"]
    assert main(asks) == 1
    assert "The data set tomi_test is not here" in capsys.readouterr().err
    (tmp_path / "tomi_test.json.gz").write_bytes(b"no gzip")
    assert main(asks) == 1
    assert "expected gzipped JSON" in capsys.readouterr().err
    for rows, said in (([], "expected a list of items"), ([{"story": TOMI}], "cannot be read")):
        put(tmp_path, "tomi_test", rows)
        assert main(asks) == 1
        assert said in capsys.readouterr().err


def test_scores_of_a_sample_are_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tom", "--save", "--sample", "3"]) == 1
    assert "leave out --sample" in capsys.readouterr().err


@pytest.fixture
def here() -> None:
    """Skips where the data sets are not; continuous integration has them."""
    try:
        data.folder()
    except data.MissingDataError as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
def test_a_sample_of_each_data_set_reaches_its_target(name: str) -> None:
    found = found_in(name, SAMPLE)
    assert found.stories == SAMPLE
    assert below({name: found}, sampled=True) == []
    if name == "gossip_calls":
        assert found.scores["routing_answer"]["all"][0] == found.scores["routing_answer"]["all"][1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", READERS)
def test_every_item_of_each_data_set_can_be_read(name: str) -> None:
    rows = data.load(name)
    stories = import_module(f"eval.tom.{READERS[name]}").read(rows)
    assert sum(len(story.questions) for story in stories) == len(rows)
