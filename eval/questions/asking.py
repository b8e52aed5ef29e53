"""Stories are recorded, each as a scenario of its own on the embedded database, and asked."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import batched
from pathlib import Path
from typing import Any

from so_mcp import Memory

from .story import Question, Story

AT_ONCE = 8  # events; a desk records as it goes, so late ones and voids meet what is there already
SCENARIOS_AT_ONCE = 100  # in one database, whose memory they all take

Answers = list[str | None]


def answers(stories: Sequence[Story]) -> Iterator[Answers]:
    """What the memory answers to the questions of each story, in order."""
    for some in batched(stories, SCENARIOS_AT_ONCE):
        with _store() as path:
            for number, story in enumerate(some):
                settings: dict[str, Any] = story.settings
                with Memory(f"desk-{number}", path=path, **settings) as memory:
                    yield told(memory, story)


def told(memory: Memory, story: Story) -> Answers:
    """Record a story in a memory where nothing has happened yet, and ask its questions."""
    for events in batched(story.events, AT_ONCE):
        memory.record(events)
    found: Answers = [None] * len(story.questions)
    for point in dict.fromkeys(question.as_recorded for question in story.questions):
        with memory.as_recorded(point) as then:
            for index, question in enumerate(story.questions):
                if question.as_recorded == point:
                    found[index] = _answer(then, question)
    return found


def _answer(memory: Memory, question: Question) -> str | None:
    if not question.chain:
        return memory.truth(question.entity, question.as_of)
    return memory.believes(question.chain, question.entity, question.as_of)


@contextmanager
def _store() -> Iterator[Path]:
    """A database in a folder of its own, which goes with it."""
    folder = tempfile.mkdtemp(prefix="questions-")
    try:
        with Memory("staying", path=Path(folder, "store")) as staying:
            staying.agents()  # connects: the server runs until the last one leaves
            yield Path(folder, "store")
    finally:
        shutil.rmtree(folder)
