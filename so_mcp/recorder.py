"""Recording: one event, one transaction, from the caller's list to every mind it reaches.

The world is read under WATCH, the pure functions say what the event changes, and everything is
written in one MULTI. Between calls a copy of the world is kept *for writing only*: it counts as
current exactly while the scenario's event counter, read under the watch, still has the number it
had; no answer is ever given from it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from zlib import crc32

from .database import Call, Conflict, Database, Row, Transaction
from .embedded import FORMAT
from .errors import ConflictError, ConnectionLostError, InvalidEventError, StoreError
from .events import Event, LoggedEvent, check_events
from .names import counters_key, mind_key, near_names, shown, world_key
from .route import Belief, Routed, route
from .world import Changes, Location, Settings, Stay, Truth, World, advance

SETTLE_EVERY = 32  # events; reads look at no more than this many beliefs beyond the frontier
_ATTEMPTS = 200
_SEQ, _AT = "seq", "at"
_MIND = "mind:"


@dataclass(slots=True)
class Recorded:
    """What one event became. ``again``: its id had been recorded before; nothing was written."""

    event: LoggedEvent
    witnesses: tuple[str, ...]
    again: bool = False


@dataclass(slots=True)
class Record:
    """What a call of `Recorder.record` did, and which names it made.

    ``near`` holds, for a name that was made, existing names that it may be a slip of.
    """

    events: list[Recorded] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    near: dict[str, list[str]] = field(default_factory=dict)


class Recorder:
    """Writes the events of one scenario."""

    def __init__(
        self,
        database: Database,
        scenario: str,
        settings: Settings | None,
        lifetime: int | None = None,
    ) -> None:
        """``settings`` None: those the scenario has, or the defaults for a new one.

        ``lifetime``: of a fork, the seconds after which minds made in it go by themselves.
        """
        self._lifetime = lifetime
        self._database = database
        self._scenario = scenario
        self._settings = settings
        self._world_key = world_key(scenario)
        self._counters_key = counters_key(scenario)
        self._world: World | None = None

    def record(self, events: Iterable[Event | Mapping[str, Any]]) -> Record:
        """Record events in order, each whole or not at all; see `Memory.record`."""
        checked = check_events(events)
        record = Record()
        if not checked:
            return record
        now = time.time_ns() // 1_000_000
        self._refuse_the_past(checked)
        self._rehearse(checked, now)
        for event in checked:
            self._record_one(event, now, record)
        return record

    def prepare(self) -> None:
        """Make the scenario if it does not exist; raises `ConflictError` for other settings."""
        self._retrying(self._current_world)

    def world(self) -> World:
        """The world as it is now, read from the database."""
        self._world = None
        return self._retrying(self._current_world)

    def _refuse_the_past(self, events: Sequence[LoggedEvent]) -> None:
        dated = [(index, event) for index, event in enumerate(events) if event.at >= 0]
        for (_, before), (index, event) in pairwise(dated):
            if event.at < before.at:
                raise InvalidEventError(
                    f"events[{index}].happened_at: expected a time at or after that of the event "
                    f"before it ({before.at}), got {event.at}. Give events in the order in which "
                    "they happened."
                )

    def _rehearse(self, events: Sequence[LoggedEvent], now: int) -> None:
        """Run a batch on a copy of the world first, so that none of a wrong batch is written."""
        if len(events) == 1:
            return  # its own transaction looks before it writes

        def rehearse(transaction: Transaction) -> None:
            world = _copy(self._current_world(transaction))
            ids = [event.id for event in events if event.id is not None]
            again = {event.id for event in self._recorded_under(transaction, ids)}
            transaction.unwatch()
            for index, event in enumerate(events):
                if event.id in again:
                    continue
                try:
                    advance(world, _numbered(event, world, now))
                except (ConflictError, InvalidEventError) as error:
                    raise type(error)(f"events[{index}].{error}") from None

        self._retrying(rehearse)

    def _record_one(self, event: LoggedEvent, now: int, record: Record) -> None:
        def attempt(transaction: Transaction) -> None:
            world = self._current_world(transaction)
            if event.id is not None and self._again(transaction, event, record):
                transaction.unwatch()
                return
            numbered = _numbered(event, world, now)
            known = Record(agents=list(world.agents), rooms=list(world.rooms),
                           entities=list(world.entities)) if _names_new(event, world) else None
            self._world = None  # not current again before the commit has succeeded
            changes = advance(world, numbered)
            routed = route(numbered, world, changes)
            for agent in routed.witnesses:
                world.agents[agent] += 1
            calls = self._calls(numbered, world, changes, routed)
            counters = {_SEQ: numbered.seq, _AT: numbered.at}
            counters.update({_MIND + agent: world.agents[agent] for agent in routed.witnesses})
            made = [mind_key(self._scenario, agent) for agent in changes.agents]
            lifetimes = None if self._lifetime is None else dict.fromkeys(made, self._lifetime)
            transaction.commit(counters, calls, lifetimes)
            self._world = world
            record.events.append(Recorded(numbered, routed.witnesses))
            if known is not None:
                _note_names(record, changes, known)

        self._retrying(attempt)

    def _retrying[T](self, attempt: Callable[[Transaction], T]) -> T:
        lost = False
        for number in range(_ATTEMPTS):
            try:
                with self._database.transaction(self._counters_key) as transaction:
                    return attempt(transaction)
            except ConnectionLostError:
                if lost:
                    raise
                lost = True  # nothing was being committed: look once more
            except Conflict:
                self._world = None
                # Jitter spreads the writers; the bound keeps a loser from waiting for long.
                time.sleep(random.uniform(0, min(0.0005 * 2**number, 0.02)))  # noqa: S311
        raise StoreError(
            f"scenario {shown(self._scenario)}: other writers changed it {_ATTEMPTS} times in a "
            "row while this event waited. Nothing of it was written; record it again."
        )

    def _recorded_under(
        self, transaction: Transaction, ids: Sequence[str | None]
    ) -> list[LoggedEvent]:
        if not ids:
            return []
        call = Call(self._world_key, "world/events_by_id", {"ids": list(ids)})
        [found] = transaction.read_all([call])
        return [logged_event(row) for row in found]

    def _again(self, transaction: Transaction, event: LoggedEvent, record: Record) -> bool:
        found = self._recorded_under(transaction, [event.id])
        if not found:
            return False
        [earlier] = found
        same = replace(event, seq=earlier.seq, at=earlier.at if event.at < 0 else event.at)
        if same != earlier:
            different = next(
                name for name in LoggedEvent.__slots__
                if getattr(same, name) != getattr(earlier, name)
            )
            raise ConflictError(
                f"id: {shown(str(event.id))} was recorded before with another {different} "
                f"({getattr(earlier, different)!r}, now {getattr(same, different)!r}). "
                "Give a new event a new id."
            )
        record.events.append(Recorded(earlier, (), again=True))
        return True

    def _current_world(self, transaction: Transaction) -> World:
        counters = transaction.watch()
        if not counters:
            self._create(transaction)
            counters = transaction.watch()
        if self._world is None or self._world.seq != counters[_SEQ]:
            self._world = self._read_world(transaction, counters)
        return self._world

    def _create(self, transaction: Transaction) -> None:
        settings = self._settings or Settings()
        calls = [
            Call(self._world_key, f"world/index_{what}", {})
            for what in ("agent", "room", "entity", "event")
        ]
        created = {"name": self._scenario, "policy": settings.policy, "rooms": settings.rooms,
                   "format": FORMAT}
        transaction.commit({_SEQ: 0}, [*calls, Call(self._world_key, "world/create", created)])

    def _read_world(self, transaction: Transaction, counters: Mapping[str, int]) -> World:
        names = ("scenario", "agents", "rooms", "entities", "presence", "departures", "locations")
        calls = [Call(self._world_key, f"world/{name}", {}) for name in names]
        calls.append(Call(self._world_key, "world/truths", {"entity": None}))
        scenario, agents, rooms, entities, presence, departures, locations, truths = (
            transaction.read_all(calls)
        )
        [row] = scenario
        settings = Settings(row["policy"], row["rooms"])
        if self._settings is not None and self._settings != settings:
            raise ConflictError(
                f"scenario {shown(self._scenario)}: it was made with {settings}, and "
                f"{self._settings} was asked for. Leave the settings out, or use a new name."
            )
        world = World(settings, chapter=row["chapter"], chapter_since=row["chapter_since"] or 0)
        world.agents = {row["name"]: counters.get(_MIND + row["name"], 0) for row in agents}
        world.rooms = {row["name"]: row["kind"] for row in rooms}
        world.entities = {row["name"]: None for row in entities}
        world.present = {room: {} for room in world.rooms}
        for row in presence:
            stay = Stay(row["agent"], row["room"], row["since"], since_at=row["since_at"])
            world.present[stay.room][stay.agent] = stay
        for row in departures:
            if world.chapter is not None and row["agent"] not in world.present[world.chapter]:
                world.exits[row["agent"]] = row["until"]
        world.locations = {row["entity"]: Location(row["name"], row["is_room"]) for row in locations}
        world.truths = {row["entity"]: Truth(row["value"], row["at"], row["seq"]) for row in truths}
        world.seq = counters[_SEQ]
        world.at = counters.get(_AT, 0)
        return world

    def _calls(
        self, event: LoggedEvent, world: World, changes: Changes, routed: Routed
    ) -> list[Call]:
        """Everything that one event writes, world first."""
        here = self._world_key
        calls = [Call(here, "world/name_agent", {"name": name}) for name in changes.agents]
        calls += [
            Call(mind_key(self._scenario, name), "mind/create", {}) for name in changes.agents
        ]
        calls += [
            Call(here, "world/name_room", {"name": name, "kind": kind})
            for name, kind in changes.rooms
        ]
        calls += [Call(here, "world/name_entity", {"name": name}) for name in changes.entities]
        calls.append(self._log(event, world, routed.witnesses))
        if event.kind == "tell":
            calls.append(self._told(event, routed))
        for stay in changes.left:
            calls.append(Call(here, "world/leave", {
                "agent": stay.agent, "room": stay.room, "since": stay.since,
                "since_at": stay.since_at, "until": stay.until, "at": stay.until_at,
            }))
        for stay in changes.entered:
            calls.append(Call(here, "world/enter", {
                "agent": stay.agent, "room": stay.room, "since": stay.since, "at": stay.since_at,
            }))
        if changes.located is not None:
            where = "room" if changes.located.is_room else "container"
            calls.append(Call(here, f"world/locate_in_{where}", {
                "entity": event.entity, "name": changes.located.name,
            }))
        if changes.chapter:
            calls.append(Call(here, "world/begin_chapter", {
                "place": world.chapter, "since": world.chapter_since,
            }))
        calls += [
            Call(mind_key(self._scenario, belief.mind), "mind/believe",
                 belief_row(belief, event, world.agents[belief.mind], routed.witnesses))
            for belief in routed.beliefs
        ]
        return calls + self._settling(event, world, routed.witnesses)

    def _told(self, event: LoggedEvent, routed: Routed) -> Call:
        believers = {b.mind for b in routed.beliefs if b.scope.min_depth == 1}
        listeners = [[a, a in believers] for a in routed.witnesses if a != event.actor]
        public = event.everyone or not event.audience
        return Call(self._world_key, "world/told", {
            "speaker": event.actor, "listeners": listeners, "seq": event.seq, "at": event.at,
            "entity": event.entity, "value": event.value, "public": public,
        })

    def _settling(self, event: LoggedEvent, world: World, witnesses: tuple[str, ...]) -> list[Call]:
        due = [
            Call(mind_key(self._scenario, agent), "mind/settle",
                 {"since": world.agents[agent] - SETTLE_EVERY})
            for agent in witnesses
            # Each mind in its own turn: those who always witness together would all come due at once.
            if (world.agents[agent] + crc32(agent.encode())) % SETTLE_EVERY == 0
        ]
        if event.seq % SETTLE_EVERY == 0:
            since = {"since": event.seq - SETTLE_EVERY}
            due.append(Call(self._world_key, "world/settle", since))
        return due

    def _log(self, event: LoggedEvent, world: World, witnesses: tuple[str, ...]) -> Call:
        params: dict[str, Any] = {
            name: getattr(event, name) for name in LoggedEvent.__slots__
        }
        params["agents"] = list(event.agents)
        params["audience"] = list(event.audience)
        params["witnesses"] = [[agent, world.agents[agent]] for agent in witnesses]
        query = "world/log_truth" if event.sets_truth else "world/log"
        return Call(self._world_key, query, params)


def belief_row(
    belief: Belief, event: LoggedEvent, step: int, witnesses: tuple[str, ...]
) -> dict[str, Any]:
    """A belief as the mind's graph holds it; ``step`` is the mind's own number of the event."""
    scope = belief.scope
    return {
        "entity": belief.entity,
        "value": belief.value,
        "members": list(scope.members),
        "min_depth": scope.min_depth,
        "max_depth": scope.max_depth,
        "about": scope.about,
        "at": event.at,
        "step": step,
        "via": belief.via,
        "source": event.actor,
        "room": event.room,
        "text": event.text,
        "witnesses": None if scope.members == witnesses else list(witnesses),
    }


def logged_event(row: Row) -> LoggedEvent:
    """An event as the log's queries return it."""
    return LoggedEvent(**{**row, "agents": tuple(row["agents"]), "audience": tuple(row["audience"])})


