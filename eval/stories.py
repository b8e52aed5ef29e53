"""Hi-ToM's sentences as events for `Memory.record`, and its questions as chains.

The forms are those of the data set (He et al., "Hi-ToM", Findings of EMNLP 2023), the rules those of
its authors' belief-tracking code:

| sentence | event |
|---|---|
| ``A, B and C entered the ROOM.`` | `enter`; into the ``waiting_room``: none, nobody is "in" it |
| ``The OBJ is in the CONTAINER.`` | `state`, seen by all in the room |
| ``A moved the OBJ to the CONTAINER.`` | `state` by A, seen by all in the room |
| ``A exited the ROOM.`` | `exit` |
| ``A publicly claimed that [the] OBJ is [now] in the CONTAINER.`` | `tell` everyone, maybe a lie |
| ``A privately told B that [the] OBJ is [now] in the CONTAINER.`` | `tell` B, maybe a lie |
| ``A made no movements …``, ``likes``, ``dislikes``, ``saw a``, ``lost his`` | none: noise |

An object lies *openly* in the room (``located_in``), whatever container its value names: whoever
enters the room later sees where it is. Lines without a number, such as a prompt before line 1, are
no part of the story. A numbered sentence of any other form is refused: one that was skipped in
silence would only show as a wrong answer.
"""

import re
from typing import Any, NamedTuple

Event = dict[str, Any]

WAITING_ROOM = "waiting_room"

_LINE = re.compile(r"(?P<number>\d+) (?P<sentence>.*)")
_IS_IN = r"that (?:the )?(?P<entity>\w+) is (?:now )?in the (?P<value>\w+)\."
_FORMS = {
    "enter": re.compile(r"(?P<agents>\w+(?:, \w+)*(?: and \w+)?) entered the (?P<room>\w+)\."),
    "exit": re.compile(r"(?P<agent>\w+) exited the (?P<room>\w+)\."),
    "place": re.compile(r"The (?P<entity>\w+) is in the (?P<value>\w+)\."),
    "move": re.compile(r"(?P<by>\w+) moved the (?P<entity>\w+) to the (?P<value>\w+)\."),
    "claim": re.compile(rf"(?P<speaker>\w+) publicly claimed {_IS_IN}"),
    "tell": re.compile(rf"(?P<speaker>\w+) privately told (?P<listener>\w+) {_IS_IN}"),
    "noise": re.compile(
        r"\w+ (?:made no movements and stayed in the \w+ for \d+ minutes?"
        r"|likes the \w+|dislikes the \w+|saw an? \w+|lost (?:his|her|their) \w+)\."
    ),
}
_REALITY = re.compile(r"Where is the (?P<entity>\w+) really\?")
_BELIEF = re.compile(
    r"Where does (?P<first>\w+) (?:really )?think (?P<rest>(?:\w+ thinks )*)the (?P<entity>\w+) is\?"
)


class StoryError(ValueError):
    """A sentence of no form that Hi-ToM has."""


class Question(NamedTuple):
    """What a chain of minds, outermost first, thinks of an entity; no chain: what is so."""

    chain: tuple[str, ...]
    entity: str


def events(story: str) -> list[Event]:
    """Return the story's events; raises `StoryError` for a sentence of another form."""
    found: list[Event] = []
    room = None
    for line in story.splitlines():
        if numbered := _LINE.fullmatch(line.strip()):
            event = _event(numbered["sentence"], room, f"line {numbered['number']}")
            if event is not None:
                room = event["room"] if event["kind"] == "enter" else room
                found.append(event)
    return found


def question(text: str) -> Question:
    """Return a question's chain and entity; raises `StoryError` for one of another form."""
    if reality := _REALITY.fullmatch(text):
        return Question((), reality["entity"])
    if belief := _BELIEF.fullmatch(text):
        rest = belief["rest"].replace(" thinks", "").split()
        return Question((belief["first"], *rest), belief["entity"])
    raise StoryError(f"question: expected one of Hi-ToM's forms, got {text!r}.")


def _event(sentence: str, room: str | None, where: str) -> Event | None:
    """Return the event that a sentence tells, if any; ``room`` is where the chapter plays."""
    form, said = _form(sentence, where)
    match form:
        case "enter":
            agents = re.split(r", | and ", said["agents"])
            entered = said["room"] != WAITING_ROOM
            return {"kind": "enter", "agents": agents, "room": said["room"]} if entered else None
        case "exit":
            return {"kind": "exit", "agents": [said["agent"]], "room": said["room"]}
        case "place" | "move":
            if room is None:
                raise StoryError(f"{where}: expected someone to enter a room before {sentence!r}.")
            return {"kind": "state", **said, "room": room, "located_in": room}
        case "claim":
            return {"kind": "tell", **said, "everyone": True}
        case "tell":
            listener = said.pop("listener")
            return {"kind": "tell", **said, "listeners": [listener]}
        case _:
            return None


def _form(sentence: str, where: str) -> tuple[str, dict[str, str]]:
    for form, pattern in _FORMS.items():
        if found := pattern.fullmatch(sentence):
            return form, found.groupdict()
    raise StoryError(f"{where}: expected one of Hi-ToM's forms, got {sentence!r}.")
