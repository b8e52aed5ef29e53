"""What an event does to minds: one pure function, in a module without a database.

Specification of belief, "The writing rule" and "Trust". `route` is asked *after* `world.advance`
has folded the event in, and answers who witnessed it and which beliefs it leaves in which mind.
"""

from __future__ import annotations

from typing import NamedTuple

from .events import LoggedEvent
from .world import Changes, World


class Scope(NamedTuple):
    """The chains that an event reached in one mind ("Words": scope).

    A chain A>a2>…>ak in A's mind is covered when a2…ak are all in ``members`` and k is within the
    bounds; with ``about``, when k ≥ 2, ak is ``about`` and a2…a(k-1) are all in ``members``.
    """

    members: tuple[str, ...]
    min_depth: int = 1
    max_depth: int | None = None
    about: str | None = None


class Belief(NamedTuple):
    """One effect: what the event leaves in one mind. ``value`` None: it is unknown now."""

    mind: str
    scope: Scope
    entity: str
    value: str | None
    via: str  # how it came: saw, said, told, reported, announced


class Routed(NamedTuple):
    """Who took the event in, in a fixed order; and what it leaves in their minds."""

    witnesses: tuple[str, ...]
    beliefs: tuple[Belief, ...]


_VIA = {"state": "saw", "say": "said", "announce": "announced", "tell": "told", "report": "reported"}


def route(event: LoggedEvent, world: World, changes: Changes) -> Routed:
    """The witnesses of ``event`` and its effects.

    ``world`` is as it is just after the event, ``changes`` what `world.advance` said of it.
    """
    seen = witnesses(event, world, changes)
    if event.kind == "enter":
        beliefs = _in_plain_sight(event, world, seen)
    elif event.entity is None:
        beliefs = []
    elif event.kind == "tell":
        beliefs = _testimony(event, world, seen)
    elif event.kind == "report":
        beliefs = _testimony_about_a_mind(event, world, seen)
    else:
        scope = Scope(seen)
        beliefs = [_belief(event, mind, scope) for mind in seen]
    return Routed(seen, tuple(beliefs))


def witnesses(event: LoggedEvent, world: World, changes: Changes) -> tuple[str, ...]:
    """Everyone the event reaches: those in the room or named as audience, and always its actor.

    Of a movement: those who moved, and those who were or are in the room.
    """
    reached = set(event.agents)
    if event.actor is not None:
        reached.add(event.actor)
    if event.everyone:
        reached.update(world.agents)
    elif event.audience:
        reached.update(event.audience)
    else:
        rooms = {event.room}
        if event.kind == "exit":
            rooms.update(stay.room for stay in changes.left)
        for room in rooms:
            reached.update(world.in_room(room))
    return tuple(sorted(reached))


def believes_speaker(listener: str, speaker: str, world: World) -> bool:
    """Whether the scenario's policy has ``listener`` believe what ``speaker`` tells ("Trust")."""
    if world.settings.policy == "credulous":
        return True
    # exit-order (Hi-ToM, He et al. 2023): one who left before the speaker did has reason to trust.
    if world.chapter is None or listener not in world.exits:
        return world.chapter is None or listener not in world.present[world.chapter]
    left, speaker_left = world.exits[listener], world.exits.get(speaker)
    return speaker_left is None or speaker_left >= left


def _belief(event: LoggedEvent, mind: str, scope: Scope) -> Belief:
    assert event.entity is not None  # noqa: S101 - route asks only for events about an entity
    return Belief(mind, scope, event.entity, event.value, _VIA[event.kind])


def _in_plain_sight(event: LoggedEvent, world: World, seen: tuple[str, ...]) -> list[Belief]:
    """Entering a place shows all present what lies there openly; a channel shows nothing."""
    if event.room is None or world.rooms[event.room] != "place":
        return []
    present = world.in_room(event.room)
    scope = Scope(tuple(sorted(present)))
    return [
        Belief(mind, scope, entity, world.truths[entity].value, "saw")
        for entity, location in world.locations.items()
        if location.is_room and location.name == event.room and world.truths[entity].value
        for mind in seen
    ]


def _testimony(event: LoggedEvent, world: World, seen: tuple[str, ...]) -> list[Belief]:
    speaker = event.actor
    assert speaker is not None  # noqa: S101 - check_events requires it
    listeners = [mind for mind in seen if mind != speaker]
    if world.settings.policy == "credulous":
        heard, told = Scope(seen), Scope(seen, min_depth=2)
        beliefs = [_belief(event, listener, heard) for listener in listeners]
    else:
        told = Scope(seen, min_depth=2, max_depth=2)
        beliefs = [
            _belief(event, listener, Scope(tuple(sorted((listener, speaker))), 1, 2))
            for listener in listeners
            if believes_speaker(listener, speaker, world)
        ]
    # Without a listener there is no chain of depth 2 to change.
    return [*beliefs, _belief(event, speaker, told)] if listeners else []


def _testimony_about_a_mind(
    event: LoggedEvent, world: World, seen: tuple[str, ...]
) -> list[Belief]:
    """"I told Maya it is approved": what the hearers now think of her, never what she thinks."""
    speaker = event.actor
    assert speaker is not None  # noqa: S101 - check_events requires it
    scope = Scope(seen, min_depth=2, about=event.about)
    beliefs = [
        _belief(event, mind, scope)
        for mind in seen
        if mind != speaker and (mind == event.about or believes_speaker(mind, speaker, world))
    ]
    return [*beliefs, _belief(event, speaker, scope._replace(min_depth=3))]