def _numbered(event: LoggedEvent, world: World, now: int) -> LoggedEvent:
    """Give an event its place: after all that is recorded."""
    if 0 <= event.at < world.at:
        raise InvalidEventError(
            f"happened_at: expected a time at or after that of the newest event ({world.at}), got "
            f"{event.at}. Events are recorded in the order in which they happened."
        )
    # A clock that was set back must not put an event before those it came after.
    return replace(event, seq=world.seq + 1, at=event.at if event.at >= 0 else max(now, world.at))


def _copy(world: World) -> World:
    return replace(
        world,
        agents=dict(world.agents),
        rooms=dict(world.rooms),
        entities=dict(world.entities),
        present={room: dict(stays) for room, stays in world.present.items()},
        truths=dict(world.truths),
        locations=dict(world.locations),
        exits=dict(world.exits),
    )


def _names_new(event: LoggedEvent, world: World) -> bool:
    return (
        any(name not in world.agents for name in event.named_agents())
        or (event.room is not None and event.room not in world.rooms)
        or (event.entity is not None and event.entity not in world.entities)
        or (event.located_in is not None and event.located_in not in world.rooms)
    )


def _note_names(record: Record, changes: Changes, known: Record) -> None:
    rooms = [name for name, _ in changes.rooms]
    for made, before, noted in (
        (changes.agents, known.agents, record.agents),
        (rooms, known.rooms, record.rooms),
        (changes.entities, known.entities, record.entities),
    ):
        for name in made:
            noted.append(name)
            if near := near_names(name, before):
                record.near[name] = near
