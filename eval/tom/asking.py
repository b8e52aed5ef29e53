"""Stories are recorded, each as a scenario of its own on the embedded database, and asked."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import batched
from pathlib import Path

from so_mcp import Memory

from .told import Question, Story

SCENARIOS_AT_ONCE = 300  # in one database, whose memory they all take


@dataclass(frozen=True, slots=True)
class Asked:
    """A story, what the memory answers to its questions, and who took in each event."""

    story: Story
    answers: list[str]
    witnesses: list[frozenset[str]]


def asked(stories: Sequence[Story]) -> Iterator[Asked]:
    """Record each story and ask its questions, in order."""
    for some in batched(stories, SCENARIOS_AT_ONCE):
        with _store() as path:
            for number, story in enumerate(some):
                with Memory(f"story-{number}", policy=story.policy, rooms="place", path=path) as memory:
                    record = memory.record(story.events)
                    yield Asked(
                        story,
                        [question.answer(_value(memory, question)) for question in story.questions],
                        [frozenset(recorded.witnesses) for recorded in record.events],
                    )


def _value(memory: Memory, question: Question) -> str | None:
    if not question.chain:
        return memory.truth(question.entity, question.as_of)
    return memory.believes(question.chain, question.entity, question.as_of)


@contextmanager
def _store() -> Iterator[Path]:
    """A database in a folder of its own, which goes with it."""
    folder = tempfile.mkdtemp(prefix="tom-")
    try:
        with Memory("staying", path=Path(folder, "store")) as staying:
            staying.agents()  # connects: the server runs until the last one leaves
            yield Path(folder, "store")
    finally:
        shutil.rmtree(folder)
