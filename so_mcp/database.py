"""FalkorDB: reads, and one event's transaction. Nothing else talks to it.

Every query comes from the catalogue. What changes anything is never sent twice by itself: a write
that was slow or cut off must not happen again behind the caller's back.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import redis
from hiredis import pack_command
from redis import exceptions as redis_errors

from .config import ServerAddress
from .connections import (
    Address,
    Connect,
    Connections,
    Node,
    at,
    client_of,
    cluster_nodes,
    ending,
    key_of,
)
from .database_errors import is_empty_graph, translated
from .diagnostics import round_trip
from .embedded import EmbeddedStore
from .errors import (
    ConnectionLostError,
    PartlyDoneError,
    SecondOrderError,
    StoreError,
    message_of,
)
from .transactions import Call, Conflict, Row, Transaction, Turn, rows
from .wording import counted, listed

__all__ = [
    "Call", "Conflict", "Database", "Row", "Transaction", "Turn", "agent_database", "client_of",
    "supervisor_database",
]

_T = TypeVar("_T")
_TURN_MS = 2_000
_CHANGES_NOTHING = frozenset({  # of the plain commands
    ("ACL", "GETUSER"), ("ACL", "LIST"), ("CLUSTER", "NODES"), ("CONFIG", "GET"), "EXISTS",
    "GRAPH.LIST", "HGET", "HMGET", "INFO", "PING", "ROLE", "SCAN",
})
_HOPS = 5  # from node to node, after which a cluster does not know itself


class _Moved(Exception):  # noqa: N818 - not an error: ask the one that was named
    """The node that was asked does not hold the key; nothing was done."""


class Database:
    """A login on a database: embedded, a server, or a cluster of them.

    ``observers`` are told what is sent, one call a round trip, for tests that count them.
    """

    def __init__(
        self, connections: Connections, close: Callable[[], None], folder: Path | None = None
    ) -> None:
        """Nothing is opened until the first call. ``folder``: of an embedded database, its files'."""
        self._connections = connections
        self._close = close
        self._folder = folder
        self.observers: list[Callable[[list[tuple[str, ...]]], None]] = []

    def close(self, *, for_good: bool = False) -> None:
        """Leave the embedded server; ``for_good``: a thread still at work cannot start it again."""
        try:
            self._connections.close(for_good=for_good)
        finally:
            self._close()

    def command(self, *parts: str | int, beside: str | None = None) -> Any:
        """One plain command; if it changes nothing, once more if the connection had been lost.

        One that names no key runs on the node that holds the key ``beside``.
        """
        command = tuple(str(part) for part in parts)
        # A node tells us that it is the wrong one only where a key is named.
        look = [] if beside is None or self._connections.one_node else [("EXISTS", beside)]
        return self._send_to(beside or key_of(command), [*look, command], again=_harmless(command))[-1]

    def commands(self, commands: list[tuple[str, ...]]) -> list[Any]:
        """Several on keys of one scenario, in one packet: they run even if we are gone meanwhile."""
        return self._send_to(key_of(commands[0]), commands)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete keys, whichever of them there are, of whatever scenarios."""
        for _, some in self._by_place(sorted(keys), lambda key: key):
            self.command("DEL", *(key for _, key in some))

    def graphs(self, prefix: str = "") -> list[str]:
        """The keys of all graphs; or of those that begin with ``prefix``, which names a scenario."""
        if prefix:
            found = self.command("GRAPH.LIST", beside=prefix)
        else:
            primaries = self.nodes(replicas=False)
            found = [*chain(*self.everywhere(("GRAPH.LIST",), nodes=primaries).values())]
        return [key for key in found if key.startswith(prefix)]

    def nodes(self, *, replicas: bool = True) -> list[Node]:
        """Every node, the one that we were told of first. For the supervisor alone."""
        if self._connections.embedded:
            return [None]
        if self.in_cluster():
            return cluster_nodes(self.command("CLUSTER", "NODES"), replicas=replicas)
        if not replicas:
            return [None]
        what, _, followers, *_ = self.command("ROLE")
        if what != "master":
            return [None]
        return [None, *(Address(host, int(port)) for host, port, _ in followers)]

    def holder(self, key: str) -> Node:
        """The node that holds a key."""
        self.command("EXISTS", key)
        return self._connections.holder(key)

    def in_cluster(self) -> bool:
        """Whether it is a cluster. For the supervisor alone."""
        if not self._connections.one_node:
            told = str(self.command("INFO", "cluster"))
            self._connections.one_node = "cluster_enabled:1" not in told
        return not self._connections.one_node

    def everywhere(
        self, *commands: tuple[str, ...], nodes: Sequence[Node] | None = None
    ) -> dict[Node, Any]:
        """What every node (or each of ``nodes``) answers to the last of these commands.

        Raises `PartlyDoneError` when one of several could not be asked, or refused; the others
        have done it then.
        """
        answers: dict[Node, Any] = {}
        failed: dict[Node, SecondOrderError] = {}
        everyone = self.nodes() if nodes is None else nodes
        again = all(map(_harmless, commands))
        for node in everyone:
            try:
                answers[node] = self._send_at(node, list(commands), again=again)[-1]
            except SecondOrderError as error:
                if len(everyone) == 1:
                    raise
                failed[node] = error
        for node, why in failed.items():
            raise PartlyDoneError(
                f"{' '.join(commands[0][:2])}: done on {counted(len(answers), 'node')} of "
                f"{len(everyone)}, and not on {listed([str(n or 'the first') for n in failed])} "
                f"({node or 'the first'}: {message_of(why)}). Try again when every node answers; "
                "one that is gone for good, take out (CLUSTER FORGET)."
            ) from why
        return answers

    def read(self, graph: str, query: str, **params: Any) -> list[Row]:
        """Run one read of the catalogue. A graph that does not exist yet is empty."""
        return self.read_all([Call(graph, query, params)])[0]

    def read_all(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Run several reads in one round trip (to each node); again if the connection had been lost."""
        found: list[list[Row]] = [[] for _ in calls]
        for key, some in self._by_place(calls, lambda call: call.graph):
            replies = self._send_to(key, [call.command() for _, call in some], again=True)
            for (place, call), reply in zip(some, replies, strict=True):
                found[place] = rows(call, reply)
        return found

    def read_together(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Several reads of one moment, whoever writes meanwhile. For the supervisor alone."""
        commands = [("MULTI",), *(call.command() for call in calls), ("EXEC",)]
        replies = self._send_to(calls[0].graph, commands, again=True)[-1]
        for reply in replies:
            if isinstance(reply, redis_errors.ResponseError) and not is_empty_graph(reply):
                raise translated(reply) from reply
        return [rows(call, reply) for call, reply in zip(calls, replies, strict=True)]

    @contextmanager
    def transaction(self, watched: str, turn: Turn | None = None) -> Iterator[Transaction]:
        """Look at the world and change it as if nobody else could: WATCH … MULTI … EXEC.

        Raises `Conflict` out of the block when the watched key was changed meanwhile, or was found
        to be on another node than was thought.
        """
        try:
            with self._connection(self._connections.holder(watched)) as connection:
                yield Transaction(self, connection, watched, turn)
        except _Moved:
            raise Conflict from None

    def take(self, turn: Turn) -> Turn:
        """Ask for the turn; it is ours until we have committed, or for `_TURN_MS`."""
        mine = secrets.token_hex(8)
        try:
            taken = self.command("SET", turn.key, mine, "NX", "PX", _TURN_MS)
        except ConnectionLostError:
            return turn  # whoever holds it, it passes; the writer goes on without
        return turn._replace(mine=mine) if taken else turn

    def _by_place(
        self, items: Sequence[_T], key: Callable[[_T], str]
    ) -> Iterable[tuple[str, list[tuple[int, _T]]]]:
        """What can be sent together: items with their places, and a key that they are beside."""
        together: dict[int | None, list[tuple[int, _T]]] = {}
        for place, item in enumerate(items):
            together.setdefault(self._connections.slot(key(item)), []).append((place, item))
        return [(key(some[0][1]), some) for some in together.values()]

    def _send_to(
        self, key: str | None, commands: list[tuple[str, ...]], *, again: bool = False
    ) -> list[Any]:
        """One packet to the node that holds ``key``. ``again``: once more if the connection is lost."""
        for _ in range(_HOPS):
            node = self._connections.holder(key)
            try:
                return self._send_at(node, commands, again=again and node is None)
            except _Moved:
                continue
            except ConnectionLostError:
                if node is None or not again:
                    raise
                again = False  # another node may have taken its place: the first one knows
        raise StoreError(
            f"No node of the cluster holds {key}: each names another. Check it: redis-cli --cluster "
            "check HOST:PORT"
        )

    def _send_at(
        self, node: Node, commands: list[tuple[str, ...]], *, again: bool = False
    ) -> list[Any]:
        try:
            with self._connection(node) as connection:
                return self._send(connection, commands, node)
        except ConnectionLostError:
            if not again:
                raise
        return self._send_at(node, commands)

    @contextmanager
    def _connection(self, node: Node) -> Iterator[Any]:
        try:
            pool, connection = self._connections.take(node)
        except Exception as error:
            self._raise_as_ours(error)
            raise
        try:
            yield connection
        except Conflict:
            raise  # EXEC has ended the conversation cleanly
        except BaseException as error:
            # Whatever cut us off may have left half a conversation on this connection.
            connection.disconnect()
            if isinstance(error, redis_errors.BusyLoadingError | redis_errors.ConnectionError):
                self._connections.forget(node)  # somebody started it again, or another took its place
            if isinstance(error, Exception):
                self._raise_as_ours(error)
            raise
        finally:
            pool.release(connection)

    def _raise_as_ours(self, error: Exception) -> None:
        """Raise one of ours where it is the database's, or came of a connection taken away in mid-use."""
        if isinstance(error, redis_errors.RedisError | OSError):
            raise translated(error) from error
        if self._connections.closed_for_good and not isinstance(error, SecondOrderError):
            raise ending() from error

    def _send(
        self, connection: Any, commands: list[tuple[str, ...]], node: Node = None
    ) -> list[Any]:
        """One round trip; a refused command's error stands in its place in the answer."""
        for observer in self.observers:
            observer(commands)
        begun = time.perf_counter()
        packed = [pack_command(command) for command in commands]  # type: ignore[arg-type]
        connection.send_packed_command([b"".join(packed)])
        replies = []
        for _ in commands:
            try:
                replies.append(connection.read_response())
            except redis_errors.ResponseError as error:
                replies.append(error)
        round_trip(commands, begun)
        for reply in replies:
            if isinstance(reply, redis_errors.MovedError):
                self._connections.moved(reply, node)
                raise _Moved
            if isinstance(reply, redis_errors.ResponseError) and not is_empty_graph(reply):
                raise translated(reply) from reply
        return replies


def _harmless(command: tuple[str, ...]) -> bool:
    return command[0] in _CHANGES_NOTHING or command[:2] in _CHANGES_NOTHING


def supervisor_database(store: EmbeddedStore | ServerAddress) -> Database:
    """The supervisor's login: every graph of every scenario."""
    if isinstance(store, ServerAddress):
        return _on_server(
            lambda node: client_of(at(store, node), store.username, store.password),
            _refuse_cut_answers,
        )
    own = EmbeddedStore(store.path)  # each database is counted among the users by itself

    def connect(_: Node) -> redis.Redis:
        own.attach()
        return client_of(own, *own.supervisor_login())

    return Database(Connections(connect, embedded=True), own.detach, own.path)


def agent_database(store: EmbeddedStore | ServerAddress, username: str, agent: str) -> Database:
    """One agent's login: its own mind. Never the supervisor's, whatever the environment says."""
    if isinstance(store, ServerAddress):
        return _on_server(
            lambda node: client_of(at(store, node), username, store.password, replica=True)
        )
    own = EmbeddedStore(store.path)

    def connect(_: Node) -> redis.Redis:
        own.attach(create=False)
        return client_of(own, *own.agent_login(agent))

    return Database(Connections(connect, embedded=True), own.detach)


def _on_server(
    connect: Connect, check: Callable[[redis.Redis], None] = lambda _: None
) -> Database:
    return Database(Connections(connect, embedded=False, check=check), lambda: None)


def _refuse_cut_answers(client: Any) -> None:
    """A server may leave rows out of an answer and not say so; then a world would be read in part."""
    try:
        limit = client.execute_command("GRAPH.CONFIG", "GET", "RESULTSET_SIZE")[1]
    except redis_errors.ResponseError:
        return  # this user may not look; `so-mcp doctor` says what it needs
    if limit != -1:
        raise StoreError(
            f"The server cuts every answer after {limit} rows and does not say so. Nothing was read or "
            "written. There, run: GRAPH.CONFIG SET RESULTSET_SIZE -1, and start it so "
            "(FALKORDB_ARGS, or its line loadmodule)."
        )
