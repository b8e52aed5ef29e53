"""A real database for every test: one server for the session, or a store of a test's own."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from so_mcp import Memory, scenarios
from so_mcp.embedded import EmbeddedStore

_numbers = itertools.count()


@pytest.fixture
def store_path() -> Iterator[Path]:
    """A store folder of this test's own, not made yet; its server is stopped afterwards."""
    parent = Path(tempfile.mkdtemp(prefix="so-"))
    path = parent / "store"
    yield path
    EmbeddedStore(path).stop()
    shutil.rmtree(parent)


@pytest.fixture(scope="session")
def server_path() -> Iterator[Path]:
    """A store whose server runs for the whole session; use a scenario name of your own in it."""
    parent = Path(tempfile.mkdtemp(prefix="so-"))
    store = EmbeddedStore(parent / "store")
    store.attach()
    yield store.path
    store.stop()
    shutil.rmtree(parent)


@pytest.fixture
def new_memory(server_path: Path) -> Iterator[Callable[..., Memory]]:
    """Makes memories of scenarios that no other test uses, on the session's server."""
    made: list[Memory] = []

    def make(**settings: str) -> Memory:
        made.append(Memory(f"test-{next(_numbers)}", path=server_path, **settings))
        return made[-1]

    yield make
    # Each graph takes half a megabyte, and property tests make thousands.
    prefixes = tuple(f"so:{{{memory.scenario}}}:" for memory in made)
    if made and (keys := [key for key in made[0].database.command("KEYS", "so:{test-*")
                          if key.startswith(prefixes)]):
        made[0].database.command("DEL", *keys)
    for memory in made:
        memory.close()


@pytest.fixture
def memory(new_memory: Callable[..., Memory]) -> Memory:
    """One such memory, with the default settings."""
    return new_memory()


@pytest.fixture
def support(memory: Memory) -> Memory:
    """The support story, played."""
    scenarios.play(memory, scenarios.load("support"))
    return memory


@pytest.fixture
def org(memory: Memory) -> Memory:
    """The decision that changed in a thread, played."""
    scenarios.play(memory, scenarios.load("org"))
    return memory
