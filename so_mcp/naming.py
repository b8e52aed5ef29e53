"""Changing the vocabulary of a scenario: an alias, another name, strict or not.

Each change is one transaction, like an event, and comes with a new epoch: every process that had a
copy of the world reads it anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .database import Call, Database, Transaction
from .errors import ConflictError, InvalidInputError, StoreError, UnknownNameError
from .forks import keys_of
from .names import (
    EPOCH,
    counters_key,
    fork_name,
    mind_key,
    name_of,
    near_names,
    new_epoch,
    normal_name,
    shown,
    world_key,
)
from .progress import Progress, silent
from .recorder import Recorder
from .vocabulary import KINDS, Alias, Vocabulary, aliases_of, read_aliases, renamed
from .world import Aliases, Kind, World
from .writes import logged_event

SECONDS_TO_LIVE = 3600  # of the copy that a renamed scenario is made in, if we crash
_ATTEMPTS = 20
_A = {"agent": "an agent", "room": "a room", "entity": "an entity"}


@dataclass(frozen=True, slots=True)
class Renamed:
    """What got another name; ``events``: how long the log is that was gone through."""

    kind: Kind
    name: str
    to: str
    events: int


class Naming:
    """The vocabulary of one scenario, with a supervisor's login."""

    def __init__(
        self, database: Database, scenario: str, recorder: Recorder, lifetime: int | None = None
    ) -> None:
        """``lifetime``: of a fork, the seconds after which it goes by itself."""
        self._database = database
        self._scenario = scenario
        self._world_key = world_key(scenario)
        self._recorder = recorder
        self._lifetime = lifetime

    def vocabulary(self) -> Vocabulary:
        """Every name; of a scenario that does not exist, none."""
        names = ("scenario", "agents", "rooms", "entities", "aliases")
        settings, agents, rooms, entities, aliases = self._database.read_all(
            [Call(self._world_key, f"world/{name}", {}) for name in names]
        )
        return Vocabulary(
            bool(settings and settings[0]["strict"]),
            tuple(row["name"] for row in agents),
            tuple(row["name"] for row in rooms),
            tuple(row["name"] for row in entities),
            tuple(Alias(name, kind, of) for (kind, name), of in read_aliases(aliases).items()),
        )

    def strict(self, *, on: bool) -> None:
        """Refuse events that would make a name, or take them again."""

        def attempt(transaction: Transaction, world: World) -> None:
            if world.strict == on:
                transaction.unwatch()
            else:
                call = Call(self._world_key, "world/strict", {"strict": on})
                transaction.commit({EPOCH: new_epoch()}, [call])

        self._recorder.transact(attempt, create=True)

    def alias(self, alias: str, of: str, kind: Kind | None = None) -> Alias:
        """Make ``alias`` another name for ``of``; doing it again changes nothing."""
        alias, of = normal_name(alias, "alias"), normal_name(of, "of")

        def attempt(transaction: Transaction, world: World) -> Alias:
            its_kind, name = _meant(world, of, kind)
            _refuse_taken(world, its_kind, alias, name, "alias")
            if (its_kind, alias) in world.aliases:
                transaction.unwatch()
            else:
                calls = _alias_calls(self._scenario, {(its_kind, alias): name})
                transaction.commit({EPOCH: new_epoch()}, calls)
            return Alias(alias, its_kind, name)

        return self._recorder.transact(attempt)

    def rename(
        self, name: str, to: str, kind: Kind | None = None, progress: Progress = silent
    ) -> Renamed:
        """Call an agent, a room or an entity otherwise, everywhere; the old name becomes an alias.

        The log is recorded again, with the new name, in a copy, which then takes the scenario's
        place in one transaction: whatever crashes, there is the old or the new, whole. Words and
        values stay as they were. Doing it again changes nothing.
        """
        name, to = normal_name(name, "name"), normal_name(to, "to")
        for _ in range(_ATTEMPTS):
            world = self._recorder.transact(_look)
            its_kind, old = _meant(world, name, kind)
            if old == to:
                return Renamed(its_kind, name, to, world.seq)
            _refuse_taken(world, its_kind, to, old, "to")
            _refuse_two_kinds(world, its_kind, to)
            fork = fork_name(name_of(self._scenario), secrets.token_hex(8))
            try:
                copy = _RenamedCopy(
                    self._database, self._scenario, fork, world, (its_kind, old, to), self._lifetime
                )
                for _ in range(_ATTEMPTS):  # others may have recorded more meanwhile
                    copy.catch_up(progress)
                    if self._recorder.transact(copy.take_the_place):
                        return Renamed(its_kind, old, to, copy.seq)
                    if copy.outdated:
                        break
            finally:
                self._database.command("DEL", *keys_of(self._database, fork))
        raise StoreError(
            f"{shown(name)} could not be renamed: others changed the scenario too often meanwhile. "
            "Nothing was changed; try again when fewer events come in."
        )


