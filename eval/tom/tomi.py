"""ToMi: one object, moved while some are out of the room.

| sentence | event |
|---|---|
| ``A entered the ROOM.``, ``A is in the ROOM.`` | `enter` |
| ``A exited the ROOM.`` | `exit` |
| ``The OBJECT is in the CONTAINER.`` | `state`, seen by all in the object's room |
| ``A moved the OBJECT to the CONTAINER.`` | `state` by A, seen by all in the object's room |
| ``A likes/loves/hates/dislikes the THING.`` | none: A alone feels it |

A published label is called wrong here only where the story shows it: it is where the object was
moved while one of the chain was out of the room, who has not come back since.

Whoever enters the room sees the object there, as in Hi-ToM: it lies openly. Each sentence is one
moment (ms); "at the beginning" is the one of the first sentence that says where the object is.
"""

import re
from collections.abc import Iterable

from .told import Event, Question, Row, Story, StoryError, by_story

_FORMS = {
    "enter": re.compile(r"(?P<agent>\w+) (?:entered|is in) the (?P<room>[\w ]+)\."),
    "exit": re.compile(r"(?P<agent>\w+) exited the (?P<room>[\w ]+)\."),
    "state": re.compile(
        r"(?:The|(?P<by>\w+) moved the) (?P<entity>[\w -]+?) (?:is in|to) the (?P<value>[\w -]+)\."
    ),
    "feeling": re.compile(r"(?P<agent>\w+) (?:likes|loves|hates|dislikes) the [\w -]+\."),
}
_UNSEEN = "where it was moved while one of the chain was out, who has not been back"


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions."""
    return [_story(rows) for rows in by_story(rows, "story", "object_room")]


def _story(rows: list[Row]) -> Story:
    told = [
        event
        for moment, sentence in enumerate(rows[0]["story"])
        if (event := event_of(sentence, rows[0]["object_room"], moment)) is not None
    ]
    beginning = next(event["happened_at"] for event in told if event["kind"] == "state")
    return Story(told, [
        Question(
            row["id"], row["order"], tuple(row["chain"]), row["entity"],
            {"answer": row["answer"], "answer_published": row["answer_published"]},
            as_of=beginning if row["order"] < 0 else None,
            why={"answer_published": _UNSEEN}
            if row["answer_published"] == _moved_unseen(row) else {},
        )
        for row in rows
    ])


def _moved_unseen(row: Row) -> str | None:
    """Where the object was moved last, if one of the chain did not see it and has not been back."""
    there: set[str] = set()
    moved, missed = None, set[str]()
    for sentence in row["story"]:
        form, named = parsed(sentence)
        if form == "enter" and named["room"] == row["object_room"]:
            there.add(named["agent"])
            missed.discard(named["agent"])
        elif form in ("enter", "exit"):
            there.discard(named["agent"])
        elif form == "state" and "by" in named:
            moved, missed = named["value"], set(row["chain"]) - there
    return moved if missed else None


def parsed(sentence: str) -> tuple[str, dict[str, str]]:
    """A sentence's form and what it names; raises `StoryError` for one of no form."""
    for form, pattern in _FORMS.items():
        # "The boots is in the cupboard." is no agent's entry.
        if (found := pattern.fullmatch(sentence)) and found.groupdict().get("agent") != "The":
            return form, {name: text for name, text in found.groupdict().items() if text}
    raise StoryError(f"ToMi: expected one of its forms, got {sentence!r}.")


def event_of(sentence: str, object_room: str, moment: int) -> Event | None:
    """The event that a sentence tells; None for a feeling."""
    form, named = parsed(sentence)
    match form:
        case "enter" | "exit":
            return {"kind": form, "agents": [named["agent"]], "room": named["room"],
                    "happened_at": moment}
        case "state":
            return {"kind": form, **named, "room": object_room, "located_in": object_room,
                    "happened_at": moment}
        case _:
            return None
