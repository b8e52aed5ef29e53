"""What an event does to minds: one pure function, in a module without a database.

Specification of belief, "The writing rule" and "Trust"; SEMANTICS.md where that is silent. `route`
is asked *after* `world.advance` has folded the event in, and answers whom it reached, what they
appear to one another to have taken in, and which beliefs it leaves in which mind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .events import GROUP, SPEAKING, LoggedEvent
from .world import Changes, World

ANYBODY = ""  # in an effect on whoever may read the event later: that one


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
    """One effect: what the event leaves in one mind. ``value`` None: it is unknown now.

    ``of``: the seq of an earlier event whose content it is, and in whose place it competes;
    ``through``: who passed that on.
    """

    mind: str
    scope: Scope
    entity: str
    value: str | None
    via: str  # how it came: saw, said, told, reported, announced, read, forwarded
    of: int | None = None
    through: str | None = None


class Routed(NamedTuple):
    """Whom an event reached, in a fixed order; and what it leaves in their minds."""

    witnesses: tuple[str, ...]  # who truly took it in
    beliefs: tuple[Belief, ...]
    appeared: tuple[str, ...]  # who seems to have taken it in, the others think
    outside: tuple[Belief, ...] = ()  # what it leaves in one who takes it in unseen, or reads it
    doubters: frozenset[str] = frozenset()  # who, doing so, would not believe it
    read: int | None = None  # of a reading: the event whose content was read


class Reach(NamedTuple):
    """Who truly took an event in, and who appears to have."""

    truly: tuple[str, ...]
    appeared: tuple[str, ...]


Past = Mapping[int, tuple[LoggedEvent, Routed]]  # by seq, of what came before in order
_VIA = {"state": "saw", "say": "said", "announce": "announced", "tell": "told", "report": "reported"}


def route(event: LoggedEvent, world: World, changes: Changes, past: Past | None = None) -> Routed:
    """Whom ``event`` reached, and its effects.

    ``world`` is as it is just after the event, ``changes`` what `world.advance` said of it, ``past``
    what came before it, which only an event about an earlier one needs.
    """
    if event.kind == "read":
        return _reading(event, world, changes, past or {})
    reach = _reach(event, world, changes)
    outside: list[Belief] = []
    doubters: frozenset[str] = frozenset()
    if event.kind == "enter":
        beliefs = _in_plain_sight(event, world, reach)
    elif event.kind == "forward":
        doubters = _doubters(event, world)
        beliefs, outside = _forward(event, world, reach, past or {})
    elif event.entity is None or event.speaks_as not in SPEAKING:
        beliefs = []
    elif event.speaks_as == "tell":
        doubters = _doubters(event, world)
        beliefs, outside = _testimony(event, world, reach)
    elif event.speaks_as == "report":
        doubters = _doubters(event, world)
        beliefs, outside = _testimony_about_a_mind(event, world, reach)
    else:
        scope = Scope(reach.appeared)
        beliefs = [_belief(event, mind, scope) for mind in reach.truly]
        outside = [_belief(event, ANYBODY, scope)]
    return Routed(reach.truly, tuple(beliefs), reach.appeared, tuple(outside), doubters)


def _reach(event: LoggedEvent, world: World, changes: Changes) -> Reach:
    """Everyone in the room or named as audience, and always its actor; but for attention.

    Of a movement: those who moved, and those who were or are in the room.
    """
    reached = {*event.actors, *event.agents}
    if event.everyone:
        reached.update(world.agents)
    elif event.audience:
        reached.update(name for name in event.audience if not name.startswith(GROUP))
    else:
        for room in _rooms(event, world, changes):
            reached.update(world.in_room(room))
    if not event.hidden and not event.distracted:  # as nearly always
        everybody = tuple(sorted(reached))
        return Reach(everybody, everybody)
    hidden = set(event.hidden)
    inattentive = set(event.distracted).difference(event.actors)
    truly = (reached - inattentive) | hidden
    return Reach(tuple(sorted(truly)), tuple(sorted(reached - hidden)))


def _rooms(event: LoggedEvent, world: World, changes: Changes) -> set[str]:
    """The rooms in which an event reaches whoever is there."""
    if event.kind == "exit" and event.room is None:
        return {stay.room for stay in changes.left}
    if event.kind in ("away", "back") and event.room is None:
        return {room for agent in event.agents for room in world.rooms_of(agent)}
    if event.room is None:
        return set()
    moving = event.kind in ("enter", "exit", "away", "back")
    later = world.rooms[event.room].reads == "later" and not moving
    return set() if later else {event.room}


def believes_speaker(listener: str, speaker: str, world: World) -> bool:
    """Whether the scenario's policy has ``listener`` believe what ``speaker`` tells ("Trust")."""
    if world.settings.policy == "credulous":
        return True
    # exit-order (Hi-ToM, He et al. 2023): one who left before the speaker did has reason to trust.
    if world.chapter is None or listener not in world.exits:
        return world.chapter is None or listener not in world.present[world.chapter]
    left, speaker_left = world.exits[listener], world.exits.get(speaker)
    return speaker_left is None or speaker_left >= left


