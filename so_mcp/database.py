"""The connection to FalkorDB: reads, and one event's transaction. Nothing else talks to it.

Every query comes from the catalogue. What changes anything is never sent twice by itself: a write
that was slow or cut off must not happen again behind the caller's back.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import redis
from falkordb.query_result import QueryResult
from hiredis import pack_command
from redis import exceptions as redis_errors
from redis.backoff import NoBackoff
from redis.retry import Retry

from .config import ServerAddress
from .cypher import Prepared, Query, catalogue
from .database_errors import is_empty_graph, translated
from .embedded import EmbeddedStore
from .errors import ConnectionLostError, OutcomeUnknownError, StoreError
from .private_files import is_full

Row = dict[str, Any]


class Call(NamedTuple):
    """One query on one graph."""

    graph: str
    query: str
    params: dict[str, Any]
    prepared: Prepared | None = None  # those of the parameters that several calls share

    def command(self) -> tuple[str, ...]:
        """The command as the engine gets it."""
        query = catalogue()[self.query]
        verb = "GRAPH.RO_QUERY" if query.mode == "read" else "GRAPH.QUERY"
        return (verb, self.graph, query.render(self.params, self.prepared), "--compact")


_TURN_MS = 2_000
_CHANGES_NOTHING = frozenset({  # of the plain commands
    ("ACL", "GETUSER"), ("ACL", "LIST"), ("CONFIG", "GET"), "EXISTS", "GRAPH.LIST", "HGET", "HMGET",
    "INFO", "PING", "SCAN",
})
_ANSWER_SECONDS = 120.0  # the client library's own five are less than a slow disk may take
_LOADING_SECONDS = 600.0  # ten thousand minds load in eleven seconds


class Turn(NamedTuple):
    """Who may write: nobody in particular, or for a moment one who kept losing (``mine``: we)."""

    key: str
    mine: str = ""


class Conflict(Exception):  # noqa: N818 - not an error: the caller looks again and retries
    """Somebody else changed the watched key in between; nothing was written."""


class Database:
    """A login on a database, embedded or a server.

    ``observers`` are told what is sent, one call a round trip, for tests that count them.
    """

    def __init__(
        self,
        connect: Callable[[], redis.Redis],
        close: Callable[[], None],
        folder: Path | None = None,
    ) -> None:
        """Nothing is opened until the first call. ``folder``: of an embedded database, its files'."""
        self._connect = connect
        self._close = close
        self._folder = folder
        self._connecting = threading.Lock()
        self._closed_for_good = False
        self._client: redis.Redis | None = None
        self.observers: list[Callable[[list[tuple[str, ...]]], None]] = []

    def close(self, *, for_good: bool = False) -> None:
        """Leave the embedded server; ``for_good``: a thread still at work cannot start it again."""
        self._closed_for_good |= for_good
        with self._connecting:
            if self._client is not None:
                self._client.close()
                self._client.connection_pool.disconnect()
                self._client = None
            self._close()

    def command(self, *parts: str | int) -> Any:
        """One plain command; if it changes nothing, once more if the connection had been lost."""
        command = tuple(str(part) for part in parts)
        harmless = command[0] in _CHANGES_NOTHING or command[:2] in _CHANGES_NOTHING
        return (self._ask if harmless else self._send_anew)([command])[0]

    def commands(self, commands: list[tuple[str, ...]]) -> list[Any]:
        """Several plain commands in one packet: they run even if we are gone before the answer."""
        return self._send_anew(commands)

    def read(self, graph: str, query: str, **params: Any) -> list[Row]:
        """Run one read of the catalogue. A graph that does not exist yet is empty."""
        return self.read_all([Call(graph, query, params)])[0]

    def read_all(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Run several reads in one round trip; once more if the connection had been lost."""
        replies = self._ask([call.command() for call in calls])
        return [_rows(call, reply) for call, reply in zip(calls, replies, strict=True)]

    def read_together(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Several reads of one moment, whoever writes meanwhile. For the supervisor alone."""
        replies = self._ask([("MULTI",), *(call.command() for call in calls), ("EXEC",)])[-1]
        for reply in replies:
            if isinstance(reply, redis_errors.ResponseError) and not is_empty_graph(reply):
                raise translated(reply) from reply
        return [_rows(call, reply) for call, reply in zip(calls, replies, strict=True)]

    def _ask(self, commands: list[tuple[str, ...]]) -> list[Any]:
        """Send what changes nothing; once more if the connection had been lost."""
        try:
            return self._send_anew(commands)
        except ConnectionLostError:
            return self._send_anew(commands)

    def _send_anew(self, commands: list[tuple[str, ...]]) -> list[Any]:
        with self._connection() as connection:
            return self._send(connection, commands)

    @contextmanager
    def transaction(self, watched: str, turn: Turn | None = None) -> Iterator[Transaction]:
        """Look at the world and change it as if nobody else could: WATCH … MULTI … EXEC.

        Raises `Conflict` out of the block when the watched key was changed meanwhile.
        """
        with self._connection() as connection:
            yield Transaction(self, connection, watched, turn)

    def take(self, turn: Turn) -> Turn:
        """Ask for the turn; it is ours until we have committed, or for `_TURN_MS`."""
        mine = secrets.token_hex(8)
        try:
            taken = self.command("SET", turn.key, mine, "NX", "PX", _TURN_MS)
        except ConnectionLostError:
            return turn  # whoever holds it, it passes; the writer goes on without
        return turn._replace(mine=mine) if taken else turn

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        pool, connection = self._connected()
        try:
            yield connection
        except Conflict:
            raise  # EXEC has ended the conversation cleanly
        except BaseException as error:
            # Whatever cut us off may have left half a conversation on this connection.
            connection.disconnect()
            if isinstance(error, redis_errors.BusyLoadingError):
                self._client = None  # somebody started it again: connect anew, which waits
            if isinstance(error, redis_errors.RedisError | OSError):
                raise translated(error) from error
            raise
        finally:
            pool.release(connection)

    def _connected(self) -> tuple[Any, Any]:
        """A live connection; a server that was killed is started again, once.

        A login that worked and is refused now was rotated: it is looked up again, once.
        """
        for attempt in (1, 2):
            known = self._client is not None
            try:
                pool = self._connected_client().connection_pool
                return pool, pool.get_connection()
            except redis_errors.RedisError as error:
                self._client = None
                again = isinstance(error, redis_errors.ConnectionError) and attempt == 1
                if not again or (isinstance(error, redis_errors.AuthenticationError) and not known):
                    raise translated(error) from error
        raise AssertionError("unreachable")

    def _connected_client(self) -> redis.Redis:
        with self._connecting:
            if self._closed_for_good:
                raise ConnectionLostError("The connection is closed: this process is ending.")
            if self._client is None:
                client = self._connect()
                _wait_until_loaded(client)
                self._client = client
            return self._client

    def _send(self, connection: Any, commands: list[tuple[str, ...]]) -> list[Any]:
        """One round trip; a refused command's error stands in its place in the answer."""
        for observer in self.observers:
            observer(commands)
        packed = [pack_command(command) for command in commands]  # type: ignore[arg-type]
        connection.send_packed_command([b"".join(packed)])
        replies = []
        for _ in commands:
            try:
                replies.append(connection.read_response())
            except redis_errors.ResponseError as error:
                replies.append(error)
        for reply in replies:
            if isinstance(reply, redis_errors.ResponseError) and not is_empty_graph(reply):
                raise translated(reply) from reply
        return replies


class Transaction:
    """The two halves of a transaction: look (under WATCH), then commit all or nothing."""

    def __init__(
        self, database: Database, connection: Any, watched: str, turn: Turn | None
    ) -> None:
        """For `Database.transaction` alone."""
        self._turn = turn
        self._database = database
        self._connection = connection
        self._watched = watched

    def watch(self, key: str | None = None) -> dict[str, int]:
        """Start watching, and return the counters under the watched key; or those under another.

        Raises `Conflict` while it is another's turn.
        """
        key = key or self._watched
        flat = self._looked(key, ("HGETALL", key))
        pairs = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
        return {name: int(number) for name, number in pairs}

    def watch_for(self, *names: str) -> list[str | None]:
        """Start watching as `watch` does, and return these counters alone, as text."""
        found: list[str | None] = self._looked(self._watched, ("HMGET", self._watched, *names))
        return found

    def _looked(self, key: str, look: tuple[str, ...]) -> Any:
        commands: list[tuple[str, ...]] = [("WATCH", key), look]
        if self._turn is None:
            return self._database._send(self._connection, commands)[1]  # noqa: SLF001 - they are one
        commands.append(("GET", self._turn.key))
        _, found, whose = self._database._send(self._connection, commands)  # noqa: SLF001
        if whose is not None and whose != self._turn.mine:
            self._database._send(self._connection, [("UNWATCH",)])  # noqa: SLF001
            raise Conflict
        return found

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Watch other keys too; which of them do not exist."""
        if not keys:
            return []
        _, *exist = self._database._send(  # noqa: SLF001 - the two are one
            self._connection, [("WATCH", *keys), *(("EXISTS", key) for key in keys)]
        )
        return [key for key, there in zip(keys, exist, strict=True) if not there]

    def read_all(self, calls: Sequence[Call]) -> list[list[Row]]:
        """Read under the watch."""
        replies = self._database._send(  # noqa: SLF001 - the two are one
            self._connection, [call.command() for call in calls]
        )
        return [_rows(call, reply) for call, reply in zip(calls, replies, strict=True)]

    def unwatch(self) -> None:
        """Give up without writing."""
        self._database._send(self._connection, [("UNWATCH",)])  # noqa: SLF001 - the two are one

    def commit(
        self,
        counters: dict[str, int],
        calls: Sequence[Call],
        lifetimes: Mapping[str, int] | None = None,
        first: Sequence[tuple[str, ...]] = (),
    ) -> None:
        """Write the counters and run every call, all or nothing. Raises `Conflict`.

        ``lifetimes``: keys that the calls make, and after how many seconds they go by themselves.
        ``first``: plain commands that go before, such as DEL and RENAME of whole graphs.
        """
        folder = self._database._folder  # noqa: SLF001 - the two are one
        if folder is not None and is_full(folder):  # a write that fails ends the database
            raise StoreError(
                "The disk is full. Nothing of this was recorded; what is recorded can be read. "
                "Free some space, then record it again."
            )
        changed = [str(part) for pair in counters.items() for part in pair]
        before = [*first, *([("HSET", self._watched, *changed)] if changed else [])]
        commands = [
            ("MULTI",),
            *before,
            *(call.command() for call in calls),
            *(("EXPIRE", key, str(seconds)) for key, seconds in (lifetimes or {}).items()),
            *([("DEL", self._turn.key)] if self._turn is not None and self._turn.mine else []),
            ("EXEC",),
        ]
        try:
            results = self._database._send(self._connection, commands)[-1]  # noqa: SLF001
        except (redis_errors.ConnectionError, redis_errors.TimeoutError, OSError) as error:
            full = folder is not None and is_full(folder)
            raise OutcomeUnknownError(
                f"The connection broke while an event was being committed ({error}). It is "
                "recorded entirely or not at all: record it again under the same id to be sure."
                + (" The disk is full: free some space first." if full else "")
            ) from error
        if results is None:
            raise Conflict
        for command, result in zip(before, results, strict=False):
            if isinstance(result, redis_errors.ResponseError):
                raise StoreError(f"{command[0]} failed inside a transaction ({result}).")
        for call, result in zip(calls, results[len(before):], strict=False):
            # An error may stand in a result's place, or at its end when it came while running.
            failed = result if isinstance(result, redis_errors.ResponseError) else result[-1]
            if isinstance(failed, redis_errors.ResponseError):
                raise StoreError(
                    f"{call.query} failed inside a transaction ({failed}); the mind "
                    f"{call.graph} may lack what the log holds. Run: so-mcp verify"
                )


def supervisor_database(store: EmbeddedStore | ServerAddress) -> Database:
    """The supervisor's login: every graph of every scenario."""
    if isinstance(store, ServerAddress):
        return Database(lambda: client_of(store, store.username, store.password), lambda: None)
    own = EmbeddedStore(store.path)  # each database is counted among the users by itself

    def connect() -> redis.Redis:
        own.attach()
        return client_of(own, *own.supervisor_login())

    return Database(connect, own.detach, own.path)


def agent_database(store: EmbeddedStore | ServerAddress, username: str, agent: str) -> Database:
    """One agent's login: its own mind. Never the supervisor's, whatever the environment says."""
    if isinstance(store, ServerAddress):
        return Database(lambda: client_of(store, username, store.password), lambda: None)

    own = EmbeddedStore(store.path)

    def connect() -> redis.Redis:
        own.attach(create=False)
        return client_of(own, *own.agent_login(agent))

    return Database(connect, own.detach)


def client_of(
    store: EmbeddedStore | ServerAddress, username: str | None, password: str | None
) -> redis.Redis:
    """A plain client, and not FalkorDB's own: that one sends INFO, which no agent may.

    Who may send ``INFO server`` may also send ``INFO server everything``, and read there how many
    keys there are and how often each command has run: a count of what reached others.
    """
    where: dict[str, Any] = (
        {"host": store.host, "port": store.port, "socket_connect_timeout": 10}
        if isinstance(store, ServerAddress)
        else {"unix_socket_path": store.socket_path}
    )
    return redis.Redis(
        **where,
        socket_timeout=_ANSWER_SECONDS,
        username=username,
        password=password,
        decode_responses=True,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
    )


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


def _rows(call: Call, reply: Any) -> list[Row]:
    if isinstance(reply, redis_errors.ResponseError):
        return []  # the graph does not exist yet
    query: Query = catalogue()[call.query]
    names = [column.name for column in query.returns]
    return [dict(zip(names, row, strict=True)) for row in QueryResult(None, reply).result_set]
