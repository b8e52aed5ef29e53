"""A story with its questions and their answers, as one line of JSON; and the set that is shipped."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.hitom import ROOT, DataError

FILE = ROOT / "data/questions/to_depth_6.jsonl"
SEED = 2026
STORIES = 100
SHA256 = "6fd48a488485161509b2af34228e205066ea6c86fe9225bac6360dc63880d019"
MAKE = f"python -m eval questions --make {SEED} --stories {STORIES} --to {FILE.relative_to(ROOT)}"

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What a chain of minds, outermost first, thinks of an entity; no chain: what is so.

    ``answer`` None: it is unknown. ``shortcuts``: which simpler questions happen to have the same
    answer (see `drawing.SHORTCUTS`); so a memory that only answers those is measured, too.
    ``hangs_on``: what of the story it was chosen for: a memory that ignores that is wrong here.
    """

    chain: tuple[str, ...]
    entity: str
    answer: str | None
    as_of: int | None = None  # milliseconds since 1970
    as_recorded: int | None = None  # the number of an event
    shortcuts: tuple[str, ...] = ()
    hangs_on: str | None = None

    @property
    def depth(self) -> int:
        """How many minds it goes through."""
        return len(self.chain)

    @property
    def asked(self) -> tuple[tuple[str, ...], str, int | None, int | None]:
        """What tells it from the others of its story."""
        return self.chain, self.entity, self.as_of, self.as_recorded

    def as_json(self) -> dict[str, Any]:
        """It as it is in the file: what is not asked is left out, an unknown answer is null."""
        when = {"as_of": self.as_of, "as_recorded": self.as_recorded}
        return {
            "chain": self.chain, "entity": self.entity, **_given(when),
            "answer": self.answer, "shortcuts": self.shortcuts,
            **_given({"hangs_on": self.hangs_on}),
        }


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Story:
    """A scenario: its settings, what happens in it, what that contains, and its questions.

    ``events`` are as `Memory.record` takes them, in the order of recording.
    """

    name: str
    settings: dict[str, str]
    contains: tuple[str, ...]
    events: list[Event]
    questions: list[Question]

    def line(self) -> str:
        """It as a line of the file."""
        return json.dumps({
            "story": self.name, "settings": self.settings, "contains": self.contains,
            "events": self.events, "questions": [q.as_json() for q in self.questions],
        }, ensure_ascii=False, separators=(",", ":"))


def read(lines: Iterable[str]) -> list[Story]:
    """The stories that these lines hold; raises `DataError`."""
    try:
        return [_story(json.loads(line)) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"expected a story with its questions a line ({error!r}).") from error


def _story(row: Mapping[str, Any]) -> Story:
    return Story(
        row["story"], row["settings"], tuple(row["contains"]), row["events"],
        [
            Question(
                tuple(q["chain"]), q["entity"], q["answer"], q.get("as_of"), q.get("as_recorded"),
                tuple(q["shortcuts"]), q.get("hangs_on"),
            )
            for q in row["questions"]
        ],
    )


def shipped(path: Path = FILE) -> list[Story]:
    """The set of this repository; raises `DataError` where the file is not the one it was."""
    content = path.read_bytes() if path.is_file() else b""
    got = hashlib.sha256(content).hexdigest()
    if got != SHA256:
        raise DataError(
            f"{path}: expected sha256 {SHA256}, got {got}. Restore it from the repository; or, if "
            f"the generator was changed on purpose, make it again ({MAKE}) and put the new hash "
            "into eval/questions/story.py."
        )
    return read(content.decode("utf-8").splitlines())
