"""One event, one transaction: WATCH, a look, MULTI, every write, EXEC.

So it is seen whole or not at all, in the world and in every mind, and is in the append-only file
whole or not at all. All keys are of one scenario, and so on one node of a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from falkordb.query_result import QueryResult
from redis import exceptions as redis_errors

from .cypher import Prepared, Query, catalogue
from .errors import OutcomeUnknownError, StoreError
from .private_files import is_full

if TYPE_CHECKING:
    from .database import Database

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


class Turn(NamedTuple):
    """Who may write: nobody in particular, or for a moment one who kept losing (``mine``: we)."""

    key: str
    mine: str = ""


class Conflict(Exception):  # noqa: N818 - not an error: the caller looks again and retries
    """Somebody else changed the watched key in between; nothing was written."""


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
        return [rows(call, reply) for call, reply in zip(calls, replies, strict=True)]

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


def rows(call: Call, reply: Any) -> list[Row]:
    """What a query returned, by the names of its columns in the catalogue."""
    if isinstance(reply, redis_errors.ResponseError):
        return []  # the graph does not exist yet
    query: Query = catalogue()[call.query]
    names = [column.name for column in query.returns]
    return [dict(zip(names, row, strict=True)) for row in QueryResult(None, reply).result_set]
