"""Where an event stands: its number, its time, its names in canonical form. Pure.

An event comes after all that is recorded, unless it says that it happened earlier, or voids what
was recorded: then what came before it changes, and the log is folded with it in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from .errors import ConflictError, InvalidEventError
from .events import LoggedEvent
from .names import shown
from .projection import Projection, project
from .vocabulary import NewNames, canonical, new_names, refuse_new
from .world import World, name_all

_CLOCKS_APART = 60_000  # ms


def rewrites(
    events: Iterable[LoggedEvent], world: World, earlier: Collection[str], now: int
) -> bool:
    """Whether one of these changes what came before: it is late, or voids what was recorded.

    ``earlier``: the ids of those that were recorded before, and will not be again.
    """
    at = world.at
    for event in events:
        if event.id is not None and event.id in earlier:
            continue
        if event.kind == "void" or 0 <= event.at < at:
            return True
        at = max(at, event.at if event.at >= 0 else now)
    return False


def place(event: LoggedEvent, world: World, now: int) -> LoggedEvent:
    """Give an event its names, its number, and where it has none, its time: after all there is."""
    event = canonical(event, world)
    if world.strict and (new := new_names(event, world)):
        refuse_new(new, world)
    if event.at < 0 and world.at > now + _CLOCKS_APART:
        raise InvalidEventError(
            f"happened_at: is missing, and the newest event ({world.at}) lies in the future, so the "
            "time of recording would not come after it. Give the event its own time."
        )
    # A clock that was set back must not put an event before those it came after.
    return replace(event, seq=world.seq + 1, at=event.at if event.at >= 0 else max(now, world.at))


def place_late(
    events: Sequence[LoggedEvent],
    start: int | None,
    world: World,
    log: Sequence[LoggedEvent],
    earlier: dict[str, LoggedEvent],
    now: int,
) -> tuple[list[tuple[LoggedEvent, bool]], NewNames, Projection]:
    """The events in their places (with whether each was there before), and the log with them."""
    world = world.copy()
    lines = {event.seq: event for event in log}
    by_id = {event.id: event.seq for event in log if event.id is not None}
    placed: list[tuple[LoggedEvent, bool]] = []
    new: NewNames = {}
    for index, given in enumerate(events, start or 0):
        try:
            event = _aimed(given, lines, by_id)
            again = earlier.get(event.id) if event.id is not None else None
            if again is not None:
                refuse_another(canonical(event, world), again)
                placed.append((again, True))
                continue
            event = place(event, world, now)
            new |= new_names(event, world)
        except (ConflictError, InvalidEventError) as error:
            if start is None:
                raise
            raise type(error)(f"events[{index}].{error}") from None
        name_all(world, replace(event, place=None))  # what a room is, the fold decides
        world.seq, world.at = event.seq, max(world.at, event.at)
        lines[event.seq] = event
        if event.id is not None:
            earlier[event.id], by_id[event.id] = event, event.seq
        placed.append((event, False))
    return placed, new, project(lines.values(), world.settings)


def _aimed(
    event: LoggedEvent, lines: Mapping[int, LoggedEvent], by_id: Mapping[str, int]
) -> LoggedEvent:
    """The event with the number of the one that it is about, which may be given by its id."""
    if event.aim is None:
        return event
    target = by_id.get(event.aim) if isinstance(event.aim, str) else event.aim
    if target not in lines:
        newest = f"The newest is {max(lines)}." if lines else "There is none yet."
        raise InvalidEventError(
            f"event: no event has the {'id' if isinstance(event.aim, str) else 'number'} "
            f"{event.aim!r:.80}. {newest} The timeline names them."
        )
    return replace(event, target=target, aim=None)


def refuse_another(event: LoggedEvent, earlier: LoggedEvent) -> None:
    """Raise `ConflictError` when an id was recorded before with something else."""
    same = replace(event, seq=earlier.seq, at=earlier.at if event.at < 0 else event.at)
    if same == earlier:
        return
    different = next(
        name for name in LoggedEvent.__slots__ if getattr(same, name) != getattr(earlier, name)
    )
    raise ConflictError(
        f"id: {shown(str(event.id))} was recorded before with another {different} "
        f"({getattr(earlier, different)!r}, now {getattr(same, different)!r}). "
        "Give a new event a new id."
    )