class _RenamedCopy:
    """A scenario as it would be if something had been called otherwise from the start."""

    def __init__(
        self,
        database: Database,
        scenario: str,
        fork: str,
        world: World,
        change: tuple[Kind, str, str],
        lifetime: int | None,
    ) -> None:
        """``change``: what is called otherwise, its name, and the new one."""
        self._database, self._scenario, self._fork = database, scenario, fork
        self._world, self._lifetime = world, lifetime
        self._kind, self._old, self._new = change
        self._recorder = Recorder(database, fork, asdict(world.settings), SECONDS_TO_LIVE)
        self._epoch = self._recorder.world().epoch
        self._rooms: set[str] = set()
        self.seq = 0
        self.outdated = False

    def catch_up(self, progress: Progress) -> None:
        """Record what the log holds and the copy does not."""
        rows = self._database.read(world_key(self._scenario), "world/events", after=self.seq)
        total = self.seq + len(rows)
        events = (logged_event(row) for row in rows)
        for event in renamed(events, self._kind, self._old, self._new, self._rooms):
            progress(self.seq, total, f"recording again, as {self._new}")
            self._recorder.repeat(event)
            self.seq += 1

    def take_the_place(self, transaction: Transaction, world: World) -> bool:
        """Put the copy in the scenario's place, if it still is a copy of it."""
        copied = transaction.watch(counters_key(self._fork))
        self.outdated = world.epoch != self._world.epoch or copied.get(EPOCH) != self._epoch
        if self.outdated or world.seq != self.seq:
            transaction.unwatch()
            return False
        here, there = (world_key(s).removesuffix("world") for s in (self._scenario, self._fork))
        moves: list[tuple[str, ...]] = [
            ("DEL", mind_key(self._scenario, agent)) for agent in world.agents
        ]
        # All of the copy is there as long as its counters are: they were made first, and go first.
        for key in keys_of(self._database, self._fork):
            place = here + key.removeprefix(there)
            moves.append(("RENAME", key, place))
            moves.append(("PERSIST", place) if self._lifetime is None else (
                "EXPIRE", place, str(self._lifetime)
            ))
        calls = _alias_calls(self._scenario, self._aliases(world.aliases))
        if world.strict:
            calls.append(Call(world_key(self._scenario), "world/strict", {"strict": True}))
        transaction.commit({EPOCH: new_epoch()}, calls, first=moves)
        return True

    def _aliases(self, aliases: Aliases) -> Aliases:
        """Those there were, and the old name; the new one is an alias no longer if it was one."""
        old = (self._kind, self._old)
        moved = {
            (kind, alias): self._new if (kind, of) == old else of
            for (kind, alias), of in aliases.items()
        }
        moved.pop((self._kind, self._new), None)
        return {**moved, old: self._new}


def _look(transaction: Transaction, world: World) -> World:
    transaction.unwatch()
    return world


def _meant(world: World, name: str, kind: Kind | None) -> tuple[Kind, str]:
    """Of what kind the thing is that a name means, and its canonical name."""
    if kind is not None and kind not in KINDS:
        raise InvalidInputError(f"kind: expected {' or '.join(KINDS)}, got {kind!r}.")
    kinds: Sequence[Kind] = KINDS if kind is None else (kind,)
    found = [k for k in kinds if name in world.names(k) or (k, name) in world.aliases]
    if len(found) > 1:
        raise InvalidInputError(
            f"kind: {shown(name)} is {' and '.join(_A[k] for k in found)}. Say which is meant: "
            f"kind={' or kind='.join(map(repr, found))}."
        )
    if not found:
        known = [n for k in kinds for n in (*world.names(k), *aliases_of(k, world.aliases))]
        near = near_names(name, known)
        hint = f" Did you mean {' or '.join(map(shown, near))}?" if near else ""
        what = "agent, room or entity" if kind is None else kind
        raise UnknownNameError(f"name: no {what} is called {shown(name)}.{hint}")
    return found[0], world.aliases.get((found[0], name), name)


def _refuse_taken(world: World, kind: Kind, name: str, thing: str, field: str) -> None:
    """A name for ``thing`` must not be the name, or an alias, of another of its kind."""
    if name in world.names(kind):
        raise ConflictError(
            f"{field}: {shown(name)} is itself the name of {_A[kind]}, with events of its own, and "
            "two are never made one. Give a name that no event has used."
        )
    if (other := world.aliases.get((kind, name), thing)) != thing:
        raise ConflictError(
            f"{field}: {shown(name)} is already another name for {shown(other)}, not for "
            f"{shown(thing)}. Give another name."
        )


def _refuse_two_kinds(world: World, kind: Kind, to: str) -> None:
    """What an entity is located in is told to be a room or a container by its name alone."""
    others: dict[Kind, Kind] = {"room": "entity", "entity": "room"}
    other = others.get(kind)
    if other and (to in world.names(other) or (other, to) in world.aliases):
        raise ConflictError(
            f"to: {shown(to)} is the name of {_A[other]}, and what lies in it could not be told "
            f"from what lies in {_A[kind]} of that name. Give another name."
        )


def _alias_calls(scenario: str, aliases: Aliases) -> list[Call]:
    return [
        Call(world_key(scenario), f"world/alias_{kind}", {"alias": alias, "name": name})
        for (kind, alias), name in aliases.items()
    ]