def _doubters(event: LoggedEvent, world: World) -> frozenset[str]:
    """Who would not believe it, now: one who reads it later is asked as of now."""
    speaker = event.actor or ""
    if world.settings.policy == "credulous":
        return frozenset()
    return frozenset(a for a in world.agents if not believes_speaker(a, speaker, world))


def _belief(event: LoggedEvent, mind: str, scope: Scope) -> Belief:
    assert event.entity is not None  # noqa: S101 - route asks only for events about an entity
    return Belief(mind, scope, event.entity, event.value, _VIA[event.speaks_as])


def _in_plain_sight(event: LoggedEvent, world: World, reach: Reach) -> list[Belief]:
    """Entering a place shows all present what lies there openly; a channel shows nothing."""
    if event.room is None or world.rooms[event.room].kind != "place":
        return []
    scope = Scope(reach.appeared)
    return [
        Belief(mind, scope, entity, world.truths[entity].value, "saw")
        for entity, location in world.locations.items()
        if location.is_room and location.name == event.room
        and entity in world.truths and world.truths[entity].value
        for mind in reach.truly
    ]


def _testimony(
    event: LoggedEvent, world: World, reach: Reach
) -> tuple[list[Belief], list[Belief]]:
    speaker = event.actor
    assert speaker is not None  # noqa: S101 - check_events requires it
    listeners = [mind for mind in reach.truly if mind != speaker]
    if world.settings.policy == "credulous":
        heard, told = Scope(reach.appeared), Scope(reach.appeared, min_depth=2)
        beliefs = [_belief(event, listener, heard) for listener in listeners]
        outside = [_belief(event, ANYBODY, heard)]
    else:
        told = Scope(reach.appeared, min_depth=2, max_depth=2)
        beliefs = [
            _belief(event, listener, _two_of_us(listener, speaker, reach))
            for listener in listeners
            if believes_speaker(listener, speaker, world)
        ]
        outside = [_belief(event, ANYBODY, _two_of_us(ANYBODY, speaker, reach))]
    return [*beliefs, _belief(event, speaker, told)], outside


def _two_of_us(listener: str, speaker: str, reach: Reach) -> Scope:
    """Exit-order: what a hearer believes, and thinks that the speaker does, if it was seen to speak."""
    return Scope(tuple(sorted({listener} | ({speaker} & set(reach.appeared)))), 1, 2)


def _testimony_about_a_mind(
    event: LoggedEvent, world: World, reach: Reach
) -> tuple[list[Belief], list[Belief]]:
    """"I told Maya it is approved": what the hearers now think of her, never what she thinks."""
    speaker = event.actor
    assert speaker is not None  # noqa: S101 - check_events requires it
    scope = Scope(reach.appeared, min_depth=2, about=event.about)
    beliefs = [
        _belief(event, mind, scope)
        for mind in reach.truly
        if mind != speaker and (mind == event.about or believes_speaker(mind, speaker, world))
    ]
    told = _belief(event, speaker, scope._replace(min_depth=3))
    return [*beliefs, told], [_belief(event, ANYBODY, scope)]


