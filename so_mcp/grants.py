"""Logins: one database user an agent, on the exact key of its own mind and on nothing else.

What such a user can run was measured: reads on its own graph, and what a connection needs to come
up. ``AUTH``, ``HELLO`` and ``RESET`` cannot be taken away; they gain nothing as long as the
``default`` user is off (embedded) or has a password, so a grant is refused where it has none.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

from .config import ServerAddress
from .database import Call, Conflict, Database
from .embedded import EmbeddedStore
from .errors import AccessError, StoreError
from .names import database_user, mind_key

AGENT_RIGHTS = ("resetchannels", "-@all", "+graph.ro_query", "+info|server", "+client|setinfo",
                "+ping")


@dataclass(frozen=True, slots=True)
class Grant:
    """A login that was made.

    ``password`` is None where a private file holds it (embedded). ``lasting``: whether it is there
    after the database was restarted; a server without an ``aclfile`` forgets it.
    """

    agent: str
    scenario: str
    username: str
    password: str | None
    lasting: bool = True


def grant(
    database: Database, store: EmbeddedStore | ServerAddress, scenario: str, agent: str
) -> Grant:
    """Make the agent's login, or let the one it has read its mind in this scenario too.

    Embedded it keeps its password; on a server a new one is shown, once, and those of earlier
    grants stay good. Its mind is made, empty, if no event has: before anything has reached it, it
    must not be able to tell whether it has been named. Raises `AccessError` where the database's
    default user is open to everybody.
    """
    _refuse_open_default(database)
    _make_mind(database, mind_key(scenario, agent))
    username = database_user(agent)
    if isinstance(store, EmbeddedStore):
        shown = None
        login: tuple[str, ...] = ("resetpass", f">{store.make_agent_login(agent)}")
    else:
        shown = secrets.token_hex(32)
        login = (f">{shown}",)
    database.command(
        "ACL", "SETUSER", username, "on", *AGENT_RIGHTS, *login, f"~{mind_key(scenario, agent)}"
    )
    return Grant(agent, scenario, username, shown, _saved(database))


def _make_mind(database: Database, key: str) -> None:
    with suppress(Conflict), database.transaction(key) as transaction:
        calls = [Call(missing, "mind/create", {}) for missing in transaction.missing([key])]
        if calls:
            transaction.commit({}, calls)


def _refuse_open_default(database: Database) -> None:
    """With an open default user, an agent that sends RESET is that user, and reads everything."""
    reply = database.command("ACL", "GETUSER", "default")
    user = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
    if {"on", "nopass"} <= set(user["flags"]):
        raise AccessError(
            "grant: the server's 'default' user has no password, so every agent could become it "
            "and read every mind. On the server, run: ACL SETUSER default resetpass >PASSWORD "
            "(or 'off', with a user of your own in FALKORDB_USERNAME), then grant again."
        )


def _saved(database: Database) -> bool:
    try:
        database.command("ACL", "SAVE")
    except StoreError:
        return False
    return True
