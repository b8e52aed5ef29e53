"""Where an event stands: its number, its time, its names in canonical form. Pure.

An event comes after all that is recorded, unless it says that it happened earlier, or voids what
was recorded: then what came before it changes, and the log is folded with it in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from .errors import ConflictError, InvalidEventError
from .events import BACKWARDS, SPEAKING, LoggedEvent
from .names import shown
from .past import Past
from .vocabulary import NewNames, canonical, new_names, refuse_new
from .world import World, name_all

_CLOCKS_APART = 60_000  # ms


def rewrites(
    events: Iterable[LoggedEvent], world: World, earlier: Collection[str], now: int
) -> bool:
    """Whether one of these changes what is there: it is late, or takes back what was recorded.

    ``earlier``: the ids of those that were recorded before, and will not be again.
    """
    at = world.at
    for event in events:
        # What one recorded again is about has to be found, to see whether it is the same.
        if event.id is not None and event.id in earlier and event.kind not in BACKWARDS:
            continue
        if event.kind in ("void", "retract") or 0 <= event.at < at:
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
    past: Past,
    earlier: dict[str, LoggedEvent],
    now: int,
) -> tuple[list[tuple[LoggedEvent, bool]], NewNames, dict[int, LoggedEvent]]:
    """The events in their places (with whether each was there before), and the log with them."""
    world, lines, by_id = world.copy(), dict(past.lines), dict(past.ids)
    placed: list[tuple[LoggedEvent, bool]] = []
    new: NewNames = {}
    for index, given in enumerate(events, start or 0):
        try:
            event = aimed(given, lines, by_id)
            again = earlier.get(event.id) if event.id is not None else None
            if again is not None:
                refuse_another(canonical(event, world), again)
                placed.append((again, True))
                continue
            event = place(event, world, now)
            refuse_before(event, lines)
            new |= new_names(event, world)
        except (ConflictError, InvalidEventError) as error:
            if start is None:
                raise
            raise type(error)(f"events[{index}].{error}") from None
        # What a room is, the fold decides.
        name_all(world, replace(event, place=None, history=None, reads=None))
        world.seq, world.at = event.seq, max(world.at, event.at)
        lines[event.seq] = event
        if event.id is not None:
            earlier[event.id], by_id[event.id] = event, event.seq
        placed.append((event, False))
    return placed, new, lines


def aimed(
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
    return _about(replace(event, target=target, aim=None), lines)


def _about(event: LoggedEvent, lines: Mapping[int, LoggedEvent]) -> LoggedEvent:
    """The event with what it takes from the one that it is about."""
    if event.kind == "void":
        return event
    target = first = lines[event.target or 0]
    while first.kind == "edit":  # editing an edit edits what was first said
        first = lines[first.target or 0]
    if event.kind == "edit":
        target = first
    allowed = SPEAKING if event.kind == "edit" else (*SPEAKING, "edit", "forward")
    if target.kind not in allowed:
        raise InvalidEventError(
            f"event: expected one by which something was said ({', '.join(allowed)}), and event "
            f"{target.seq} is of kind '{target.kind}'. {_INSTEAD.get(event.kind, '')}".rstrip()
        )
    if event.kind == "edit" and event.value is not None and target.entity is None:
        raise InvalidEventError(
            f"value: event {target.seq}, which this edits, gives a value to nothing. Edit its text."
        )
    event = replace(event, entity=target.entity)
    if event.kind == "edit":
        value = first.value if event.value is None else event.value
        return replace(event, value=value, edits=first.kind, about=first.about)
    if event.kind == "forward":
        return replace(event, value=target.value, about=target.about)
    return event


_INSTEAD = {"retract": "If that never happened, void it; else say again what holds."}


def refuse_before(event: LoggedEvent, lines: Mapping[int, LoggedEvent]) -> None:
    """Raise `InvalidEventError` for one that happened before what it is about."""
    if event.kind not in BACKWARDS or event.kind == "void":
        return
    target = lines[event.target or 0]
    if target.order > event.order:
        raise InvalidEventError(
            f"happened_at: expected a time at or after that of event {target.seq}, which this is "
            f"about ({target.at}), got {event.at}."
        )


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
