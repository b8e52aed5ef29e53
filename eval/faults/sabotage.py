"""What the fault run must notice: three ways to break the engine, within the writers alone.

They change the engine from outside, in the process that calls one, so that the product needs no
switch for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from so_mcp.database import Database, Transaction


def _no_durability() -> None:
    """Nothing is kept on disk from now on, whoever started the server."""
    transaction = Database.transaction

    def without(self: Database, *arguments: Any, **named: Any) -> Any:
        self.command("CONFIG", "SET", "appendonly", "no")
        return transaction(self, *arguments, **named)

    Database.transaction = without  # type: ignore[method-assign]


def _a_witness_is_skipped() -> None:
    """Of each transaction, what the last witness would have come to believe is not written."""
    commit = Transaction.commit

    def without(self: Transaction, counters: Any, calls: Any, *rest: Any, **named: Any) -> None:
        believing = [call for call in calls if call.query == "mind/believe"]
        commit(self, counters, [c for c in calls if c not in believing[-1:]], *rest, **named)

    Transaction.commit = without  # type: ignore[method-assign]


def _ids_are_ignored() -> None:
    """Of no event is it found that it has been recorded before."""
    read_all = Transaction.read_all

    def without(self: Transaction, calls: Any) -> Any:
        found = read_all(self, calls)
        return [
            [] if call.query == "world/events_by_id" else rows
            for call, rows in zip(calls, found, strict=True)
        ]

    Transaction.read_all = without  # type: ignore[method-assign]


WAYS: dict[str, Callable[[], None]] = {
    "no durability": _no_durability,
    "a witness is skipped": _a_witness_is_skipped,
    "ids are ignored": _ids_are_ignored,
}
