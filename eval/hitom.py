"""Hi-ToM (He et al., Findings of EMNLP 2023): 1,200 questions of order 0 to 4, asked of the memory.

Every distinct story is recorded as a scenario of its own, on the embedded database, a server behind
TLS, or a cluster of three nodes (``--database``); the answers are what `Memory.truth` and `Memory.believes` say. They are held against two keys: ``released``, the
data set's own labels, and ``reference``, what its authors' belief-tracking code answers when the
story is replayed through it. The two keys contradict each other in places; nothing is fitted.

Ablations ask the same memory less than it knows. ``flat``: one memory shared by all, so that every
question is answered with what is so. ``no_nesting``: one memory an agent but nobody's picture of
another's, so that a chain is answered with what its first agent itself believes: that is the one
whose memory is asked. (Asking its last agent's instead gives 64.3 % and 62.8 %.)
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval import results as kept
from eval import servers, stories
from so_mcp import Memory

ROOT = Path(__file__).resolve().parent.parent
FETCH = "python third_party/fetch.py hitom"
KEYS = ("reference", "released")
ORDERS = range(5)

Answers = list[str | None]
Reader = Callable[[Memory, stories.Question], str | None]
Score = dict[str, list[int]]  # "all" and each order: [correct, asked]
Scores = dict[str, Score]  # by key


class DataError(Exception):
    """The data set is not the one that was asked for."""


class MissingDataError(DataError):
    """The data set is not here."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question of the data set, with what each key answers."""

    events: list[stories.Event]
    question: stories.Question
    prompting_type: str
    keys: dict[str, str]

    @property
    def order(self) -> int:
        """How many minds the question goes through."""
        return len(self.question.chain)

    @property
    def story(self) -> str:
        """What tells stories apart: their events, so not the prompt before one."""
        return json.dumps(self.events)


def full(memory: Memory, question: stories.Question) -> str | None:
    """Answer with what the memory knows."""
    if not question.chain:
        return memory.truth(question.entity)
    return memory.believes(question.chain, question.entity)


def flat(memory: Memory, question: stories.Question) -> str | None:
    """Answer as one memory shared by all would."""
    return memory.truth(question.entity)


def no_nesting(memory: Memory, question: stories.Question) -> str | None:
    """Answer as one memory an agent, without a picture of the others, would."""
    return full(memory, question._replace(chain=question.chain[:1]))


READERS: dict[str, Reader] = {"full": full, "flat": flat, "no_nesting": no_nesting}


def data_file() -> Path:
    """Return where the data set is; raises `DataError` where it is not, or is another one.

    ``SO_HITOM_PATH`` names a file of one's own, whose hash is not looked at; else it is where
    the fetch command puts it, else in ``shared/hitom`` beside the checkout.
    """
    if own := os.environ.get("SO_HITOM_PATH"):
        if not Path(own).is_file():
            raise MissingDataError(
                f"SO_HITOM_PATH: expected the file Hi-ToM_data.json, and there is none at {own}. "
                f"Leave it unset and fetch the data set: {FETCH}"
            )
        return Path(own)
    manifest: dict[str, dict[str, str]] = json.loads(
        (ROOT / "third_party/manifest.json").read_text("utf-8")
    )
    file, expected = manifest["hitom"]["file"], manifest["hitom"]["sha256"]
    fetched, beside = ROOT / "third_party" / file, ROOT.parent / "shared" / file
    path = next((path for path in (fetched, beside) if path.is_file()), None)
    if path is None:
        raise MissingDataError(
            f"The Hi-ToM data set is not here: neither {fetched} nor {beside} exists. "
            f"Fetch it: {FETCH}. Or name a copy of it in SO_HITOM_PATH."
        )
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    if got != expected:
        raise DataError(
            f"{path}: expected sha256 {expected}, got {got}. "
            f"Remove the file and fetch it again: {FETCH}"
        )
    return path


