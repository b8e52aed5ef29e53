"""Percept-ToMi: ToMi with, for each sentence, who perceived it according to people.

Read as ToMi is, but that each sentence is an event (a feeling is a `say` to oneself), and that the
story tells in which room a container is: in the sentence after the one that names it.
"""

from collections.abc import Iterable

from .told import Event, Perceived, Question, Row, Story, by_story
from .tomi import parsed


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions and who perceived what."""
    return [
        Story(
            events(story[0]["story"]),
            [
                Question(row["id"], row["order"], tuple(row["chain"]),
                         row["entity"].replace(" - ", "-"), {"answer": row["answer"]})
                for row in story
            ],
            perceived=[
                # Nobody is written as one name of no letters.
                Perceived(row["id"], index, frozenset(names) - {""}, there)
                for row in story
                for index, (names, there) in enumerate(
                    zip(row["witnesses"], by_rule(row["story"]), strict=True)
                )
            ],
        )
        for story in by_story(rows, "story")
    ]


def events(sentences: list[str]) -> list[Event]:
    """One event a sentence."""
    found: list[Event] = []
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=True):
        form, named = parsed(sentence)
        match form:
            case "enter" | "exit":
                event = {"kind": form, "agents": [named["agent"]], "room": named["room"]}
            case "state":
                event = {"kind": form, **named, "room": named["value"]}
                told = parsed(after)[1] if after else {}
                if told.get("entity") == named["value"]:  # so this is the object, in a container
                    event["room"] = event["located_in"] = told["value"]
            case _:
                event = {"kind": "say", "speaker": named["agent"], "audience": [named["agent"]],
                         "text": sentence}
        found.append(event)
    return found


def by_rule(sentences: list[str]) -> list[frozenset[str]]:
    """Who perceives each sentence, without the engine: all in the room, and of a feeling oneself.

    Found from the text alone, so that a set of the data set can be shown to be noise.
    """
    rooms: dict[str, str] = {}
    found = []
    for index, sentence in enumerate(sentences):
        form, named = parsed(sentence)
        agents = {named[role] for role in ("agent", "by") if role in named}
        if form == "enter":
            rooms[named["agent"]] = named["room"]
        room = named.get("room")
        if form == "state":
            # The container's room is told by the next sentence, or else by this one.
            _, told = parsed(sentences[min(index + 1, len(sentences) - 1)])
            room = told["value"] if told.get("entity") == named["value"] else named["value"]
        agents |= {agent for agent, where in rooms.items() if where == room}
        if form == "exit":
            rooms.pop(named["agent"], None)
        found.append(frozenset(agents))
    return found
