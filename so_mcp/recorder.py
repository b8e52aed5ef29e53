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
from .diagnostics import debug
from .embedded import FORMAT
from .errors import (
    ConflictError,
    ConnectionLostError,
    InvalidEventError,
    SecondOrderError,
    StoreError,
)
from .events import BACKWARDS, Event, LoggedEvent, check_events
from .log import log_calls, log_of
from .names import EPOCH, counters_key, mind_key, name_of, new_epoch, shown, turn_key, world_key
from .past import AT_MOST, NeedsFoldError, Past
from .placing import aimed, place, place_late, refuse_another, refuse_before, rewrites
from .progress import Progress, silent
from .projection import changed, project, tables
from .reading import AT, MIND, SEQ, counters_of, read_world
from .rewrite import difference, left_by, rewriting
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
        self._past: Past | None = None  # current while the world is; None: not needed so far

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

        def rehearse(transaction: Transaction, *, fold: bool = False) -> None:
            world = self._current_world(transaction).copy()
            earlier = self._recorded_under(transaction, events, world)
            late = fold or rewrites(events, world, earlier, now)
            past = self._past_for(transaction, events, world, late=late)
            transaction.unwatch()
            if past is not None and late:
                _, _, lines = place_late(events, 0, world, past, earlier, now)
                project(lines.values(), world.settings)
                return
            self._past = None  # what is folded into it was not recorded
            for _ in self._folded(events, 0, world, earlier, now, past):
                pass

        try:
            self.retrying(rehearse)
        except NeedsFoldError:
            self.retrying(lambda transaction: rehearse(transaction, fold=True))

    def _record_piece(
        self, events: Sequence[LoggedEvent], start: int, now: int, record: Record
    ) -> None:
        piece = events[start : start + PIECE]

        def attempt(transaction: Transaction) -> None:
            world = self._current_world(transaction)
            earlier = self._recorded_under(transaction, piece, world)
            first = start if len(events) > 1 else None
            late = fold or rewrites(piece, world, earlier, now)
            past = self._past_for(transaction, piece, world, late=late)
            self._world = self._past = None  # not current before the commit has succeeded
            if past is not None and late:
                self._rewrite(transaction, world, past, piece, first, now, earlier, record)
                return
            recorded: list[Recorded] = []
            new: NewNames = {}
            calls: list[Call] = []
            counters: dict[str, int] = {}
            lifetimes: dict[str, int] = {}
            for step in self._folded(piece, first, world, earlier, now, past):
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
                    self._scenario, step.recorded.event, step.done, world, made,
                    self._passing_on(step.done, past),
                )
                counters.update({MIND + a: world.agents[a] for a in step.done.reached()})
            if calls:
                counters |= {SEQ: world.seq, AT: world.at}
                transaction.commit(counters, calls, lifetimes)
            else:
                transaction.unwatch()
            self._keep(world, past)
            record.events += recorded
            record.note(new, world)

        fold = False
        try:
            self.retrying(attempt)
        except NeedsFoldError:
            fold, self._world = True, None
            self.retrying(attempt)

    def _passing_on(self, done: Done, past: Past | None) -> list[Call] | None:
        """What puts into minds what an event brings from earlier ones; None: it brings its own."""
        if past is None or all(belief.of is None for belief in done.routed.beliefs):
            return None
        return left_by(self._scenario, past.projection, done.event.seq)

    def _keep(self, world: World, past: Past | None) -> None:
        """What was committed is current now."""
        self._world = world
        self._past = past if past is not None and len(past.lines) <= AT_MOST else None

    def _past_for(
        self, transaction: Transaction, events: Sequence[LoggedEvent], world: World, *, late: bool
    ) -> Past | None:
        """What has happened so far, if one of the events asks for it or it is at hand anyway."""
        if self._past is None and (late or any(event.kind in BACKWARDS for event in events)):
            log = log_of(transaction.read_all(log_calls(self._scenario)))
            self._past = Past(log, world.settings)
        return self._past

    def _rewrite(
        self,
        transaction: Transaction,
        world: World,
        past: Past,
        events: Sequence[LoggedEvent],
        start: int | None,
        now: int,
        earlier: dict[str, LoggedEvent],
        record: Record,
    ) -> None:
        """Record events of which some change what came before: it is projected again.

        Written is only what differs.
        """
        placed, new, lines = place_late(events, start, world, past, earlier, now)
        before, after = past.projection, project(lines.values(), world.settings)
        added = [event for event, again in placed if not again]
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
            past.replaced(lines.values(), after)
            self._keep(
                replace(after.world, aliases=world.aliases, strict=world.strict, epoch=world.epoch),
                past,
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
        past: Past | None,
    ) -> Iterator[_Step]:
        """Fold events into ``world`` and ``past`` one by one, and say what each does.

        ``earlier`` are those recorded under these ids before. With ``start``, an error says which
        event of its batch it is.
        """
        for index, given in enumerate(events, start or 0):
            try:
                event = given if past is None else aimed(given, past.lines, past.ids)
                again = earlier.get(event.id) if event.id is not None else None
                if again is not None:
                    refuse_another(canonical(event, world), again)
                    yield _Step(Recorded(again, (), again=True))
                    continue
                placed = place(event, world, now)
                if past is not None:
                    refuse_before(placed, past.lines)
                    if placed.target in past.projection.void:  # so this is void, too
                        raise NeedsFoldError
                new = new_names(placed, world)
                event_done = world.expanded(placed)
                changes = advance(world, event_done)
            except (ConflictError, InvalidEventError) as error:
                if start is None:
                    raise
                raise type(error)(f"events[{index}].{error}") from None
            so_far = None if past is None else past.projection.past
            done = Done(event_done, changes, route(event_done, world, changes, so_far))
            for agent in done.reached():
                world.agents[agent] += 1
            if placed.id is not None:
                earlier[placed.id] = placed
            if past is not None:
                past.add(placed, done, world)
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
                debug("conflict", tries=number + 1, turn=bool(turn.mine))
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
        self._past = None
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
