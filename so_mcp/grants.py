"""Logins: one database user an agent, on the exact key of its own mind and on nothing else.

What such a user can run was measured: reads on its own graph, and what a connection needs to come
up. ``AUTH``, ``HELLO`` and ``RESET`` cannot be taken away; they gain nothing as long as the
``default`` user is off (embedded) or has a password, so a grant is refused where it has none.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from .config import ServerAddress
from .database import Database
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

    The password is new each time; on a server it is shown once. Raises `AccessError` where the
    database's default user is open to everybody.
    """
    _refuse_open_default(database)
    username = database_user(agent)
    password = secrets.token_hex(32)
    database.command(
        "ACL", "SETUSER", username, "on", *AGENT_RIGHTS, "resetpass", f">{password}",
        f"~{mind_key(scenario, agent)}",
    )
    lasting = _saved(database)
    if isinstance(store, EmbeddedStore):
        store.save_agent_login(agent, password)
        return Grant(agent, scenario, username, None, lasting)
    return Grant(agent, scenario, username, password, lasting)


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
