"""A scenario made from a log: in a copy that nobody sees, which may then take its place.

What is not one more event, but another log, is done so: another name for something everywhere,
forgetting, a log read from a file, and the scenario as it was at an earlier step of its log.
Whatever crashes, there is the old or the new, whole; a copy that is left over goes by itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import batched
from typing import NamedTuple

from .database import Call, Database, Transaction
from .errors import StoreError
from .events import LoggedEvent
from .forks import keys_of
from .log import log_as_of, log_calls, log_of
from .names import (
    EPOCH,
    counters_key,
    fork_name,
    mind_key,
    name_of,
    new_epoch,
    shown,
    world_key,
)
from .progress import Progress, silent
from .projection import Projection, Tables, project, tables
from .reading import counters_of
from .recorder import Recorder
from .rewrite import (
    difference,
    links_calls,
    names_calls,
    presence_calls,
    rebuilt_minds,
    what_happened_calls,
)
from .world import Aliases, Settings, World
from .writes import listeners_of, told_call
from .writes import log_calls as log_calls_of

SECONDS_TO_LIVE = 3600  # of a copy, if we crash
_ATTEMPTS = 20
_AT_ONCE = 100  # queries of one MULTI, which hold up everybody else
Log = Sequence[LoggedEvent]


class CopyGoneError(StoreError):
    """A copy went while it was made: somebody deleted the scenario, or it took too long."""

    def __init__(self) -> None:
        super().__init__(
            "a copy of the scenario was deleted while it was made. Nothing was changed; try again."
        )


class Remade(NamedTuple):
    """What a log, and the aliases of a scenario, become."""

    log: Callable[[Log], list[LoggedEvent]]
    aliases: Callable[[Aliases], Aliases]


@contextmanager
def built(
    database: Database,
    scenario: str,
    log: Log,
    settings: Settings,
    aliases: Aliases | None = None,
    seconds: int = SECONDS_TO_LIVE,
    progress: Progress = silent,
) -> Iterator[str]:
    """The name of a fork that holds what ``log`` gives; gone when the block ends."""
    fork = fork_name(name_of(scenario), secrets.token_hex(8))
    try:
        _build(database, fork, log, settings, aliases or {}, seconds, progress)
        yield fork
    finally:
        own = world_key(fork).removesuffix("world")  # its world, which names its minds, may be gone
        database.delete([*database.graphs(own), counters_key(fork)])


def _build(
    database: Database, fork: str, log: Log, settings: Settings, aliases: Aliases,
    seconds: int, progress: Progress,
) -> None:
    projection = project(log, settings)
    made = Recorder(database, fork, asdict(settings), seconds).world()  # empty
    here, world = world_key(fork), projection.world
    nothing = difference(tables(projection, only=()), {})
    total = len(log) + len(world.agents)
    with database.transaction(counters_key(fork)) as transaction:
        _write(transaction, names_calls(here, nothing, projection))
        _write(transaction, _lines(here, _told(log, total, progress), projection))
        _write(transaction, what_happened_calls(here, nothing))
        _write(transaction, links_calls(here, difference(_links_of(projection), {})))
        _write(transaction, presence_calls(here, nothing, projection))
        _write(transaction, alias_calls(fork, aliases))
        for done, mind in enumerate(world.agents, len(log)):
            progress(done, total, "projecting minds")
            _write(transaction, rebuilt_minds(fork, projection, [mind]),
                   {mind_key(fork, mind): seconds})
        if transaction.watch().get(EPOCH) != made.epoch:
            transaction.unwatch()
            raise CopyGoneError
        transaction.commit(counters_of(world), [])


def _links_of(projection: Projection) -> Tables:
    everything = tables(projection)
    return {(name, None): everything[name, None] for name in ("read", "noticed")}


def _told(log: Log, total: int, progress: Progress) -> Iterator[LoggedEvent]:
    for done, event in enumerate(log):
        progress(done, total, "writing the log")
        yield event


def _lines(here: str, events: Iterable[LoggedEvent], projection: Projection) -> Iterator[Call]:
    for event in events:
        done = projection.events.get(event.seq)
        witnesses = [] if done is None else [
            [agent, projection.steps[agent][event.seq]] for agent in done.routed.witnesses
        ]
        # The newest truths are named afterwards.
        yield from log_calls_of(here, event, witnesses, truth=False)
        if done is not None and listeners_of(done.event, done.routed):
            yield told_call(here, done.event, done.routed)


def _write(
    transaction: Transaction, calls: Iterable[Call], lifetimes: dict[str, int] | None = None
) -> None:
    for some in batched(calls, _AT_ONCE):
        transaction.commit({}, some, lifetimes)


def alias_calls(scenario: str, aliases: Aliases) -> list[Call]:
    """What makes names mean something; of what is not there, nothing."""
    return [
        Call(world_key(scenario), f"world/alias_{kind}", {"alias": alias, "name": name})
        for (kind, alias), name in aliases.items()
    ]


class Remaking:
    """Another log in the place of a scenario's own."""

    def __init__(
        self, database: Database, scenario: str, recorder: Recorder, lifetime: int | None = None
    ) -> None:
        """``lifetime``: of a fork, the seconds after which it goes by itself."""
        self._database, self._scenario = database, scenario
        self._recorder, self._lifetime = recorder, lifetime

    def remake(
        self,
        prepare: Callable[[World], Remade | None],
        progress: Progress = silent,
    ) -> int:
        """Make the scenario from its log as changed; how long the log is.

        ``prepare`` is asked on the world as it is, and says what becomes of a log and of the
        aliases; None: nothing is to be done. Events that come in meanwhile are changed too.
        """
        for _ in range(_ATTEMPTS):
            world, log = self._recorder.transact(self._look)
            remade = prepare(world)
            if remade is None:
                return world.seq
            with (
                suppress(CopyGoneError),
                built(self._database, self._scenario, remade.log(log), world.settings,
                      progress=progress) as fork,
            ):
                if self._take_the_place(fork, world, remade):
                    return world.seq
        raise StoreError(
            f"{shown(name_of(self._scenario))} could not be changed: others changed it too often "
            "meanwhile. Nothing was changed; try again when fewer events come in."
        )

    def _look(self, transaction: Transaction, world: World) -> tuple[World, list[LoggedEvent]]:
        log = log_as_of(transaction, self._scenario, world.seq)
        transaction.unwatch()
        return world, log  # what comes in from now on is repeated later

    def _take_the_place(
        self, fork: str, world: World, remade: Remade
    ) -> bool:
        """Put the fork in the scenario's place, if it still is made from its log."""
        there = Recorder(self._database, fork, asdict(world.settings), SECONDS_TO_LIVE)
        epoch, seq = there.world().epoch, world.seq
        outdated, same = False, frozenset[str]()

        def attempt(transaction: Transaction, now: World) -> bool:
            nonlocal outdated, same
            copied = transaction.watch(counters_key(fork))
            outdated = now.epoch != world.epoch or copied.get(EPOCH) != epoch
            if outdated or now.seq != seq:
                transaction.unwatch()
                return False
            log = log_of(transaction.read_all(log_calls(self._scenario)))
            same = _same_minds(log, remade.log(log), now.settings)
            calls = alias_calls(self._scenario, remade.aliases(now.aliases))
            if now.strict:
                calls.append(Call(world_key(self._scenario), "world/strict", {"strict": True}))
            first = moves(self._database, self._scenario, fork, now, same, self._lifetime)
            transaction.commit({EPOCH: new_epoch()}, calls, first=first)
            return True

        for _ in range(_ATTEMPTS):
            if self._recorder.transact(attempt):
                return True
            if outdated:
                return False
            log = log_of(self._database.read_all(log_calls(self._scenario)))
            for event in remade.log(log):
                if event.seq > seq:
                    there.repeat(event)
                    seq = event.seq
        return False


