"""Logins: one database user an agent, on the exact key of its own mind and on nothing else.

What such a user can run was measured: reads on its own graph, and what a connection needs to come
up. ``AUTH``, ``HELLO`` and ``RESET`` cannot be taken away; they gain nothing, because the
``default`` user is off (embedded) and no other login is known to the agent.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from .config import ServerAddress
from .database import Database
from .embedded import EmbeddedStore
from .names import database_user, mind_key

AGENT_RIGHTS = ("resetchannels", "-@all", "+graph.ro_query", "+info|server", "+client|setinfo",
                "+ping")


@dataclass(frozen=True, slots=True)
class Grant:
    """A login that was made. ``password`` is None where a private file holds it (embedded)."""

    agent: str
    scenario: str
    username: str
    password: str | None


def grant(
    database: Database, store: EmbeddedStore | ServerAddress, scenario: str, agent: str
) -> Grant:
    """Make the agent's login, or let the one it has read its mind in this scenario too.

    On a server the password is new each time and is shown once.
    """
    username = database_user(agent)
    password = secrets.token_hex(32)
    database.command(
        "ACL", "SETUSER", username, "on", *AGENT_RIGHTS, "resetpass", f">{password}",
        f"~{mind_key(scenario, agent)}",
    )
    if isinstance(store, EmbeddedStore):
        store.save_agent_login(agent, password)
        database.command("ACL", "SAVE")
        return Grant(agent, scenario, username, None)
    return Grant(agent, scenario, username, password)
