"""What the database and its client library say when something fails, in our errors."""

from __future__ import annotations

from redis import exceptions as redis_errors

from .errors import AccessError, ConnectionLostError, StoreError


def is_empty_graph(error: redis_errors.ResponseError) -> bool:
    """Whether a query was refused because its graph does not exist yet."""
    return "empty key" in str(error)


def translated(error: Exception) -> Exception:
    """An error of the client library as one of ours, with what to do next."""
    text = str(error)
    if isinstance(error, redis_errors.AuthenticationError) or "WRONGPASS" in text:
        return AccessError(
            "The database refused this login (WRONGPASS). For an agent, run: so-mcp grant AGENT; "
            "on a server, check FALKORDB_USERNAME and FALKORDB_PASSWORD."
        )
    if isinstance(error, redis_errors.NoPermissionError) or "NOPERM" in text:
        # The client library cuts the database's own code off.
        return AccessError(
            f"The database refused this user: NOPERM {text.removeprefix('NOPERM ')}. "
            "An agent reads its own mind in the scenarios it was granted: "
            "so-mcp grant AGENT --scenario NAME."
        )
    if "MISCONF" in text:
        return StoreError(
            f"The database cannot write to its disk ({text.removeprefix('MISCONF ')}). Nothing of "
            "this was recorded; what is recorded can be read. Free some space, then record it again."
        )
    if isinstance(error, redis_errors.ConnectionError | redis_errors.TimeoutError | OSError):
        return ConnectionLostError(
            f"The database cannot be reached: {text}. If it is a server, check FALKORDB_HOST and "
            "FALKORDB_PORT; if it is embedded, try again: the next call starts it."
        )
    return StoreError(f"The database answered with an error: {text}")
