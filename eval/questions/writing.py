"""Stories of support desks: a seed and a number give one, always the same."""

from itertools import product

from . import happenings as h
from .desk import MINUTE, Desk
from .dice import Dice
from .drawing import questions
from .story import Event, Story

SETTINGS = [
    {"policy": policy, "rooms": rooms, "history": history, "reads": reads}
    for policy, rooms, history, reads in product(
        ("credulous", "exit-order"), ("channel", "place"), ("since_join", "none", "all"),
        ("at_once", "later"),
    )
]
"""Stories take these in turn."""

ALWAYS: dict[h.Happening, float] = {h.decide: 4, h.tell: 3, h.find: 2, h.come: 2, h.go: 1}
THEMES: dict[str, dict[h.Happening, float]] = {
    "mail": {h.read: 4},
    "reading": {h.read: 4},
    "edits": {h.edit: 3, h.read: 1},
    "retractions": {h.retract: 3},
    "forwards": {h.forward: 3},
    "voids": {h.void: 2},
    "lies": {h.tell: 2},
    "reports": {h.report: 3},
    "announcements": {h.announce: 2},
    "places": {h.find: 3, h.come: 2, h.go: 2},
    "groups": {h.join_or_leave_a_team: 2},
    "absence": {h.step_away: 3, h.come_back: 2},
    "distraction": {},
    "eavesdropping": {},
    "asides": {h.chat: 1},
    "late": {},
}
"""What a story may be rich in, and which happenings that makes likely."""

_THEMES_A_STORY = 7
_LATE = 0.25  # of the events of a story with late ones


def story(seed: int, number: int) -> Story:
    """Story ``number`` of a seed, with its questions; no other story matters to it."""
    dice = Dice(seed, number)
    settings = SETTINGS[number % len(SETTINGS)]
    themes = set(dice.some(tuple(THEMES), _THEMES_A_STORY, _THEMES_A_STORY))
    if "place" in settings.values() or settings["policy"] == "exit-order":
        themes.add("places")  # trust depends on who left a place when
    if settings["reads"] == "later":
        themes.add("reading")
    desk = Desk(number, dice, settings, frozenset(themes))
    _write(desk)
    contains = contents(desk)
    asked = questions(dice, desk, contains, len(desk.rooms))
    return Story(f"{seed}-{number}", settings, contains, desk.events, asked)


def _write(desk: Desk) -> None:
    for event in h.opening(desk):
        desk.record(event)
    desk.first = desk.now = desk.now + MINUTE
    for _ in desk.entities:
        desk.record(h.with_attention(desk, h.happen(desk, {h.decide: 2, h.find: 1})))
    weights = dict(ALWAYS)
    for theme in sorted(desk.themes):
        for happening, weight in THEMES[theme].items():
            weights[happening] = weights.get(happening, 0) + weight
    owed = [happening for theme in sorted(desk.themes) for happening in THEMES[theme]]
    for _ in range(desk.dice.between(12, 22)):
        _record(desk, h.happen(desk, weights))
    for happening in dict.fromkeys(owed):  # whatever a story is about does happen in it
        if (owing := happening(desk)) is not None:
            _record(desk, h.with_attention(desk, owing))


def _record(desk: Desk, event: Event) -> None:
    """Record it, now or late: for a time since the opening and since what it is about."""
    if "late" not in desk.themes or event["kind"] == "void" or not desk.dice.chance(_LATE):
        desk.record(event)
        return
    earliest = desk.first
    if "event" in event:
        earliest = max(earliest, desk.event(desk.number_of(event["event"]))["happened_at"])
    at = desk.now - desk.dice.between(0, (desk.now - earliest) // MINUTE) * MINUTE
    if at < desk.now:
        desk.contains.add("a late event")
    desk.record(event, at)


def contents(desk: Desk) -> tuple[str, ...]:
    """What a story contains: its kinds of events, and what is special about some."""
    found = set(desk.contains)
    if desk.settings["policy"] == "exit-order":
        found.add("exit-order")
    if any(room.later for room in desk.rooms.values()):
        found.add("read later")
    for event in desk.events:
        found.add(event["kind"])
        found |= {key for key in ("distracted", "hidden", "noticed", "receipt") if key in event}
        names = [name for field in ("agents", "audience", "listeners", "distracted")
                 for name in event.get(field, ())]
        if any(name.startswith("@") for name in (*names, event.get("room", ""))):
            found.add("a group")
        if event["kind"] == "read" and ("room" in event or "audience" in event):
            found.add("an acknowledgement")
        if event["kind"] == "say" and "entity" not in event:
            found.add("words alone")
        if event["kind"] in ("say", "state") and "entity" in event and event["value"] is None:
            found.add("no longer known")
        room = desk.rooms.get(event.get("located_in", ""))
        if "located_in" in event:
            found.add("in a container" if room is None else "in plain sight")
    return tuple(sorted(found))
