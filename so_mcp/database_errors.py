"""What the database and its client library say when something fails, in our errors."""

from __future__ import annotations

from typing import NamedTuple

from redis import exceptions as redis_errors

from .errors import AccessError, ConnectionLostError, SecondOrderError, StoreError


class _Meaning(NamedTuple):
    """An error of the client library, or a word of the database in any other, and what it means."""

    kind: type[Exception] | tuple[type[Exception], ...]
    word: str
    ours: type[SecondOrderError]
    says: str  # {text}: what the database said, without the word


_NONE = "Nothing of this was recorded"
# In this order: some kinds are also of a later one.
_MEANINGS = (
    _Meaning(
        (), "without any password configured", AccessError,
        "The database's 'default' user has no password, and one was given; every agent could become "
        "that user and read every mind. There, run: ACL SETUSER default resetpass >PASSWORD",
    ),
    _Meaning(
        redis_errors.AuthenticationError, "WRONGPASS", AccessError,
        "The database refused this login (WRONGPASS). For an agent, run: so-mcp grant AGENT; "
        "on a server, check FALKORDB_USERNAME and FALKORDB_PASSWORD.",
    ),
    _Meaning(
        # The client library cuts the database's own code off.
        redis_errors.NoPermissionError, "NOPERM", AccessError,
        "The database refused this user: NOPERM {text}. An agent reads its own mind in the "
        "scenarios it was granted: so-mcp grant AGENT --scenario NAME. A supervisor's user on a "
        "server needs the rights that DEPLOY.md lists.",
    ),
    _Meaning(
        redis_errors.ReadOnlyError, "READONLY", StoreError,
        f"This server is a replica, which takes no writes. {_NONE}. Agents may read here; for a "
        "supervisor name its primary in FALKORDB_HOST (so-mcp doctor says which that is).",
    ),
    _Meaning(
        redis_errors.AskError, "TRYAGAIN", StoreError,
        f"The cluster is moving these keys to another node ({{text}}). {_NONE}; try again later.",
    ),
    _Meaning(
        redis_errors.ClusterDownError, "CLUSTERDOWN", StoreError,
        f"The cluster does not answer ({{text}}). {_NONE}. Which node is gone: so-mcp doctor",
    ),
    _Meaning(
        redis_errors.OutOfMemoryError, "MISCONF", StoreError,
        f"The database cannot write ({{text}}). {_NONE}; what is recorded can be read. Free some "
        "space, then record it again.",
    ),
    _Meaning(
        (), "certificate verify failed", ConnectionLostError,
        "The server could not prove who it is ({text}). If somebody whom the system does not know "
        "signed its certificate, name their file in FALKORDB_TLS_CA; FALKORDB_HOST must be a name "
        "that the certificate is for.",
    ),
    _Meaning(
        (redis_errors.ConnectionError, redis_errors.TimeoutError, OSError), "LOADING",
        ConnectionLostError,
        "The database cannot be reached: {text}. If it is a server, check FALKORDB_HOST and "
        "FALKORDB_PORT; if it is embedded, try again: the next call starts it.",
    ),
)


def is_empty_graph(error: redis_errors.ResponseError) -> bool:
    """Whether a query was refused because its graph does not exist yet."""
    return "empty key" in str(error)


def translated(error: Exception) -> Exception:
    """An error of the client library as one of ours, with what to do next."""
    text = str(error)
    for meaning in _MEANINGS:
        if isinstance(error, meaning.kind) or meaning.word in text:
            return meaning.ours(meaning.says.format(text=text.removeprefix(f"{meaning.word} ")))
    return StoreError(f"The database answered with an error: {text}")