def load(path: Path) -> list[Item]:
    """Return the questions in the file's order, with both keys; raises `DataError`."""
    answers = ROOT / "third_party/hitom/reference_answers.json"
    reference = json.loads(answers.read_text("utf-8"))["answers"]
    try:
        return [
            Item(
                stories.events(row["story"]),
                stories.question(row["question"]),
                row["prompting_type"],
                {"reference": expected, "released": row["answer"]},
            )
            for row, expected in zip(
                json.loads(path.read_text("utf-8"))["data"], reference, strict=True
            )
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: expected the {len(reference)} questions of Hi-ToM, got something else "
            f"({error}). Fetch the data set: {FETCH}"
        ) from error


def answer(
    items: Sequence[Item], readers: dict[str, Reader] = READERS, on: str = "embedded"
) -> dict[str, Answers]:
    """Return each reader's answers in the order of ``items``; a story is recorded once.

    ``on``: one of `servers.DATABASES`, made for it.
    """
    by_story: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        by_story.setdefault(item.story, []).append(position)
    answers: dict[str, Answers] = {name: [None] * len(items) for name in readers}
    with servers.database(on) as (store, _), servers.memory_of(store, "hitom") as staying:
        staying.agents()  # connects: an embedded database runs until the last one leaves
        for number, positions in enumerate(by_story.values()):
            with servers.memory_of(
                store, f"hitom-{number}", policy="exit-order", rooms="place"
            ) as memory:
                memory.record(items[positions[0]].events)
                for position in positions:
                    for name, reader in readers.items():
                        answers[name][position] = reader(memory, items[position].question)
    return answers


def scores(items: Sequence[Item], answers: Answers) -> Scores:
    """Count correct and asked against each key, over all questions and by order."""
    found: Scores = {key: {name: [0, 0] for name in ("all", *map(str, ORDERS))} for key in KEYS}
    for item, got in zip(items, answers, strict=True):
        for key, score in found.items():
            for count in (score["all"], score[str(item.order)]):
                count[0] += got == item.keys[key]
                count[1] += 1
    return found


def results(items: Sequence[Item], answers: dict[str, Answers]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    by_type: dict[str, Scores] = {}
    for kind in sorted({item.prompting_type for item in items}):
        chosen = [index for index, item in enumerate(items) if item.prompting_type == kind]
        by_type[kind] = scores([items[i] for i in chosen], [answers["full"][i] for i in chosen])
    return {
        **scores(items, answers["full"]),
        "ablations": {name: scores(items, answers[name]) for name in ("flat", "no_nesting")},
        "by_prompting_type": by_type,
    }


def text(items: Sequence[Item], found: dict[str, Any]) -> str:
    """Return the results as a table, a line a score, and what the two keys are."""
    columns = ("all", *map(str, ORDERS))
    titles = ["all", *(f"order {order}" for order in ORDERS)]
    lines = [f"{'':29}" + "".join(f"{title:>10}" for title in titles)]
    groups: dict[str, Scores] = {"memory": found, **found["by_prompting_type"], **found["ablations"]}
    for name, group in groups.items():
        for key in KEYS:
            correct, asked = group[key]["all"]
            cells = (f"{'/'.join(map(str, group[key][column])):>10}" for column in columns)
            lines.append(f"{f'{name}, {key}':22}{correct / asked:7.1%}" + "".join(cells))
    apart = sum(item.keys["reference"] != item.keys["released"] for item in items)
    return "\n".join(lines) + (
        "\n\nreference: the authors' own belief-tracking code. released: the data set's labels.\n"
        f"The {apart} released labels that contradict the authors' code are reported, not fitted."
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument("--json", action="store_true", help="print the scores as JSON alone")
    parser.add_argument(
        "--database", choices=servers.DATABASES, default="embedded",
        help="what to record on (default embedded); the others are started for it, on loopback",
    )
    parser.add_argument("--save", action="store_true", help="keep them for the README")


def run(args: argparse.Namespace) -> int:
    """Score the memory and print it; 1 when the data set is missing or another one."""
    began = time.perf_counter()
    try:
        items = load(data_file())
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        found = results(items, answer(items, on=args.database))
    except servers.MissingProgramError as missing:
        print(missing, file=sys.stderr)
        return 1
    if args.save:
        kept.save("hitom", found)
    if args.json:
        print(json.dumps(found))
    else:
        stories_told = len({item.story for item in items})
        print(text(items, found))
        print(f"{stories_told} distinct stories in {time.perf_counter() - began:.1f} s.")
    return 0
