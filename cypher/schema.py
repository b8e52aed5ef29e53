"""What the two graphs hold: labels, relationship types and properties. Data only.

The engine accepts a query that names a label or property nobody ever wrote, and answers with
nothing. So every query, and what the graphs really hold, is checked against this list by
``tests/test_catalogue.py``; ``README.md`` beside this file is generated from it (``make docs``).
"""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """A label. ``on`` names the label that its nodes always have too, and whose properties."""

    label: str
    meaning: str
    properties: dict[str, str]
    on: str | None = None


class Relationship(NamedTuple):
    """A relationship type, and the labels that it may begin and end at."""

    type: str
    start: str
    ends: tuple[str, ...]
    meaning: str
    properties: dict[str, str]


class Graph(NamedTuple):
    """One kind of graph."""

    meaning: str
    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...]


_LINE = {
    "seq": "its place in the order of recording, from 1",
    "at": "when it happened, ms since 1970",
    "kind": "what happened: enter, say, tell, read, …",
    "actor": "who did or said it",
    "agents": "who moved",
    "room": "where",
    "audience": "who was named to take it in",
    "everyone": "whether it went to every agent",
    "about": "whose belief was reported",
    "entity": "what it is about",
    "value": "the value given; absent: no longer known",
    "located_in": "where the entity lies since",
    "place": "true: the room was asked to be a place",
    "text": "the words",
    "id": "the id that the caller gave",
    "target": "of what is about an earlier event, such as read or void: that one's seq",
    "distracted": "who seemed to take it in, and did not",
    "hidden": "who took it in unseen",
    "noticed": "who saw them talk, and heard nothing",
    "receipt": "read: true: its witnesses saw that it was read",
    "history": "enter: what a newcomer may read, as it was asked",
    "reads": "enter: how one reads there, as it was asked",
    "edits": "edit: of which kind the event is that it edits",
}

SCHEMA = {
    "world": Graph(
        "One a scenario: what happened, and who took it in. Only the supervisor reads it.",
        (
            Node("Scenario", "The scenario itself: exactly one node.", {
                "name": "what it is called",
                "policy": "who believes what it is told: credulous or exit-order",
                "rooms": "what a new room is: channel or place",
                "history": "what of a new room a newcomer may read: none, since_join or all",
                "reads": "how one reads in a new room: at_once or later",
                "strict": "true: events may name only what is known; absent before it was ever set",
                "format": "version of the store's format",
                "chapter": "the place of the current chapter; absent before the first",
                "chapter_at": "when it began, ms",
                "chapter_since": "the seq of the event that began it",
            }),
            Node("Agent", "Somebody with a mind.", {"name": "who; case-sensitive"}),
            Node("Room", "Where agents take in what happens.", {
                "name": "where",
                "kind": "channel: many at once; place: entering it leaves the place before",
                "history": "what a newcomer may read: none, since_join or all",
                "reads": "at_once: being there is reading what is said; or later",
            }),
            Node("Entity", "Something that beliefs are about, or a container.", {"name": "what"}),
            Node("Alias", "Another name for something.", {"name": "the other name"}),
            Node("Event", "One thing that happened: a line of the log, never changed.", _LINE),
            Node("Voided", "A line of the log that a later one says never happened.", _LINE),
            Node("Truth", "An event that may be what is so of its entity now: the frontier of the "
                          "log. A newer one takes the label from it when world/settle runs.",
                 {}, on="Event"),
        ),
        (
            Relationship("IN", "Agent", ("Room",), "Is there now.", {
                "since": "the seq of the event by which it came",
                "at": "when that happened, ms",
                "away": "true: what happens there does not reach it",
            }),
            Relationship("EXITED", "Agent", ("Room",), "Was there: one for every stay.", {
                "since": "the seq of the event by which it came",
                "since_at": "when that happened, ms",
                "until": "the seq of the event by which it left",
                "at": "when that happened, ms",
            }),
            Relationship("LOCATED_IN", "Entity", ("Room", "Entity"),
                         "Lies openly in a room, or unseen in a container.", {}),
            Relationship("WITNESSED", "Agent", ("Event",), "Took it in.", {
                "step": "its number among the events that reached that mind",
            }),
            Relationship("NOTICED", "Agent", ("Event",), "Saw them talk, and heard nothing.", {
                "step": "its number among the events that reached that mind",
            }),
            Relationship("READ", "Agent", ("Event",), "Read an earlier event by this one.", {}),
            Relationship("TOLD", "Agent", ("Agent",), "Passed testimony on: one for every hearer.", {
                "seq": "the event by which it was told",
                "at": "when that happened, ms",
                "entity": "what it was about",
                "value": "the value told",
                "public": "whether it was told to a room or to everyone",
                "trusted": "whether the hearer believed it",
            }),
            Relationship("MEANS", "Alias", ("Agent", "Room", "Entity"), "Is a name for.", {}),
            Relationship("ABOUT", "Event", ("Entity",), "What it gives a value of.", {}),
        ),
    ),
    "mind": Graph(
        "One an agent: what it believes, and what it thinks that others believe. The agent's own "
        "login reads this graph and no other.",
        (
            Node("Belief", "What one event left in this mind; kept when it is replaced.", {
                "entity": "what the belief is about",
                "value": "absent: unknown since then",
                "members": "the scope: the circle that shares it",
                "min_depth": "the scope: shortest chain",
                "max_depth": "the scope: longest chain; absent: any",
                "about": "the scope: only chains that end in this agent",
                "at": "when the event happened, ms since 1970",
                "step": "its number among the events that reached this mind",
                "via": "how it came: saw, said, announced, told, reported, read or forwarded",
                "source": "whose doing or saying it was",
                "room": "where",
                "text": "the words",
                "witnesses": "who took part; absent: the members",
                "until": "when a newer belief came that covers it, ms",
                "known": "since when it is held, where that is later than at, ms",
                "place": "where it competes, where that is not its step: step times a million, "
                         "and some more",
                "through": "who passed it on",
                "retracted": "[since when, step, agents …] each: it does not count for chains of these",
            }),
            Node("Aside", "Others talked, and this mind's owner heard nothing.", {
                "step": "its number among the events that reached this mind",
                "at": "when it happened, ms since 1970",
                "agents": "who talked",
                "room": "where",
            }),
            Node("Active", "A belief that an answer can still come from: the frontier, which "
                           "mind/settle keeps small.", {}, on="Belief"),
        ),
        (
            Relationship("REPLACED", "Belief", ("Belief",),
                         "The newer belief covers the older one entirely.", {}),
        ),
    ),
}