def moves(
    database: Database,
    scenario: str,
    fork: str,
    world: World,
    same: Collection[str] = (),
    lifetime: int | None = None,
) -> list[tuple[str, ...]]:
    """The commands that put a fork in the place of a scenario, whose ``world`` it is until then.

    ``same``: those whose minds stay as they are. ``lifetime``: the seconds after which it all goes
    by itself; None: it stays.
    """
    here, there = (world_key(s).removesuffix("world") for s in (scenario, fork))
    stay = {mind_key(scenario, agent) for agent in same}
    found: list[tuple[str, ...]] = [
        ("DEL", key) for agent in world.agents if (key := mind_key(scenario, agent)) not in stay
    ]
    # All of the copy is there as long as its counters are: they were made first, and go first.
    for key in keys_of(database, fork):
        place = here + key.removeprefix(there)
        if place in stay:
            found.append(("DEL", key))
            continue
        found.append(("RENAME", key, place))
        found.append(
            ("PERSIST", place) if lifetime is None else ("EXPIRE", place, str(lifetime))
        )
    return found


def _same_minds(before: Log, after: Log, settings: Settings) -> frozenset[str]:
    """Those whose minds one log gives just as the other.

    They are left alone, so that nobody can see by their own that something else was changed.
    """
    old, new = (tables(project(log, settings)) for log in (before, after))
    return frozenset(
        mind for (_, mind), rows in new.items() if mind is not None and old.get(("belief", mind)) == rows
    )
