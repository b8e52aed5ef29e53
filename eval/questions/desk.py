"""A support desk whose story is being written: who is there, what it is about, what came so far.

A writer looks at what has happened by the reference model, so that people speak where they are and
read what they may read. The engine has no part in it.
"""

from typing import NamedTuple

from .dice import Dice
from .reference import new_reference
from .story import Event

STAFF = ("Billing", "Finance", "Shipping", "Escalation", "Legal", "Lead")
CUSTOMERS = ("Maya", "Omar", "Lena")
FACTS = {
    "refund": ("requested", "approved", "rejected", "paid", "on hold"),
    "address": ("12 Elm Street", "7 Oak Lane", "3 Mill Road", "9 Hill Way", "1 Low Street"),
    "delivery": ("today", "tomorrow", "Thursday", "Friday", "next week"),
    "discount": ("none", "5 %", "10 %", "15 %", "20 %"),
}
THINGS = {"lamp": ("shelf", "drawer", "bench", "window", "trolley")}
CONTAINERS = ("crate", "locker")  # what lies in them is not in plain sight
INBOX = "inbox"  # a room that is read later
TEAMS = ("@team", "@night")
HISTORIES = ("none", "since_join", "all")
_MORNING = 1_772_442_000_000  # 2026-03-02T09:00Z
MINUTE = 60_000
_KNOWN_BY_NAME = 0.6  # how many events have an id


class Room(NamedTuple):
    """What a room is."""

    place: bool
    later: bool


class Desk:
    """One scenario, recorded event by event. ``themes`` say what its story is rich in."""

    def __init__(
        self, number: int, dice: Dice, settings: dict[str, str], themes: frozenset[str]
    ) -> None:
        self.dice = dice
        self.settings = settings
        self.themes = themes
        self.staff = dice.some(STAFF, 4, 4)
        self.customers = dice.some(CUSTOMERS, 2)
        self.people = [*self.staff, *self.customers]
        self.rooms: dict[str, Room] = {}
        facts = dice.some(tuple(FACTS), 3, 2)
        things = THINGS if "places" in themes else {}
        self.things = [f"{name}_{4000 + number}" for name in things]
        self.values = {f"{name}_{4000 + number}": (FACTS | THINGS)[name] for name in (*facts, *things)}
        self.events: list[Event] = []
        self.away: set[tuple[str, str]] = set()
        self.contains: set[str] = set()
        self.first = 0  # the time from which on events may be recorded late
        self.now = _MORNING
        self.told = new_reference(settings, max_depth=2)

    def record(self, event: Event, at: int | None = None) -> None:
        """Append an event: now, a little after the one before, or late, for a time in the past."""
        if at is None:
            self.now += self.dice.between(0, 5) * MINUTE
        number = len(self.events) + 1
        named = {"id": f"e{number}"} if self.dice.chance(_KNOWN_BY_NAME) else {}
        event = {**named, "happened_at": self.now if at is None else at, **event}
        self.told.record(event)
        self.events.append(event)

    # What a writer looks at

    @property
    def entities(self) -> list[str]:
        """What the story is about."""
        return list(self.values)

    @property
    def halls(self) -> list[str]:
        """The rooms that are no groups."""
        return [room for room in self.rooms if room not in TEAMS]

    @property
    def teams(self) -> list[str]:
        """The groups."""
        return [room for room in self.rooms if room in TEAMS]

    def inside(self, room: str) -> list[str]:
        """Who is in a room now."""
        stays = {person: self.told.stays(person, room) for person in self.people}
        return [person for person, seen in stays.items() if seen and seen[-1][1] is None]

    def others(self, *people: str) -> list[str]:
        """Everybody else."""
        return [person for person in self.people if person not in people]

    def event(self, number: int) -> Event:
        """An event by its number."""
        return self.events[number - 1]

    def name_of(self, number: int) -> int | str:
        """What an event is called by one that refers to it: its number, or its id."""
        name: int | str = self.event(number).get("id", number)
        return number if self.dice.chance(0.25) else name

    def number_of(self, name: int | str) -> int:
        """The number of an event, by what it is called."""
        if isinstance(name, int):
            return name
        return next(n for n, event in enumerate(self.events, 1) if event.get("id") == name)

    def first_said(self, number: int) -> Event:
        """What was said first: of an edit or a forward, what that is of."""
        event = self.event(number)
        while event["kind"] in ("edit", "forward"):
            event = self.event(self.number_of(event["event"]))
        return event

    def another_value(self, entity: str, than: str | None) -> str:
        """A value that it could have instead."""
        return self.dice.pick([value for value in self.values[entity] if value != than])
