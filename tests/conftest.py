"""A real database for every test: one for the session, or one of a test's own (see `stores`)."""

from __future__ import annotations

import itertools
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import DATABASES, SECRET, Store, Stores, memory_of

from eval.servers import MissingProgramError, stunnel
from so_mcp import Memory, scenarios
from so_mcp.embedded import EmbeddedStore

_numbers = itertools.count()
_left_out: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database", choices=DATABASES, default="embedded",
        help="what the tests run on (default embedded); on a server and a cluster those that are "
        "about another, or about none, are left out",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "runs_on(*databases, why): about these alone of embedded, server and cluster"
    )
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup
        # We go on ignoring it; but what we start would inherit that, and some of it is to end at it.
        signal.signal(signal.SIGHUP, lambda *_: None)
    if config.getoption("database") == "server":
        try:
            stunnel()
        except MissingProgramError as missing:
            raise pytest.UsageError(f"--database server is behind TLS, and there is {missing}") from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a server or a cluster: what asks for a database, whichever it is."""
    database = config.getoption("database")
    kept, left_out = [], []
    for item in items:
        mark = item.get_closest_marker("runs_on")
        if "store_path" in item.fixturenames and (mark is None or mark.args != ("embedded",)):
            raise pytest.UsageError(
                f"{item.nodeid} asks for `store_path`, so it is about the embedded database: say why "
                'it has to (@pytest.mark.runs_on("embedded", why="...")), or ask for `own_store`.'
            )
        if mark is not None and database not in mark.args:
            why = mark.kwargs["why"]
        elif database != "embedded" and "stores" not in item.fixturenames:
            why = "they need no database, or start one of a kind that they are about"
        else:
            kept.append(item)
            continue
        left_out.append(item)
        _left_out[why] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist leaves the summary to the one who started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(_left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each worker has left out the same."""
    _left_out.update(getattr(node, "workeroutput", {}).get("left_out", {}) if not _left_out else {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out, and why."""
    if _left_out:
        terminalreporter.section("left out on this database")
    for why, number in _left_out.most_common():
        terminalreporter.write_line(f"{number:5}  {why}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    """What needs a TLS proxy is skipped where there is none: `.ci/run` installs it where it can."""
    try:
        yield
    except MissingProgramError as missing:
        pytest.skip(f"{missing}")


pytest_runtest_call = pytest_runtest_setup


@pytest.fixture(scope="session")
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Makes databases of the kind that the tests run on."""
    made = Stores(request.config.getoption("database"))
    with pytest.MonkeyPatch.context() as patch:
        if made.kind != "embedded":
            patch.setenv("SO_ACL_SECRET", SECRET)
        yield made
    made.close()


@pytest.fixture(scope="session")
def shared_store(stores: Stores) -> Iterator[Store]:
    """A database that is there for the whole session; use a scenario name of your own in it."""
    with stores.new() as store:
        if isinstance(store, EmbeddedStore):
            store.attach()
        yield store


@pytest.fixture
def own_store(stores: Stores) -> Iterator[Store]:
    """A database of this test's own, empty."""
    with stores.new() as store:
        yield store


@pytest.fixture
def store_path() -> Iterator[Path]:
    """A folder for an embedded database of this test's own, not made yet; stopped afterwards."""
    parent = Path(tempfile.mkdtemp(prefix="so-"))
    path = parent / "store"
    yield path
    EmbeddedStore(path).stop()
    shutil.rmtree(parent)


@pytest.fixture
def new_memory(stores: Stores, shared_store: Store) -> Iterator[Callable[..., Memory]]:
    """Makes memories of scenarios that no other test uses, on the session's database."""
    made: list[Memory] = []

    def make(**settings: str) -> Memory:
        made.append(memory_of(shared_store, f"test-{next(_numbers)}", **settings))
        return made[-1]

    yield make
    # Each graph takes half a megabyte, and property tests make thousands.
    if made:
        stores.delete(made)
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