def _forward(
    event: LoggedEvent, world: World, reach: Reach, past: Past
) -> tuple[list[Belief], list[Belief]]:
    """An earlier message, passed on: it was said, to those; and we here know now."""
    forwarder = event.actor
    assert forwarder is not None  # noqa: S101 - check_events requires it
    if event.target is None or event.target not in past or event.entity is None:
        return [], []
    original, first = past[_first(event.target, past, "forward")]

    def passed_on(mind: str, scope: Scope) -> Belief:
        return Belief(mind, scope, original.entity or "", original.value, "forwarded",
                      original.seq, forwarder)

    credulous, about = world.settings.policy == "credulous", event.about

    def here(mind: str, shallow: int) -> Scope:
        """Of us who hear it now; ``shallow``: the shortest chain."""
        if about is not None:
            return Scope(reach.appeared, shallow + 1, about=about)
        if credulous:
            return Scope(reach.appeared, shallow)
        return _two_of_us(mind, forwarder, reach) if shallow == 1 else Scope(reach.appeared, 2, 2)

    def heard(mind: str) -> list[Belief]:
        there = Scope(first.appeared, about=about)
        return [passed_on(mind, there), passed_on(mind, here(mind, 1))]

    beliefs = [
        belief
        for mind in reach.truly
        if mind != forwarder and (mind == about or believes_speaker(mind, forwarder, world))
        for belief in heard(mind)
    ]
    return [*beliefs, passed_on(forwarder, here(forwarder, 2))], heard(ANYBODY)


def _first(seq: int, past: Past, kind: str) -> int:
    """What is edited, or passed on, in the end: through others of the kind, the first."""
    while seq in past and past[seq][0].kind == kind:
        seq = past[seq][0].target or 0
    return seq


def newest_edit(target: int, past: Past) -> int:
    """The event whose content one finds in the place of another: its newest edit, or itself."""
    first = _first(target, past, "edit")
    edits = [
        event.order
        for event, _ in past.values()
        if event.kind == "edit" and _first(event.seq, past, "edit") == first
    ]
    return max(edits, default=(0, first))[1]


def _reading(event: LoggedEvent, world: World, changes: Changes, past: Past) -> Routed:
    """An earlier event taken in late, by its readers; and who sees that they did."""
    if event.target is None or event.target not in past:
        reached = tuple(sorted(event.agents))
        return Routed(reached, (), reached)
    target, first = past[newest_edit(event.target, past)]
    readers = set(event.agents)
    seen = {*_reach(event, world, changes).truly, *(first.witnesses if event.receipt else ())}
    shown = set(first.appeared) if event.receipt else seen
    before = {
        reader
        for earlier, routed in past.values()
        if earlier.kind == "read" and routed.read == target.seq
        for reader in earlier.agents
    }
    beliefs: list[Belief] = []
    for reader in sorted(readers - set(first.witnesses)):
        beliefs += _as_read(first, reader, target.seq)
    members = (shown & set(first.appeared)) | readers
    visible = event.receipt or event.room is not None or bool(event.audience)
    for mind in sorted(seen if visible else ()):
        own = [b for b in first.beliefs if b.mind == mind]
        if not own and mind in readers | before:
            own = _as_read(first, mind, target.seq)
        if target.kind == "forward":
            own = own[-1:]  # of those who heard it passed on, not of who heard it first
        beliefs += [
            b._replace(scope=b.scope._replace(members=tuple(sorted(members))), via="read",
                       of=b.of or target.seq)
            for b in own
        ]
    reached = tuple(sorted(seen))
    return Routed(reached, tuple(beliefs), reached, read=target.seq)


def _as_read(routed: Routed, reader: str, seq: int) -> list[Belief]:
    """What an event would have left in one who had taken it in unseen."""
    found = []
    for belief in routed.outside:
        if reader in routed.doubters and belief.scope.about != reader:
            continue
        # Those who took part do not know of it, and so not what it makes of what they think. (Who
        # first heard what was passed on is another circle: it stands as it was.)
        took_part = belief is routed.outside[-1]
        members = tuple(
            m for m in belief.scope.members if m != ANYBODY and not (took_part and m == reader)
        )
        found.append(belief._replace(
            mind=reader, scope=belief.scope._replace(members=members), via="read",
            of=belief.of or seq,
        ))
    return found


