"""Changing the vocabulary of a scenario: an alias, another name, strict or not.

Each change is one transaction, like an event, and comes with a new epoch: every process that had a
copy of the world reads it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .database import Call, Database, Transaction
from .errors import ConflictError, InvalidInputError, UnknownNameError
from .names import (
    EPOCH,
    near_names,
    new_epoch,
    normal_name,
    shown,
    world_key,
)
from .progress import Progress, silent
from .rebuild import Remade, Remaking, alias_calls
from .recorder import Recorder
from .vocabulary import KINDS, Alias, Vocabulary, aliases_of, read_aliases, renamed
from .world import Aliases, Kind, World

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
        self.remaking = Remaking(database, scenario, recorder, lifetime)

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
                calls = alias_calls(self._scenario, {(its_kind, alias): name})
                transaction.commit({EPOCH: new_epoch()}, calls)
            return Alias(alias, its_kind, name)

        return self._recorder.transact(attempt)

    def rename(
        self, name: str, to: str, kind: Kind | None = None, progress: Progress = silent
    ) -> Renamed:
        """Call an agent, a room or an entity otherwise, everywhere; the old name becomes an alias.

        The scenario is made anew from its log with the new name, in a copy that then takes its
        place in one transaction. Words and values stay as they were. Doing it again changes
        nothing.
        """
        name, to = normal_name(name, "name"), normal_name(to, "to")
        meant: list[tuple[Kind, str]] = []

        def prepare(world: World) -> Remade | None:
            its_kind, old = _meant(world, name, kind)
            meant[:] = [(its_kind, old)]
            if old == to:
                return None
            _refuse_taken(world, its_kind, to, old, "to")
            _refuse_two_kinds(world, its_kind, to)
            return Remade(
                lambda log: renamed(log, its_kind, old, to),
                lambda aliases: _moved(aliases, its_kind, old, to),
            )

        length = self.remaking.remake(prepare, progress)
        [(its_kind, old)] = meant
        return Renamed(its_kind, name if old == to else old, to, length)


def _moved(aliases: Aliases, kind: Kind, old: str, new: str) -> Aliases:
    """The aliases there were, and the old name; the new one is no alias any longer if it was one."""
    moved = {
        (its_kind, alias): new if (its_kind, of) == (kind, old) else of
        for (its_kind, alias), of in aliases.items()
    }
    moved.pop((kind, new), None)
    return {**moved, (kind, old): new}


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
