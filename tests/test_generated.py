"""The stories that are made here, and the 2,000 questions about them that are shipped."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from eval import questions
from eval.__main__ import main
from eval.hitom import DataError
from eval.questions import drawing, report, story, writing
from eval.questions.asking import answers
from eval.questions.aspects import ASPECTS, Told
from eval.questions.dice import Dice
from eval.questions.reference import Reference, new_reference
from eval.questions.story import FILE, SEED, STORIES, Story, shipped
from so_mcp.events import EventKind
from so_mcp.route import Scope

SAMPLE = range(0, STORIES, 10)
GENERATOR = (
    "dice", "reference", "story", "desk", "happenings", "aspects", "drawing", "writing",
)


@pytest.fixture(scope="module")
def stories() -> list[Story]:
    return shipped()


def asked(*arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code of `python -m eval questions --json`, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main(["questions", "--json", *arguments])
    return code, json.loads(printed.getvalue())


# What is shipped


def test_the_memory_answers_a_sample_of_the_questions_right(stories: list[Story]) -> None:
    sample = [stories[number] for number in SAMPLE]
    found = report.score(sample, answers(sample))
    assert found["failures"] == []
    assert found["depth"]["all"] == [20 * len(sample)] * 2
    assert all(right == asked > 0 for right, asked in found["contains"].values())


def test_the_generator_makes_the_very_lines_that_are_shipped() -> None:
    lines = FILE.read_text("utf-8").splitlines()
    assert len(lines) == STORIES
    for number in SAMPLE[::2]:
        assert writing.story(SEED, number).line() == lines[number], (
            f"the generator or the model makes another story {number} than the file holds: if that "
            f"is meant, {story.MAKE}, and put the new hash into eval/questions/story.py"
        )


def test_another_file_than_the_shipped_one_is_refused_and_the_way_back_named(tmp_path: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text(FILE.read_text("utf-8").replace("approved", "refused", 1), "utf-8")
    for path in (changed, tmp_path / "none.jsonl"):
        with pytest.raises(DataError, match=rf"(?s)expected sha256 {story.SHA256}, got .*--make"):
            shipped(path)


def test_there_are_2000_different_questions_about_as_many_of_each_depth(
    stories: list[Story],
) -> None:
    found = [(s.name, q.asked) for s in stories for q in s.questions]
    assert len(set(found)) == len(found) == 2000
    depths = Counter(q.depth for s in stories for q in s.questions)
    assert depths == {0: 200, **dict.fromkeys(range(1, 7), 300)}


def test_every_kind_of_event_and_every_setting_is_in_many_stories(stories: list[Story]) -> None:
    contains = Counter(what for s in stories for what in s.contains)
    special = (
        "distracted", "hidden", "noticed", "receipt", "an acknowledgement", "a group", "a lie",
        "a late event", "words alone", "no longer known", "in plain sight", "in a container", "read later",
        "exit-order",
    )
    assert set(contains) == {*get_args(EventKind), *special}
    assert min(contains.values()) >= 30, contains
    assert sum(event["kind"] == "void" for s in stories for event in s.events) >= 50
    settings = Counter(tuple(s.settings.values()) for s in stories)
    assert len(settings) == 2 * 2 * 3 * 2
    assert min(settings.values()) >= 4


def test_a_memory_without_nesting_or_with_one_answer_for_all_gets_few_of_them(
    stories: list[Story],
) -> None:
    found = report.baselines([question for s in stories for question in s.questions])
    for name in ("truth", "last", "first", "constant"):
        for depth, (right, of) in found[name].items():
            assert right <= 0.4 * of, (name, depth)
    assert "0" not in found["truth"]
    assert min(map(int, set(found["last"]) - {"all"})) == 2
    unknown = [q.answer is None for s in stories for q in s.questions]
    assert 0.2 <= sum(unknown) / len(unknown) <= 0.3


def test_questions_about_then_are_among_them_and_many_have_another_answer_now(
    stories: list[Story],
) -> None:
    asked = [q for s in stories for q in s.questions]
    for then in ("as_of", "as_recorded"):
        found = [q for q in asked if getattr(q, then) is not None]
        assert len(found) >= 300
        assert sum("now" not in q.shortcuts for q in found) >= len(found) / 4


def test_many_hang_on_one_thing_that_their_story_contains(stories: list[Story]) -> None:
    hanging = [(q.hangs_on, s) for s in stories for q in s.questions if q.hangs_on is not None]
    assert len(hanging) >= 500
    assert all(aspect in s.contains for aspect, s in hanging)
    counted = Counter(aspect for aspect, _ in hanging)
    assert set(counted) == set(ASPECTS)
    assert min(counted.values()) >= 5, counted


# The generator


def test_the_generator_imports_nothing_of_the_engine() -> None:
    for name in GENERATOR:
        tree = ast.parse(Path(questions.__file__).with_name(f"{name}.py").read_text("utf-8"))
        imported = {
            node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert not {i for i in imported if i.split(".")[0] in ("so_mcp", "asking")}, name


def test_the_dice_fall_alike_in_every_version_of_python() -> None:
    dice = Dice(1, "a")
    assert [dice.below(10) for _ in range(8)] == [6, 0, 9, 5, 5, 7, 0, 1]
    assert dice.some("abcde", 3, 3) == list("bdc")
    assert dice.weighted({"never": 0, "ever": 1}) == "ever"


def test_a_question_knows_which_simpler_ones_have_the_same_answer() -> None:
    model = modelled(said("approved", "Bob", "Cyd"), said("rejected", "Bob", happened_at=1))

    def shortcuts(*chain: str, **when: int) -> tuple[str, ...]:
        asked = story.Question(chain, "refund", None, **when)
        return drawing.answered(model, asked).shortcuts

    assert shortcuts() == ()
    assert shortcuts("Ann") == ("truth",)
    assert shortcuts("Ann", "Cyd") == ("last", "inner")
    assert shortcuts("Ann", "Cyd", "Bob") == ("inner", "outer")
    assert shortcuts("Bob", as_of=0) == ("truth",)
    assert shortcuts("Cyd", as_of=0) == ("truth", "now")


def said(value: str, *audience: str, **more: Any) -> story.Event:
    """Ann says to these how it stands with the refund."""
    return {"happened_at": 0, "kind": "say", "speaker": "Ann", "entity": "refund", "value": value,
            "audience": list(audience)} | more


def modelled(*events: story.Event, told: Told | None = None) -> Reference:
    """The model of a scenario of these events, or of what is made of them."""
    told = told or Told({}, list(events))
    model = new_reference(told.settings, drawing.DEEPEST)
    for event in told.events:
        model.record(event)
    return model


def test_a_question_hangs_on_what_a_memory_that_ignores_it_has_wrong() -> None:
    events = [said("approved", "Bob", "Cyd", hidden=["Dee"]), said("rejected", "Bob")]
    asked = [
        drawing.answered(modelled(*events), story.Question(chain, "refund", None))
        for chain in (("Dee",), ("Dee", "Cyd"), ("Bob", "Dee"), ("Bob",))
    ]
    assert [question.answer for question in asked] == ["approved", "approved", None, "rejected"]
    ignorant = modelled(told=ASPECTS["hidden"](Told({}, events)))
    hanging = drawing.hanging("hidden", ignorant, asked)
    assert [question.chain for question in hanging] == [("Dee",), ("Dee", "Cyd")]
    assert {question.hangs_on for question in hanging} == {"hidden"}


def test_what_is_ignored_leaves_every_other_event_its_number_and_its_time() -> None:
    made = writing.story(1, 1)
    told = Told(made.settings, made.events)
    for aspect, ignoring in ASPECTS.items():
        settings, events = ignoring(told)
        assert len(events) == len(made.events), aspect
        assert settings.keys() == made.settings.keys()
        if aspect != "a late event":
            assert [e["happened_at"] for e in events] == [e["happened_at"] for e in made.events]
        assert [e.get("id") for e in events] == [e.get("id") for e in made.events]


# The command


def test_the_command_asks_stories_that_it_makes_and_keeps_them_where_it_is_told(
    tmp_path: Path,
) -> None:
    file = tmp_path / "made.jsonl"
    code, found = asked("--make", "5", "--stories", "2", "--to", str(file))
    assert (code, found["stories"], found["depth"]["all"]) == (0, 2, [40, 40])
    assert story.read(file.read_text("utf-8").splitlines()) == questions.made(5, 2)


def test_an_engine_that_is_wrong_somewhere_is_noticed(
    stories: list[Story], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break it once: whoever hears anything takes it for what everyone there believes."""
    monkeypatch.setattr("so_mcp.route.Scope", lambda members, *_, **__: Scope(members))
    monkeypatch.setattr("eval.questions.shipped", lambda: stories[:4])
    code, found = asked()
    right, of = found["depth"]["all"]
    assert code == 1
    assert right == of - len(found["failures"]) < of == 80
    assert {"story", "chain", "answer", "got"} <= set(found["failures"][0])


@pytest.mark.parametrize("arguments", [["--stories", "3"], ["--save", "--make", "1"]])
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["questions", *arguments]) == 1
    assert "--make" in capsys.readouterr().err


def test_the_table_shows_the_memory_beside_the_baselines_and_what_was_not_right(
    stories: list[Story],
) -> None:
    given = [[question.answer for question in s.questions] for s in stories[:2]]
    given[1][4] = "nonsense"
    table = report.text(report.score(stories[:2], given))
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.strip()}
    assert rows["memory"] == ["39/40", "4/4", "5/6", *["6/6"] * 5]
    assert set(report.BASELINES) <= set(rows)
    assert "got 'nonsense'" in table
