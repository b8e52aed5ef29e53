"""Forks: a copy of a scenario to try events on, gone again afterwards.

What a plan would do is found by doing it, through the same engine, to a copy. A fork's keys carry
a time to live from the moment they exist: the database itself removes what a crash left behind.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from .database import Database
from .errors import StoreError
from .names import EPOCH, counters_key, fork_name, is_fork, mind_key, name_of, world_key

SECONDS_TO_LIVE = 600
_ATTEMPTS = 20


@contextmanager
def forked(database: Database, scenario: str) -> Iterator[str]:
    """The name of a fork of ``scenario``, for as long as the block lasts.

    Raises `StoreError` if writers never paused long enough for a consistent copy.
    """
    for _ in range(_ATTEMPTS):
        fork = fork_name(scenario, secrets.token_hex(8))
        try:
            if _copy(database, scenario, fork):
                yield fork
                return
        finally:
            unborn = f"{world_key(fork).removesuffix('world')}unborn"
            database.delete([*keys_of(database, fork), unborn])
    raise StoreError(
        f"a fork of the scenario could not be made: others wrote to it {_ATTEMPTS} times while it "
        "was copied. Nothing was changed; try again when fewer events come in."
    )


def keys_of(database: Database, scenario: str) -> list[str]:
    """The keys of a scenario as it is now, its world last: from it the others are known."""
    agents = [row["name"] for row in database.read(world_key(scenario), "world/agents")]
    minds = [mind_key(scenario, agent) for agent in agents]
    return [*minds, counters_key(scenario), world_key(scenario)]


def keys_of_forks(database: Database, scenario: str) -> list[str]:
    """The keys of every fork that there is of a scenario, those of a crash included."""
    own = world_key(name_of(scenario)).removesuffix("world") + "fork:"
    graphs = database.graphs(own)
    homes = {own + key.removeprefix(own).split(":")[0] for key in graphs}
    return [*graphs, *(f"{home}:{name}" for home in homes for name in ("counters", "unborn"))]


def _copy(database: Database, scenario: str, fork: str) -> bool:
    """Copy every key in one packet; whether nobody wrote meanwhile."""
    counters = counters_key(scenario)
    state = ("HMGET", counters, "seq", EPOCH)
    before = database.command(*state)
    prefix, prefix_of_fork = (world_key(name).removesuffix("world") for name in (scenario, fork))
    keys = [*reversed(keys_of(database, scenario)), f"{prefix}unborn"]
    if before == [None, None]:
        # Nothing has happened yet: a fork of nothing is empty too, and says that it is meant so.
        if is_fork(scenario) and not database.command("EXISTS", f"{prefix}unborn"):
            raise StoreError(
                f"a fork was tried on for more than {SECONDS_TO_LIVE} seconds and is gone. Nothing "
                "was changed; ask for less at once."
            )
        database.command("SET", f"{prefix_of_fork}unborn", 1, "EX", SECONDS_TO_LIVE)
        return True
    commands: list[tuple[str, ...]] = []
    if is_fork(scenario):  # it is still in use
        commands += [("EXPIRE", key, str(SECONDS_TO_LIVE)) for key in keys]
    for key in keys[:-1]:
        copy = prefix_of_fork + key.removeprefix(prefix)
        verb = "COPY" if key == counters else "GRAPH.COPY"
        commands += [(verb, key, copy), ("EXPIRE", copy, str(SECONDS_TO_LIVE))]
    commands.append(state)
    return bool(database.commands(commands)[-1] == before)
