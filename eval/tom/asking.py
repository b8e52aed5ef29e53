"""Stories are recorded, each as a scenario of its own on the embedded database, and asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched

from eval.servers import answer, memory_of, running

from .told import Story

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
        with running() as store:
            for number, story in enumerate(some):
                with memory_of(store, f"story-{number}", policy=story.policy, rooms="place") as memory:
                    record = memory.record(story.events)
                    yield Asked(
                        story,
                        [question.answer(answer(memory, question.chain, question.entity, question.as_of)) for question in story.questions],
                        [frozenset(recorded.witnesses) for recorded in record.events],
                    )
