"""What is right of what was asked: by depth, by what the story contains, and without nesting."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .asking import Answers
from .drawing import ASKED, SHORTCUTS
from .story import Question, Story

Score = dict[str, list[int]]  # [right, asked] by depth, or by what a story contains

CONSTANT = "constant"
BASELINES = SHORTCUTS | {CONSTANT: "always the answer that is most frequent at this depth"}
_FAILURES = 10  # shown of them
_CELL = 13


def score(stories: Sequence[Story], answers: Iterable[Answers]) -> dict[str, Any]:
    """Return what ``--json`` prints.

    ``depth``, ``asks`` (when, and whether it is known), ``contains`` (what their stories do),
    ``hangs_on`` (what would make the answer another one) and each of ``baselines``: [right, asked].
    A baseline is counted where its question differs from what was asked (``last`` from depth 2 on).
    ``failures``: what was not right.
    """
    depth: Score = {key: [0, 0] for key in ("all", *map(str, ASKED))}
    contains: Score = {key: [0, 0] for key in sorted({c for s in stories for c in s.contains})}
    asks: Score = {}
    hangs_on: Score = {}
    failures: list[dict[str, Any]] = []
    for story, got in zip(stories, answers, strict=True):
        for question, answer in zip(story.questions, got, strict=True):
            right = answer == question.answer
            cells = [depth["all"], depth[str(question.depth)]]
            cells += [contains[what] for what in story.contains]
            cells += [asks.setdefault(what, [0, 0]) for what in _asks(question)]
            if question.hangs_on is not None:
                cells.append(hangs_on.setdefault(question.hangs_on, [0, 0]))
            for cell in cells:
                cell[0] += right
                cell[1] += 1
            if not right:
                failures.append({"story": story.name, **question.as_json(), "got": answer})
    questions = [question for story in stories for question in story.questions]
    return {
        "stories": len(stories), "events": sum(len(story.events) for story in stories),
        "depth": depth, "asks": dict(sorted(asks.items())), "contains": contains,
        "hangs_on": dict(sorted(hangs_on.items())), "baselines": baselines(questions), "failures": failures,
    }


def _asks(question: Question) -> list[str]:
    when = [what for what in ("as_of", "as_recorded") if getattr(question, what) is not None]
    return [*(when or ["now"]), "unknown" if question.answer is None else "known"]


def baselines(questions: Sequence[Question]) -> dict[str, Score]:
    """How many a memory that knows less would answer, by depth."""
    found: dict[str, Score] = {name: {} for name in BASELINES}
    for depth in ASKED:
        asked = [question for question in questions if question.depth == depth]
        if not asked:
            continue
        [(_, most)] = Counter(question.answer for question in asked).most_common(1)
        found[CONSTANT][str(depth)] = [most, len(asked)]
        for name in SHORTCUTS:
            could = [question for question in asked if _is_simpler(name, question)]
            if could:
                right = sum(name in question.shortcuts for question in could)
                found[name][str(depth)] = [right, len(could)]
    for by_depth in found.values():
        sums = [sum(column) for column in zip(*by_depth.values(), strict=True)]
        by_depth["all"] = sums or [0, 0]
    return found


def _is_simpler(shortcut: str, question: Question) -> bool:
    """Whether a shortcut's question is another one than this."""
    if shortcut == "now":
        return (question.as_of, question.as_recorded) != (None, None)
    return question.depth >= {"truth": 1, "pair": 3}.get(shortcut, 2)


def text(found: dict[str, Any]) -> str:
    """The results as tables, and each failure, up to ten."""
    columns = ("all", *map(str, ASKED))
    heads = ("all", *(f"depth {depth}" for depth in ASKED))
    lines = [f"{'':13}" + "".join(f"{head:>{_CELL}}" for head in heads)]
    for name, counts in {"memory": found["depth"], **found["baselines"]}.items():
        cells = ["/".join(map(str, counts[column])) if column in counts else "" for column in columns]
        lines.append(f"{name:13}" + "".join(f"{cell:>{_CELL}}" for cell in cells))
    lines += ["", "Baselines, counted where they are another question than the one that is asked:"]
    lines += [f"  {name:10} {what}" for name, what in BASELINES.items()]
    lines += ["", f"{'By what is asked, and what the story contains:':56}of these, hang on it"]
    for name, counts in {**found["asks"], **found["contains"]}.items():
        hanging = "/".join(map(str, found["hangs_on"].get(name, ())))
        lines.append(f"  {name:22}{'/'.join(map(str, counts)):>{_CELL}}{hanging:>{_CELL}}".rstrip())
    for failure in found["failures"][:_FAILURES]:
        chain = " > ".join([*failure["chain"], failure["entity"]])
        when = ", ".join(f"{w}={failure[w]}" for w in ("as_of", "as_recorded") if w in failure)
        lines.append(
            f"Story {failure['story']}: {chain}{f' ({when})' if when else ''}: "
            f"expected {failure['answer']!r}, got {failure['got']!r}."
        )
    return "\n".join(lines)
