"""Recording: from the caller's list to every mind that its events reach.

The world is read under WATCH, the pure functions say what events change, and everything is written
in one MULTI: an event is there whole or not at all, and so is a piece of up to `PIECE` events of one
call. Between calls a copy of the world is kept *for writing only*: it counts as current exactly
while the scenario's event counter and epoch, read under the watch, are still those it was read at;
no answer is ever given from it. The epoch is random, and new whenever a scenario is made or changed
by anything but an event: after a reset, the same number is not the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from .database import Call, Conflict, Database, Transaction, Turn
from .embedded import FORMAT
from .errors import (
    ConflictError,
    ConnectionLostError,
    InvalidEventError,
    SecondOrderError,
    StoreError,
)
from .events import Event, LoggedEvent, check_events
from .log import log_calls, log_of
from .names import EPOCH, counters_key, mind_key, name_of, new_epoch, shown, turn_key, world_key
from .placing import place, place_late, refuse_another, rewrites
from .progress import Progress, silent
from .projection import changed, project, tables
from .reading import AT, MIND, SEQ, counters_of, read_world
from .rewrite import difference, rewriting
from .route import route
from .vocabulary import NewNames, canonical, near_to, new_names
from .world import Settings, World, advance
from .writes import Done, event_calls, logged_event

PIECE = 32  # events; queries of one MULTI hold up everybody else
_CONFLICTS_BEFORE_A_TURN = 5
_PATIENCE = 30.0  # seconds


@dataclass(slots=True)
class Recorded:
    """What one event became.

    ``again``: its id had been recorded before; nothing was written. ``late``: others that were
    recorded before had happened after it, so what came of them was projected again.
    """

    event: LoggedEvent
    witnesses: tuple[str, ...]
    again: bool = False
    late: bool = False


class _Step(NamedTuple):
    """What one event of a batch does; nothing, where it was recorded before."""

    recorded: Recorded
    done: Done | None = None
    new: NewNames | None = None


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

    def note(self, new: NewNames, world: World) -> None:
        """Add the names that an event made in ``world``."""
        made = {"agent": self.agents, "room": self.rooms, "entity": self.entities}
        for kind, name in new:
            made[kind].append(name)
            if near := near_to(name, kind, new, world):
                self.near[name] = near


class Recorder:
    """Writes the events of one scenario."""

    def __init__(
        self, database: Database, scenario: str, asked: Mapping[str, Any],
        lifetime: int | None = None,
    ) -> None:
        """``asked``: those of the `Settings` that the scenario must have, or is made with.

        ``lifetime``: of a fork, the seconds after which minds made in it go by themselves.
        """
        self._lifetime = lifetime
        self._database = database
        self._scenario = scenario
        self._asked = asked
        self._world_key = world_key(scenario)
        self._counters_key = counters_key(scenario)
        self._world: World | None = None

    def record(
        self, events: Iterable[Event | Mapping[str, Any]], progress: Progress = silent
    ) -> Record:
        """Record events in order, each whole or not at all; see `Memory.record`."""
        checked = check_events(events)
        record = Record()
        now = time.time_ns() // 1_000_000
        if len(checked) > PIECE:
            self._rehearse(checked, now)
        for start in range(0, len(checked), PIECE):
            if start:
                progress(start, len(checked), "recording")
            try:
                self._record_piece(checked, start, now, record)
            except SecondOrderError as error:
                if not start:
                    raise
                raise type(error)(
                    f"{error} The {start} events before events[{start}] are recorded, the others "
                    "are not."
                ) from error
        return record

    def world(self) -> World:
        """The world as it is, made if there was none; raises `ConflictError` for other settings."""
        self._world = None
        return self.retrying(self._current_world)

    def repeat(self, event: LoggedEvent) -> None:
        """Record the next event of another log, as it stands there."""
        self._record_piece([event], 0, event.at, Record())

    def transact[T](
        self, attempt: Callable[[Transaction, World], T], *, create: bool = False
    ) -> T:
        """Run ``attempt`` on the world as it is, which cannot change before it commits; or again.

        What it commits has to come with another `EPOCH`. A scenario that does not exist is empty.
        """
        return self.retrying(lambda t: attempt(t, self._current_world(t, create=create)))

    def _rehearse(self, events: Sequence[LoggedEvent], now: int) -> None:
        """Fold a batch of several pieces into a copy of the world: of a wrong one none is written."""

        def rehearse(transaction: Transaction) -> None:
            world = self._current_world(transaction).copy()
            earlier = self._recorded_under(transaction, events, world)
            if rewrites(events, world, earlier, now):
                log = self._log(transaction)
                transaction.unwatch()
                place_late(events, 0, world, log, earlier, now)
                return
            transaction.unwatch()
            for _ in self._folded(events, 0, world, earlier, now):
                pass

        self.retrying(rehearse)

    def _record_piece(
        self, events: Sequence[LoggedEvent], start: int, now: int, record: Record
    ) -> None:
        piece = events[start : start + PIECE]

        def attempt(transaction: Transaction) -> None:
            world = self._current_world(transaction)
            earlier = self._recorded_under(transaction, piece, world)
            if rewrites(piece, world, earlier, now):
                self._rewrite(transaction, world, piece, start if len(events) > 1 else None, now,
                              earlier, record)
                return
            self._world = None  # not current again before the commit has succeeded
            recorded: list[Recorded] = []
            new: NewNames = {}
            calls: list[Call] = []
            counters: dict[str, int] = {}
            lifetimes: dict[str, int] = {}
            first = start if len(events) > 1 else None
            for step in self._folded(piece, first, world, earlier, now):
                recorded.append(step.recorded)
                if step.done is None:
                    continue
                new |= step.new or {}
                # A grant may have made a mind before anybody named its agent.
                minds = [mind_key(self._scenario, a) for a in step.done.changes.agents]
                made = transaction.missing(minds)
                if self._lifetime is not None:
                    lifetimes.update(dict.fromkeys(made, self._lifetime))
                calls += event_calls(
                    self._scenario, step.recorded.event, step.done, world, made
                )
                counters.update({MIND + a: world.agents[a] for a in step.done.reached()})
            if calls:
                counters |= {SEQ: world.seq, AT: world.at}
                transaction.commit(counters, calls, lifetimes)
            else:
                transaction.unwatch()
            self._world = world
            record.events += recorded
            record.note(new, world)

        self.retrying(attempt)

    def _log(self, transaction: Transaction) -> list[LoggedEvent]:
        return log_of(transaction.read_all(log_calls(self._scenario)))

    def _rewrite(
        self,
        transaction: Transaction,
        world: World,
        events: Sequence[LoggedEvent],
        start: int | None,
        now: int,
        earlier: dict[str, LoggedEvent],
        record: Record,
    ) -> None:
        """Record events of which some change what came before: it is projected again.

        Read is the whole log, written only what differs.
        """
        log = self._log(transaction)
        placed, new, after = place_late(events, start, world, log, earlier, now)
        before = project(log, world.settings)
        added = [event for event, again in placed if not again]
        self._world = None
        if added:
            touched = changed(before, after)
            differs = difference(tables(after, touched), tables(before, touched))
            writes = rewriting(self._scenario, differs, after, added)
            minds = [mind_key(self._scenario, a) for a in after.world.agents.keys() - before.world.agents]
            missing = transaction.missing(sorted(minds))
            calls = [Call(key, "mind/create", {}) for key in missing]
            counters = dict.fromkeys(counters_of(before.world), 0) | counters_of(after.world)
            lifetimes = None if self._lifetime is None else dict.fromkeys(
                [*missing, *(key for _, key in writes.first)], self._lifetime
            )
            transaction.commit(counters, calls + writes.calls, lifetimes, writes.first)
            self._world = replace(
                after.world, aliases=world.aliases, strict=world.strict, epoch=world.epoch
            )
        else:
            transaction.unwatch()
        newest = world.at
        for event, again in placed:
            seen = after.events.get(event.seq)
            witnesses = () if again or seen is None else seen.routed.witnesses
            late = not again and event.at < newest
            newest = max(newest, event.at)
            record.events.append(Recorded(event, witnesses, again, late))
        record.note(new, after.world)

    def _folded(
        self,
        events: Sequence[LoggedEvent],
        start: int | None,
        world: World,
        earlier: dict[str, LoggedEvent],
        now: int,
    ) -> Iterator[_Step]:
        """Fold events into ``world`` one by one, and say what each does.

        ``earlier`` are those recorded under these ids before. With ``start``, an error says which
        event of its batch it is.
        """
        for index, event in enumerate(events, start or 0):
            try:
                again = earlier.get(event.id) if event.id is not None else None
                if again is not None:
                    refuse_another(canonical(event, world), again)
                    yield _Step(Recorded(again, (), again=True))
                    continue
                placed = place(event, world, now)
                new = new_names(placed, world)
                event_done = world.expanded(placed)
                changes = advance(world, event_done)
            except (ConflictError, InvalidEventError) as error:
                if start is None:
                    raise
                raise type(error)(f"events[{index}].{error}") from None
            done = Done(event_done, changes, route(event_done, world, changes))
            for agent in done.reached():
                world.agents[agent] += 1
            if placed.id is not None:
                earlier[placed.id] = placed
            yield _Step(Recorded(placed, done.routed.witnesses), done, new)

    def retrying[T](self, attempt: Callable[[Transaction], T]) -> T:
        """Run an attempt until nobody interferes; one that keeps losing takes a turn of its own."""
        lost, turn = False, Turn(turn_key(self._scenario))
        deadline = time.monotonic() + _PATIENCE
        for number in count():
            if number >= _CONFLICTS_BEFORE_A_TURN and not turn.mine:
                turn = self._database.take(turn)
            try:
                with self._database.transaction(self._counters_key, turn) as transaction:
                    return attempt(transaction)
            except ConnectionLostError:
                if lost:
                    raise
                lost = True  # nothing was being committed: look once more
            except Conflict:
                self._world = None
                if time.monotonic() > deadline:
                    break
                time.sleep(random.uniform(0, 0.004))  # noqa: S311 - jitter spreads the writers
        raise StoreError(
            f"scenario {shown(self._scenario)}: other writers changed it all the time for "
            f"{_PATIENCE:.0f} seconds. Nothing of this was written; record it again."
        )

    def _recorded_under(
        self, transaction: Transaction, events: Sequence[LoggedEvent], world: World
    ) -> dict[str, LoggedEvent]:
        """Those lines of the log that have the id of one of these."""
        ids = {event.id for event in events if event.id is not None}
        if not ids:
            return {}
        calls = [Call(self._world_key, "world/events_by_id", {"ids": sorted(ids)})]
        if world.voids:
            calls += log_calls(self._scenario)[1:]
        answers = transaction.read_all(calls)
        return {row["id"]: logged_event(row) for rows in answers for row in rows if row["id"] in ids}

    def _current_world(self, transaction: Transaction, *, create: bool = True) -> World:
        copy = self._world
        if copy is not None and transaction.watch_for(SEQ, EPOCH) == [
            str(copy.seq), str(copy.epoch)
        ]:
            return copy
        counters = transaction.watch()
        if not counters and not create:
            return World()
        if not counters:
            self._create(transaction)
            counters = transaction.watch()
        self._world = read_world(transaction, self._scenario, counters, self._asked)
        return self._world

    def _create(self, transaction: Transaction) -> None:
        settings = Settings(**self._asked)
        calls = [
            Call(self._world_key, f"world/index_{what}", {})
            for what in ("agent", "room", "entity", "event")
        ]
        calls.append(Call(self._world_key, "world/create", {
            "name": name_of(self._scenario), **asdict(settings), "format": FORMAT,
        }))
        made = (self._counters_key, self._world_key)  # in this order they go, before any mind
        lifetimes = None if self._lifetime is None else dict.fromkeys(made, self._lifetime)
        transaction.commit({SEQ: 0, EPOCH: new_epoch()}, calls, lifetimes)
