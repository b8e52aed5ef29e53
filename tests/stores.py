"""Where the tests run: ``pytest --database embedded``, ``server`` or ``cluster``.

A test asks for a database by the fixtures `shared_store` (and with it `memory`, `new_memory`,
`support`, `org`) or `own_store`, and reaches it by the functions here; so it runs on all three. What
is about the embedded database itself asks for `store_path` and says why it has to
(``@pytest.mark.runs_on("embedded", why="...")``); that, and what needs no database, is left out on
the other two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import redis

from eval.servers import DATABASES, Node, bare_socket, database, holder, memory_of
from so_mcp import AgentView, Memory
from so_mcp.config import ServerAddress
from so_mcp.database import supervisor_database
from so_mcp.embedded import EmbeddedStore
from so_mcp.grants import Store, _password
from so_mcp.names import database_user, normal_name

__all__ = [
    "DATABASES", "SECRET", "Store", "Stores", "bare_socket", "client", "credentials", "environment",
    "every_key",    "inherited", "login", "memory_of", "supervisor", "view_of",
]
# Agents' passwords on the servers here follow from it, so that a test need not carry them along.
SECRET = "what only the supervisors of these tests know"


class Stores:
    """Makes databases of the kind that was asked for, each empty."""

    def __init__(self, kind: str) -> None:
        """``kind``: one of `DATABASES`."""
        self.kind = kind
        self._idle: list[tuple[Store, list[Node]]] = []  # clusters: making one takes two seconds
        self._kept = ExitStack()

    def close(self) -> None:
        """Stop what is kept."""
        self._kept.close()

    @contextmanager
    def new(self) -> Iterator[Store]:
        """A database of one's own; embedded, its folder is not made yet."""
        if self.kind != "cluster":
            with database(self.kind) as (store, _):
                yield store
            return
        if not self._idle:
            self._idle.append(self._kept.enter_context(database(self.kind)))
        store, nodes = self._idle.pop()
        yield store
        for node in nodes:
            node.empty()
        self._idle.append((store, nodes))

    def delete(self, memories: list[Memory]) -> None:
        """Take everything away of the scenarios of these memories, which are there."""
        prefixes = tuple(f"so:{{{memory.scenario}}}:" for memory in memories)
        keys = every_key(memories[0], "so:{test-*")
        memories[0].database.delete(key for key in keys if key.startswith(prefixes))


def every_key(memory: Memory, pattern: str = "*") -> set[str]:
    """Of the whole database, the keys that match."""
    database = memory.database
    found = database.everywhere(("KEYS", pattern), nodes=database.nodes(replicas=False))
    return {*chain(*found.values())}


def view_of(agent: str, scenario: str | Sequence[str], store: Store) -> AgentView:
    """What one agent has with its own login there, whether or not it was granted one."""
    return AgentView(agent, scenario, login(agent, store))


def login(agent: str, store: Store) -> Store:
    """The database as an agent's process knows it."""
    if isinstance(store, EmbeddedStore):
        return store
    return replace(store, username=None, password=credentials(agent, store)[1])


def credentials(agent: str, store: Store) -> tuple[str, str]:
    """An agent's user and its password, as it is now."""
    if isinstance(store, EmbeddedStore):
        return store.agent_login(agent)
    agent = normal_name(agent, "agent")
    user = database_user(agent)
    database = supervisor_database(store)
    times = int(database.command("HGET", "so:logins", user) or 0)
    database.close()
    return user, _password(SECRET, agent, {agent: times})


def supervisor(store: Store) -> tuple[str | None, str | None]:
    """The supervisor's user and password; None is the default user."""
    if isinstance(store, EmbeddedStore):
        return store.supervisor_login()
    return store.username, store.password


def environment(store: Store, agent: str | None = None) -> dict[str, str]:
    """What a process there has to be told: the supervisor's, or an agent's."""
    env = {} if agent is None else {"SO_AGENT": agent}
    if isinstance(store, EmbeddedStore):
        return {**env, "FALKORDB_LITE_PATH": str(store.path)}
    if agent is None:
        env["SO_ACL_SECRET"] = SECRET
    address = store if agent is None else login(agent, store)
    assert isinstance(address, ServerAddress)
    env |= {
        "FALKORDB_HOST": address.host, "FALKORDB_PORT": str(address.port),
        "FALKORDB_PASSWORD": str(address.password),
    }
    if address.tls:
        env |= {"FALKORDB_TLS": "1", "FALKORDB_TLS_CA": str(address.tls_ca)}
    return env


def inherited(store: Store) -> dict[str, str]:
    """The same beside what this process was told: for a program in Python."""
    return {**os.environ, **environment(store)}


def client(
    store: Store, username: str | None, password: str | None, *, holding: str | None = None,
    **options: Any,
) -> redis.Redis:
    """A connection that nothing of ours made; of a cluster to the node that holds a key."""
    where: dict[str, Any]
    if isinstance(store, EmbeddedStore):
        where = {"unix_socket_path": store.socket_path}
    else:
        store = holder(store, holding)
        where = {"host": store.host, "port": store.port}
        if store.tls:
            where |= {"ssl": True, "ssl_ca_certs": store.tls_ca}
    return redis.Redis(**where, username=username, password=password, **options)
