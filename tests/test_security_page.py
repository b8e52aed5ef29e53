"""SECURITY.md: each test that it names exists, and what it says is not protected is not.

The second half are facts of the database that no right can take away. Where a new version changes
one, its test fails, and the page has to say so.
"""

from __future__ import annotations

import ast
import re
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import redis
from stores import Store, client, credentials, memory_of, view_of
from test_embedded import wait_until

from so_mcp import Memory
from so_mcp.config import ServerAddress
from so_mcp.database import client_of
from so_mcp.names import database_user, mind_key

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = re.findall(r"`(test_\w+\.py)::(\w+)`", PAGE)
WITHOUT = {"by design", "not run"}


@cache
def named_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return {found.name for found in tree.body if isinstance(found, ast.FunctionDef)}


def test_every_test_that_the_page_names_exists() -> None:
    assert len(NAMED) > 40
    assert len(NAMED) == PAGE.count("::")
    assert [(file, name) for file, name in NAMED if name not in named_in(file)] == []


def test_every_row_of_the_page_names_a_test_or_says_that_there_is_none() -> None:
    rows = [row.split("|")[1:-1] for row in PAGE.splitlines() if re.match(r"\| (?!from|limit|-)", row)]
    assert len(rows) > 20
    for _, claim, shown_by in rows:
        assert shown_by.strip() in WITHOUT or re.search(r"`test_\w+\.py::", shown_by), claim


def test_the_page_says_how_the_embedded_file_is_flushed() -> None:
    [set_to] = re.findall(r"appendfsync (\w+)", (ROOT / "so_mcp" / "embedded.py").read_text("utf-8"))
    assert f"`appendfsync {set_to}`" in PAGE


# What is not protected ----------------------------------------------------------------------------


ANNS = mind_key("desk", "Ann")


@pytest.fixture
def desk(own_store: Store) -> Iterator[Memory]:
    """A store of this test's own, in which Ann has a login."""
    with memory_of(own_store, "desk") as memory:
        memory.set("e", "v", audience=["Ann", "Bob"])
        memory.grant("Ann")
        yield memory


@pytest.fixture
def own(desk: Memory) -> Iterator[redis.Redis]:
    """A connection that Ann opened, past every tool."""
    with client(
        desk.store, *credentials("Ann", desk.store), holding=ANNS, protocol=2, retry=None
    ) as made:
        yield made


@pytest.mark.runs_on("embedded", why="a killed server is started again by its operator")
def test_an_agents_own_connection_can_crash_the_database_and_nothing_is_lost(
    desk: Memory, own: redis.Redis
) -> None:
    nested = "[" * 100_000 + "]" * 100_000
    with pytest.raises(redis.ConnectionError):
        own.execute_command("GRAPH.RO_QUERY", ANNS, f"CYPHER x={nested} RETURN $x")
    desk.close()
    assert desk.believes("Bob", "e") == "v"
    assert desk.verify() == []


def test_an_agents_own_connections_can_hold_up_everybodys_questions(
    desk: Memory, own: redis.Redis
) -> None:
    """Each pair of parentheses doubles the time to parse it; one such query a thread is enough."""
    threads = int(desk.database.command("GRAPH.CONFIG", "GET", "THREAD_COUNT")[1])

    def parse(number: int) -> None:
        query = f"RETURN {'(' * 18}{number}{')' * 18}"
        own.execute_command("GRAPH.RO_QUERY", ANNS, query)

    desk.believes("Bob", "e")
    attacks = [threading.Thread(target=parse, args=(number,)) for number in range(threads)]
    began, longest = time.monotonic(), 0.0
    for attack in attacks:
        attack.start()
    while any(attack.is_alive() for attack in attacks):
        asked = time.monotonic()
        assert desk.believes("Bob", "e") == "v"
        longest = max(longest, time.monotonic() - asked)
    assert longest > 0.3 * (time.monotonic() - began)


