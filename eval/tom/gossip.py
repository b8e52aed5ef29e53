"""Gossip: private calls in which two tell each other every secret they know.

A secret is an entity that whoever knows it has a value of. What one came to know in a call follows
from the calls before; each secret that came up is a `say` to the two, who know that the other
heard it. Answers are "yes" and "no": to know is to have a value.

The labels are what follows with perfect reasoning over possible worlds: who hears an old secret
from someone may conclude whom that one spoke to. Who was present does not tell that, so the memory
must never answer "yes" wrongly, and misses some of what can be concluded (orders 2 and 3).
"""

import re
from collections.abc import Iterable

from .told import Event, Question, Row, Story, StoryError, by_story

_BEGINNING = re.compile(r"(\w+(?:, \w+)* and \w+) each know one secret of their own\.")
_CALL = re.compile(
    r"(\w+) and (\w+) had a private phone call and told each other every secret they knew\."
)
_BEYOND = "does not follow from who was present (routing_answer is no)"


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions."""
    return [
        Story(
            events(story[0]["story"]),
            [
                Question(
                    row["id"], row["order"], tuple(row["chain"]), row["entity"],
                    {"answer": row["answer"], "routing_answer": row["routing_answer"]},
                    answer=known,
                    why={"answer": _BEYOND}
                    if (row["answer"], row["routing_answer"]) == ("yes", "no") else {},
                )
                for row in story
            ],
        )
        for story in by_story(rows, "story")
    ]


def known(value: str | None) -> str:
    """Whether it is known."""
    return "no" if value is None else "yes"


def secret_of(agent: str) -> str:
    """The entity that an agent's secret is."""
    return f"{agent}'s secret"


def events(sentences: Iterable[str]) -> list[Event]:
    """Everyone's own secret, and then an event for each secret that comes up in a call."""
    first, *calls = sentences
    beginning = _BEGINNING.fullmatch(first)
    if beginning is None:
        raise StoryError(f"gossip: expected who knows a secret, got {first!r}.")
    agents = re.split(r", | and ", beginning[1])
    found: list[Event] = [
        {"kind": "say", "speaker": agent, "entity": secret_of(agent), "value": "told",
         "audience": [agent]}
        for agent in agents
    ]
    knows = {agent: [agent] for agent in agents}
    for sentence in calls:
        call = _CALL.fullmatch(sentence)
        if call is None:
            raise StoryError(f"gossip: expected a call of two, got {sentence!r}.")
        pair = call.groups()
        shared = list(dict.fromkeys(secret for agent in pair for secret in knows[agent]))
        found += [
            {"kind": "say", "entity": secret_of(secret), "value": "told", "audience": list(pair),
             "speaker": next(agent for agent in pair if secret in knows[agent])}
            for secret in shared
        ]
        knows |= dict.fromkeys(pair, shared)
    return found
