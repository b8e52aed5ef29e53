"""ExploreToM: things moved between closed containers and rooms, tells, peeking, distraction.

The data set has the same story as tuples (``events``), so no sentence is read. Of a thing there are
several entities: the thing, whose value is its container; its room; and each state that it can be
in. A container is such a thing itself. Where it is lies open: whoever enters sees the container,
and not what is in it.

| tuple | events |
|---|---|
| ``enter_room``, ``leave_room`` | `enter`, `exit` |
| ``move_object_container`` A thing container | `state` by A, seen by all in A's room: the thing's container, its room, and the container's room |
| ``move_object_room`` A thing room | `state` where A is: it left its container, and for where; A enters there with it, and it lies openly. Those there keep what they thought of its container |
| ``<state_update> …`` A thing | `state` by A: so it is now; and whoever acts on a thing shows its room |
| ``private_communication`` A B fact | `tell` B: all are believed |
| ``broadcast_communication`` A fact | `tell` all in A's room |
| either, of a topic | `say`: whoever speaks of a topic knows of it; asked is only whether one does |
| ``peeking_distracted`` peekers distracted | ``hidden`` and ``distracted`` of what the tuple before it told |
"""

from collections.abc import Iterable
from typing import Any

from .told import UNKNOWN, Event, Question, Row, Story, StoryError, as_it_is, by_story

CONTAINER, ROOM, KNOWLEDGE, STATE = "container_location", "room_location", "<knowledge>", "<state"
_QUIRK = "the data set's own inconsistency, marked there as label_quirk"


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions."""
    return [
        Story(events(story[0]["events"]), [_question(row) for row in story])
        for story in by_story(rows, "events")
    ]


def _question(row: Row) -> Question:
    labels = {} if row["label_quirk"] else {"answer": row["answer"]}
    labels["answer_with_quirks"] = row["answer"]
    if row["label_quirk"]:
        labels["answer_sim"] = row["answer_sim"] or UNKNOWN

    def known(value: str | None) -> str:
        yes, no = row["choices"]
        answer: str = no if value is None else yes
        return answer

    return Question(
        row["id"], row["order"], tuple(row["chain"]), entity_of(row["entity"], row["property"]),
        labels, answer=as_it_is if row["choices"] is None else known,
        why={"answer_with_quirks": _QUIRK} if row["label_quirk"] else {},
    )


def entity_of(thing: str, what: str) -> str:
    """The entity that a property of a thing is."""
    if what in (CONTAINER, KNOWLEDGE):
        return thing
    return f"room of {thing}" if what == ROOM else f"{what} of {thing}"


def events(tuples: Iterable[list[Any]]) -> list[Event]:
    """The events that the tuples tell."""
    rooms: dict[str, str] = {}
    found: list[Event] = []
    newest: list[Event] = []
    for kind, *what in tuples:
        if kind == "peeking_distracted":
            for event in newest:
                event |= {
                    name: agents
                    for name, agents in zip(("hidden", "distracted"), what, strict=True)
                    if agents
                }
            continue
        newest = _events(kind, what, rooms)
        found += newest
    return found


def _events(kind: str, what: list[Any], rooms: dict[str, str]) -> list[Event]:
    """The events of one tuple; ``rooms`` is where everybody is, and is kept so."""
    match kind, what:
        case "enter_room", [agent, room]:
            rooms[agent] = room
            return [{"kind": "enter", "agents": [agent], "room": room}]
        case "leave_room", [agent, room]:
            rooms.pop(agent, None)
            return [{"kind": "exit", "agents": [agent], "room": room}]
        case "move_object_container", [agent, thing, container]:
            room = rooms[agent]
            act = {"kind": "state", "by": agent, "room": room}
            return [
                {**act, "entity": thing, "value": container},
                {**act, "entity": entity_of(thing, ROOM), "value": room, "located_in": container},
                {**act, "entity": entity_of(container, ROOM), "value": room, "located_in": room},
            ]
        case "move_object_room", [agent, thing, room]:
            act = {"kind": "state", "by": agent, "room": rooms[agent]}
            there = {**act, "entity": entity_of(thing, ROOM), "value": room}
            rooms[agent] = room
            return [
                {**act, "entity": thing, "value": None},
                there,
                {"kind": "enter", "agents": [agent], "room": room},
                {**there, "room": room, "located_in": room},
            ]
        case "private_communication" | "broadcast_communication", [speaker, *listeners, fact]:
            return [_tell(speaker, fact, listeners, rooms.get(speaker))]
        case _, [agent, thing, *_] if kind.startswith(STATE):
            room = rooms[agent]
            act = {"kind": "state", "by": agent, "room": room}
            return [
                {**act, "entity": entity_of(thing, kind), "value": "so"},
                {**act, "entity": entity_of(thing, ROOM), "value": room},
            ]
        case _:
            raise StoryError(f"ExploreToM: expected one of its tuples, got {[kind, *what]!r}.")


def _tell(
    speaker: str, fact: str | list[Any], listeners: list[str], room: str | None
) -> Event:
    """A `tell` that a thing is somewhere, or the `say` of a topic; out loud without listeners."""
    if isinstance(fact, str):
        heard = {"audience": listeners} if listeners else {"room": room}
        return {"kind": "say", "speaker": speaker, "entity": fact, "value": "known", **heard}
    thing, what, value, _ = fact
    heard = {"listeners": listeners} if listeners else {"room": room}
    return {"kind": "tell", "speaker": speaker, "entity": entity_of(thing, what), "value": value,
            **heard}