def test_an_agents_own_connection_can_make_the_database_reach_out(own: redis.Redis) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        outside.settimeout(10)
        reached = []

        def listen() -> None:
            connection, _ = outside.accept()
            reached.append(connection.recv(3))
            connection.close()

        listening = threading.Thread(target=listen)
        listening.start()
        address = f"https://127.0.0.1:{outside.getsockname()[1]}/x.csv"
        own.execute_command("GRAPH.RO_QUERY", ANNS, f"LOAD CSV FROM '{address}' AS row RETURN row")
        listening.join()
    assert reached == [b"\x16\x03\x01"]  # how TLS begins


def test_a_connection_is_numbered_and_a_query_that_ran_before_is_said_to_be_cached(
    desk: Memory, own: redis.Redis
) -> None:
    def number() -> int:
        told = own.execute_command("HELLO")
        return int(dict(zip(told[::2], told[1::2], strict=True))[b"id"])

    def cached(query: str) -> bool:
        return b"Cached execution: 1" in own.execute_command("GRAPH.RO_QUERY", ANNS, query)[2]

    before = number()
    with view_of("Ann", "desk", desk.store) as view:
        view.my_beliefs()
    own.connection_pool.disconnect()
    assert number() > before + 1  # somebody was here in between
    questions = [f"MATCH (b:Belief) RETURN b.{of}" for of in ("entity", "value")]
    desk.database.command("GRAPH.RO_QUERY", ANNS, questions[1])
    assert [cached(question) for question in questions] == [False, True]


@pytest.mark.runs_on("embedded", why="a login that is a private file of the store")
def test_the_supervisors_login_is_a_file_of_the_stores_owner(store_path: Path) -> None:
    with Memory("desk", path=store_path) as memory:
        memory.grant("Ann")
    file = store_path / "supervisor.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_uid == store_path.stat().st_uid == (store_path / "agents").stat().st_uid


def test_a_connection_to_a_server_has_tls_only_where_it_is_asked_for() -> None:
    for tls in (False, True):
        client = client_of(ServerAddress("db.example", tls=tls), None, None)
        assert issubclass(client.connection_pool.connection_class, redis.SSLConnection) == tls


def test_of_a_forgotten_agent_a_hash_stays_with_the_logins(desk: Memory) -> None:
    desk.forget(agent="Ann")
    assert database_user("Ann") in desk.database.command("HGETALL", "so:logins")
    assert [login.agent for login in desk.grants()] == []


@pytest.mark.runs_on("embedded", "server", why="a node of a cluster keeps no telemetry of a graph")
def test_telemetry_of_what_was_asked_goes_when_it_is_forgotten(desk: Memory) -> None:
    desk.database.everywhere(("GRAPH.CONFIG", "SET", "CMD_INFO", "yes"))  # as on a server of others
    desk.set("secret plan", "v", by="Bob")
    desk.believes("Ann", "secret plan")
    stream = f"telemetry{{{ANNS}}}"

    def holds() -> bool:
        return "secret plan" in str(desk.database.command("XRANGE", stream, "-", "+"))

    wait_until(holds)
    desk.forget(entity="secret plan")
    assert not holds()


@pytest.mark.runs_on("embedded", why="a server's files are its operator's")
def test_a_deleted_scenario_is_in_the_file_until_that_is_rewritten(desk: Memory) -> None:
    def on_disk() -> bool:
        folder = desk.store.path / "data" / "appendonlydir"  # type: ignore[union-attr]
        found = []
        for file in folder.iterdir():
            with suppress(FileNotFoundError):  # of those that were rewritten, just now
                found.append(b"swordfish" in file.read_bytes())
        return any(found)

    desk.set("code", "swordfish", by="Ann")
    desk.reset_scenario("desk")
    assert on_disk()
    desk.database.command("BGREWRITEAOF")
    wait_until(lambda: not on_disk())
