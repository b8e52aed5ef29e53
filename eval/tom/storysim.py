"""StorySim: a hundred moves between rooms; beliefs are about where people are.

Where a person is, is an entity with the person's name. Those in the room that it leaves see where
it goes, those in the room that it comes to see it come, and all of them see each other see it: one
audience. So a move is a `state` by the one who moves, witnessed by both rooms.
"""

import re
from collections.abc import Iterable

from .told import Event, Question, Row, Story, StoryError, by_story

_MOVE = re.compile(r"(?P<who>\w+) enters (?P<room>\w+)\.")


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions."""
    return [
        Story(
            events(story[0]["story"]),
            [
                Question(row["id"], row["order"], tuple(row["chain"]), row["entity"],
                         {"answer": row["answer"]})
                for row in story
            ],
        )
        for story in by_story(rows, "story")
    ]


def events(sentences: Iterable[str]) -> list[Event]:
    """One event a sentence."""
    rooms: dict[str, str] = {}
    found: list[Event] = []
    for sentence in sentences:
        move = _MOVE.fullmatch(sentence)
        if move is None:
            raise StoryError(f"StorySim: expected 'A enters ROOM.', got {sentence!r}.")
        who, room = move["who"], move["room"]
        both = (rooms.get(who), room)
        audience = [who, *(other for other in rooms if other != who and rooms[other] in both)]
        found.append(
            {"kind": "state", "by": who, "entity": who, "value": room, "audience": audience}
        )
        rooms[who] = room
    return found
