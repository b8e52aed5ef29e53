"""Where a command goes: to the one node there is, or to that of a cluster's which holds the key.

Of a cluster nothing has to be known before: a node that does not hold a key says which does (MOVED),
and that is remembered. So an agent needs no right to look at the cluster. The keys of one scenario
share a hash slot, and so a node: a transaction never spans two.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import redis
from redis import exceptions as redis_errors
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from .config import ServerAddress
from .embedded import EmbeddedStore
from .errors import ConnectionLostError

_ANSWER_SECONDS = 120.0  # the client library's own five are less than a slow disk may take
_LOADING_SECONDS = 600.0  # ten thousand minds load in eleven seconds
_KEYLESS = frozenset({
    "ACL", "BGREWRITEAOF", "BGSAVE", "CLIENT", "CLUSTER", "CONFIG", "EXEC", "GRAPH.LIST", "INFO",
    "KEYS", "MULTI", "PING", "ROLE", "SCAN", "SLOWLOG", "UNWATCH",
})


class Address(NamedTuple):
    """A node, as the others call it."""

    host: str
    port: int

    def __str__(self) -> str:
        """As an operator writes it."""
        return f"{self.host}:{self.port}"


Node = Address | None  # None: the one that we were told of
Connect = Callable[[Node], redis.Redis]


def client_of(
    store: EmbeddedStore | ServerAddress,
    username: str | None,
    password: str | None,
    *,
    replica: bool = False,
) -> redis.Redis:
    """A plain client, and not FalkorDB's own: that one sends INFO, which no agent may.

    Who may send ``INFO server`` may also send ``INFO server everything``, and read there how many
    keys there are and how often each command has run: a count of what reached others. ``replica``:
    a replica in a cluster may answer it too, from what has come there so far.
    """
    where: dict[str, Any]
    if isinstance(store, ServerAddress):
        where = {"host": store.host, "port": store.port, "socket_connect_timeout": 10}
        if store.tls:
            where |= {"ssl": True, "ssl_ca_certs": store.tls_ca, "ssl_check_hostname": True}
        if replica:
            where["redis_connect_func"] = _connect_for_reading
    else:
        where = {"unix_socket_path": store.socket_path}
    return redis.Redis(
        **where,
        socket_timeout=_ANSWER_SECONDS,
        username=username,
        password=password,
        decode_responses=True,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
    )


def at(store: ServerAddress, node: Node) -> ServerAddress:
    """The same login at another node."""
    return store if node is None else replace(store, host=node.host, port=node.port)


def key_of(command: Sequence[str]) -> str | None:
    """The key that decides where a command goes; None: it may go anywhere."""
    return None if command[0] in _KEYLESS else command[1]


def cluster_nodes(told: str, *, replicas: bool) -> list[Node]:
    """From what CLUSTER NODES says: every member, by its host name where it has one.

    One that has failed too: it may come back with what it knew, logins for example.
    """
    found: list[Node] = []
    for line in told.splitlines():
        _, where, flags, *_ = line.split()
        if "handshake" in flags or "noaddr" in flags or ("slave" in flags and not replicas):
            continue
        address, _, names = where.partition(",")
        host, _, port = address.partition("@")[0].rpartition(":")
        name = names.partition(",")[0]
        found.append(None if "myself" in flags else Address(name or host, int(port)))
    return sorted(found, key=lambda node: node is not None)


def ending() -> ConnectionLostError:
    """The error of whoever is at work while the connection is closed for good."""
    return ConnectionLostError("The connection is closed: this process is ending.")


class Connections:
    """Connections to every node that was needed so far, and who holds what."""

    def __init__(
        self,
        connect: Connect,
        *,
        embedded: bool,
        check: Callable[[redis.Redis], None] = lambda _: None,
    ) -> None:
        """Nothing is opened until the first call. ``check`` raises for a node that cannot be used."""
        self._connect, self._check = connect, check
        self.embedded = embedded
        self.one_node = embedded  # holds all; of a server that has to be found out
        self._connecting = threading.Lock()
        self.closed_for_good = False
        self._clients: dict[Node, redis.Redis] = {}
        self._first: Node = None  # who is asked where nothing is known
        self._others: set[Address] = set()  # who may be, should that one be gone
        self._holders: dict[int, Address] = {}  # by hash slot; of others the first node knows

    def close(self, *, for_good: bool = False) -> None:
        """Leave every node; ``for_good``: a thread still at work cannot come back."""
        self.closed_for_good |= for_good
        with self._connecting:
            clients, self._clients = self._clients, {}  # who is cut off forgets its own
            for client in clients.values():
                client.close()
                client.connection_pool.disconnect()

    def holder(self, key: str | None) -> Node:
        """The node that holds a key, as far as is known."""
        if key is None or not self._holders:
            return None
        return self._holders.get(key_slot(key.encode()))

    def slot(self, key: str | None) -> int | None:
        """What of a key decides where it is; None where everything is in one place."""
        return None if self.one_node or key is None else key_slot(key.encode())

    def moved(self, error: redis_errors.MovedError, asked: Node) -> None:
        """Remember what a node said of a slot that it does not hold."""
        host = error.host or (asked.host if asked else self._client(None).get_connection_kwargs()["host"])
        self._holders[error.slot_id] = named = Address(str(host), int(error.port))
        self._others.add(named)

    def take(self, node: Node) -> tuple[redis.ConnectionPool, Any]:
        """A live connection, to be given back to its pool.

        A server that was killed is started again, once. A login that worked and is refused now was
        rotated: it is looked up again, once. Raises what the client library does.
        """
        for attempt in (1, 2):
            known = node in self._clients
            try:
                pool = self._client(node).connection_pool
                return pool, pool.get_connection()
            except redis_errors.RedisError as error:
                self.forget(node)
                again = isinstance(error, redis_errors.ConnectionError) and attempt == 1
                if again and node is None and self._others:
                    self._first = self._others.pop()  # the first node of this cluster is gone
                if not again or (isinstance(error, redis_errors.AuthenticationError) and not known):
                    raise
        raise AssertionError("unreachable")

    def forget(self, node: Node) -> None:
        """Connect anew the next time; who holds what may have changed as well."""
        self._clients.pop(node, None)
        self._holders.clear()

    def _client(self, node: Node) -> redis.Redis:
        with self._connecting:
            if self.closed_for_good:
                raise ending()
            if node not in self._clients:
                client = self._connect(self._first if node is None else node)
                _wait_until_loaded(client)
                self._check(client)
                self._clients[node] = client
            return self._clients[node]


def _connect_for_reading(connection: Any) -> None:
    connection.on_connect()
    connection.send_command("READONLY")
    with suppress(redis_errors.ResponseError):  # it is no cluster, or this login was not told of one
        connection.read_response()


def _wait_until_loaded(client: redis.Redis) -> None:
    """A server that was just started first reads its append-only file."""
    deadline = time.monotonic() + _LOADING_SECONDS
    while True:
        try:
            client.ping()
        except redis_errors.BusyLoadingError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
