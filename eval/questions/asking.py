"""Stories are recorded, each as a scenario of its own on the embedded database, and asked."""

from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any

from eval.servers import answer, memory_of, running
from so_mcp import Memory

from .story import Story

AT_ONCE = 8  # events; a desk records as it goes, so late ones and voids meet what is there already
SCENARIOS_AT_ONCE = 100  # in one database, whose memory they all take

Answers = list[str | None]


def answers(stories: Sequence[Story]) -> Iterator[Answers]:
    """What the memory answers to the questions of each story, in order."""
    for some in batched(stories, SCENARIOS_AT_ONCE):
        with running() as store:
            for number, story in enumerate(some):
                settings: dict[str, Any] = story.settings
                with memory_of(store, f"desk-{number}", **settings) as memory:
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
                    found[index] = answer(then, question.chain, question.entity, question.as_of)
    return found
