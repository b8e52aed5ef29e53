"""Logins: one database user an agent, on the exact keys of its own mind and on nothing else.

What such a user can run was measured, command by command (`eval/faults/attack.py`): reads on its
own graphs, and what a connection needs to come up. ``INFO`` is not among it: who may send ``INFO
server`` may send ``INFO server everything`` too, and so count what reached others. ``AUTH``,
``HELLO``, ``RESET`` and ``QUIT`` cannot be taken away; they gain nothing as long as the ``default``
user is off (embedded) or has a password, so a grant is refused where it has none.

**Passwords.** Embedded, a random one in a file of the agent's own. On a server one that follows
from ``SO_ACL_SECRET`` where that is set, else a random one, shown once. What follows is
HMAC-SHA256, keyed with the secret, of ``so-mcp login``, the agent's name and how often its login
was rotated or revoked, with a NUL between each, as 64 hexadecimal digits: granting again shows the
same password, and one that was rotated or revoked never comes back. The count is kept in the
database, in the hash ``so:logins``. Use a secret for one server alone.

**Changing** a login is a transaction on that hash: two supervisors who change one at once cannot
bring back what the other took away. Keys that are taken away are lost to live sessions at once; a
password is not, so sessions are ended with it.

**Several nodes**, of a cluster or replicas, each have users of their own. The node that holds the
hash decides; the others are given its users as they are, again if somebody changed one meanwhile.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from .config import ServerAddress, acl_secret
from .connections import Node
from .database import Call, Conflict, Database
from .embedded import EmbeddedStore
from .errors import AccessError, ConflictError, NotGrantedError, PartlyDoneError, StoreError
from .names import database_user, mind_key, mind_of, shown
from .questions import Questions
from .wording import listed

AGENT_RIGHTS = ("resetchannels", "-@all", "+graph.ro_query", "+client|setinfo", "+ping")
CLUSTER_RIGHTS = ("+readonly",)  # to be answered by a replica
_LOGINS = "so:logins"
_CHANGES = "changes"  # in that hash, beside users: how often any of them was changed
_USERS = "so-agent-"
_FLAGS = frozenset({"on", "sanitize-payload"})

Store = EmbeddedStore | ServerAddress
Command = tuple[str, ...]
Counted = Mapping[str, int]  # of an agent: how often its password was changed


@dataclass(frozen=True, slots=True)
class Grant:
    """A login as it was given: ``scenario``, and ``others`` that were named with it.

    ``password`` is None where a private file holds it (embedded); ``derived``: it follows from
    ``SO_ACL_SECRET``. ``lasting``: whether the login is there after the database was restarted; a
    server without an ``aclfile`` forgets it.
    """

    agent: str
    scenario: str
    username: str
    password: str | None
    lasting: bool = True
    others: tuple[str, ...] = ()
    derived: bool = False

    @property
    def scenarios(self) -> tuple[str, ...]:
        """All of them; the first is the one that is asked unless another is named."""
        return (self.scenario, *self.others)


@dataclass(frozen=True, slots=True)
class Login:
    """A login that there is, and the scenarios in which it can read its own mind.

    ``beyond``: rights that no grant gives; empty unless somebody else changed the user, or an
    older version made it. Granting again takes commands away that are too many, not keys.
    ``everywhere``: whether all nodes know it alike; where not, grant or revoke it again.
    """

    agent: str
    scenarios: tuple[str, ...]
    username: str
    lasting: bool
    beyond: tuple[str, ...] = ()
    everywhere: bool = True


def grant(database: Database, store: Store, wanted: Mapping[str, Sequence[str]]) -> list[Grant]:
    """Let each agent read its own mind in these scenarios, beside those that it has.

    ``wanted``: of each agent, one scenario or more. Embedded an agent keeps its password, as on a
    server where passwords are derived; random ones of earlier grants stay good. Minds are made,
    empty, where no event has: before anything has reached it, an agent must not be able to tell
    whether it has been named. Raises `AccessError` where the database's default user is open to
    everybody.
    """
    if not wanted:
        return []
    refuse_open_default(database)
    secret = acl_secret() if isinstance(store, ServerAddress) else None
    for scenario in dict.fromkeys(name for names in wanted.values() for name in names):
        _make_minds(database, [
            mind_key(scenario, agent) for agent, names in wanted.items() if scenario in names
        ])
    passwords: dict[str, str] = {}
    rights = (*AGENT_RIGHTS, *(CLUSTER_RIGHTS if database.in_cluster() else ()))

    def decide(counted: Counted) -> tuple[list[Command], Counted]:
        commands = []
        for agent, scenarios in wanted.items():
            if isinstance(store, EmbeddedStore):
                login: Command = ("resetpass", f">{store.make_agent_login(agent)}")
            else:
                passwords[agent] = _password(secret, agent, counted)
                login = (f">{passwords[agent]}",)
            keys = (f"~{mind_key(scenario, agent)}" for scenario in scenarios)
            commands.append(_setuser(agent, "on", *rights, *login, *keys))
        return commands, {agent: counted.get(agent, 0) for agent in wanted}

    lasting = _change(database, wanted, decide)
    return [
        _granted(agent, scenarios, passwords.get(agent), secret, lasting=lasting)
        for agent, scenarios in wanted.items()
    ]


def revoke(
    database: Database, store: Store, agent: str, scenarios: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Take an agent's mind in these scenarios from its login, or everything; what was taken.

    Live sessions lose it at once. With the last scenario they end, and the login is gone, and the
    file with its password. Raises `NotGrantedError`, and changes nothing, for what it does not have.
    """
    taken: tuple[str, ...] = ()
    left: list[str] = []

    def decide(counted: Counted) -> tuple[list[Command], Counted]:
        nonlocal taken, left
        has = login_of(database, agent).scenarios
        taken = has if scenarios is None else tuple(dict.fromkeys(scenarios))
        for scenario in taken:
            if scenario not in has:
                raise NotGrantedError(
                    f"Agent {shown(agent)} has no login for scenario {shown(scenario)}; it has one "
                    f"for {listed([shown(name) for name in has])}. Nothing was changed."
                )
        left = [f"~{mind_key(name, agent)}" for name in has if name not in taken]
        times = counted.get(agent, 0)
        if left:
            return [_setuser(agent, "resetkeys", *left)], {agent: times}
        return [("ACL", "DELUSER", database_user(agent))], {agent: times + 1}

    _change(database, [agent], decide)
    if not left and isinstance(store, EmbeddedStore):
        store.remove_agent_login(agent)
    return taken


def rotate(database: Database, store: Store, agent: str) -> Grant:
    """Give an agent another password for what it has; the old one is no good, its sessions end.

    Embedded, its process finds the new one by itself. Raises `NotGrantedError` without a login.
    """
    secret = acl_secret() if isinstance(store, ServerAddress) else None
    password = ""
    scenarios: tuple[str, ...] = ()

    def decide(counted: Counted) -> tuple[list[Command], Counted]:
        nonlocal password, scenarios
        scenarios = login_of(database, agent).scenarios
        times = {agent: counted.get(agent, 0) + 1}
        password = _password(secret, agent, times)
        if isinstance(store, EmbeddedStore):
            # Both are good until the file holds the new one: its process is never turned away.
            database.command(*_setuser(agent, f">{password}"))
            store.change_agent_login(agent, password)
        sessions = ("CLIENT", "KILL", "USER", database_user(agent))
        return [_setuser(agent, "resetpass", f">{password}"), sessions], times

    lasting = _change(database, [agent], decide)
    shown_once = None if isinstance(store, EmbeddedStore) else password
    return _granted(agent, scenarios, shown_once, secret, lasting=lasting)


def grants(database: Database) -> list[Login]:
    """Every agent's login of this database, on whichever of its nodes, by the agent's name."""
    return sorted(_found(database, database.nodes()), key=lambda login: login.agent)


def login_of(database: Database, agent: str) -> Login:
    """One agent's login; raises `NotGrantedError` where it has none on any node."""
    for nodes in ([database.holder(_LOGINS)], None):  # the others may be down
        for login in _found(database, nodes or database.nodes()):
            if login.agent == agent:
                return login
    raise NotGrantedError(f"Agent {shown(agent)} has no login. so-mcp grants lists who has one.")


def _found(database: Database, nodes: Sequence[Node]) -> list[Login]:
    lists = database.everywhere(("ACL", "LIST"), nodes=nodes).values()
    lasting = _keep_files(database, nodes)
    times = Counter(user for users in lists for user in users if user.startswith(f"user {_USERS}"))
    logins: dict[str, Login] = {}
    for user, number in times.items():
        login = _login(user, lasting=lasting)
        if login is not None:
            alike = number == len(nodes)
            logins[login.agent] = replace(logins.get(login.agent, login), everywhere=alike)
    return [*logins.values()]


def canonical(database: Database, agent: str, scenarios: Iterable[str]) -> str:
    """The name that an agent's mind is under where ``agent`` is an alias of it.

    Raises `ConflictError` where it means another in one scenario than in another.
    """
    means = {
        scenario: Questions(database, scenario).names().aliases.get(("agent", agent), agent)
        for scenario in scenarios
    }
    if len(set(means.values())) > 1:
        each = [f"{shown(name)} in {shown(scenario)}" for scenario, name in means.items()]
        raise ConflictError(f"{shown(agent)} is {listed(each)}. Name each agent by its own name.")
    return next(iter(means.values()))


def _granted(
    agent: str, scenarios: Sequence[str], password: str | None, secret: str | None, *, lasting: bool
) -> Grant:
    first, *others = dict.fromkeys(scenarios)
    derived = secret is not None and password is not None
    return Grant(agent, first, database_user(agent), password, lasting, tuple(others), derived)


def _setuser(agent: str, *rules: str) -> Command:
    return ("ACL", "SETUSER", database_user(agent), *rules)


def _password(secret: str | None, agent: str, counted: Counted) -> str:
    if secret is None:
        return secrets.token_hex(32)
    message = f"so-mcp login\0{agent}\0{counted.get(agent, 0)}"
    return hmac.new(secret.encode(), message.encode(), hashlib.sha256).hexdigest()


def _change(
    database: Database,
    agents: Iterable[str],
    decide: Callable[[Counted], tuple[list[Command], Counted]],
) -> bool:
    """Run the commands that ``decide`` finds right, as if nobody else could; whether they last.

    It is asked again, of what is then, when another changed a login meanwhile. In and out: of each
    agent how often its password was changed.
    """
    agents = list(agents)
    while True:
        with suppress(Conflict), database.transaction(_LOGINS) as transaction:
            counters = transaction.watch()
            commands, counted = decide({a: counters.get(database_user(a), 0) for a in agents})
            changed = {database_user(agent): times for agent, times in counted.items()}
            changed[_CHANGES] = counters.get(_CHANGES, 0) + 1
            transaction.commit(changed, [], first=commands)
            break
    nodes = database.nodes()
    if len(nodes) > 1:
        ended = [command for command in commands if command[0] == "CLIENT"]
        try:
            _spread(database, {database_user(agent) for agent in agents}, ended, nodes)
        except PartlyDoneError:
            with suppress(StoreError):  # what the others did is to outlast their restart
                _saved(database, nodes)
            raise
    return _saved(database, nodes)


def _spread(
    database: Database, usernames: Collection[str], ended: Sequence[Command], nodes: Sequence[Node]
) -> None:
    """Give every node the users that the deciding one has, and end the sessions that it ended."""
    deciding = database.holder(_LOGINS)
    others = [node for node in nodes if node != deciding]
    changes = None
    while changes != (changes := database.command("HGET", _LOGINS, _CHANGES)):
        lines = [line.split(" ") for line in database.command("ACL", "LIST", beside=_LOGINS)]
        rules = {name: rest for _, name, *rest in lines if name in usernames}
        commands = [
            ("ACL", "SETUSER", name, "reset", *rules[name]) if name in rules
            else ("ACL", "DELUSER", name)
            for name in usernames
        ]
        database.everywhere(*commands, *ended, nodes=others)


def _login(user: str, *, lasting: bool) -> Login | None:
    """From a line of ACL LIST; None for a user that holds no key of a mind."""
    _, username, *rules = user.split(" ")
    minds = {rule: mind_of(rule[1:]) for rule in rules if rule[0] == "~"}
    own = {
        rule: found for rule, found in minds.items()
        if found is not None and database_user(found[1]) == username
    }
    if not own:
        return None
    usual = {*own, *AGENT_RIGHTS, *CLUSTER_RIGHTS, *_FLAGS}
    beyond = tuple(rule for rule in rules if rule not in usual and rule[0] != "#")
    [agent] = {agent for _, agent in own.values()}
    return Login(agent, tuple(scenario for scenario, _ in own.values()), username, lasting, beyond)


def _make_minds(database: Database, keys: Sequence[str]) -> None:
    while True:
        with suppress(Conflict), database.transaction(keys[0]) as transaction:
            missing = transaction.missing(keys)
            if not missing:
                return transaction.unwatch()
            transaction.commit({}, [Call(key, "mind/create", {}) for key in missing])


def refuse_open_default(database: Database) -> None:
    """Raise `AccessError` where an agent that sends RESET becomes one who may read everything."""
    for node, reply in database.everywhere(("ACL", "GETUSER", "default")).items():
        user = dict(zip(reply[::2], reply[1::2], strict=True))
        if {"on", "nopass"} <= set(user["flags"]):
            raise AccessError(
                f"grant: the 'default' user of {node or 'the server'} has no password, so every "
                "agent could become it and read every mind. There, run: ACL SETUSER default "
                "resetpass >PASSWORD (or 'off', with a user of your own in FALKORDB_USERNAME), then "
                "grant again."
            )


def _keep_files(database: Database, nodes: Sequence[Node]) -> bool:
    """Whether each of these nodes has a file of users."""
    said = database.everywhere(("CONFIG", "GET", "aclfile"), nodes=nodes).values()
    return all(file for _, file in said)


def _saved(database: Database, nodes: Sequence[Node]) -> bool:
    """Whether the users are in every node's file; False where one keeps none."""
    lasting, failed = True, None
    for node in nodes:
        try:
            database.everywhere(("ACL", "SAVE"), nodes=[node])
        except StoreError as error:
            if "not configured to use an ACL file" in str(error):
                lasting = False
            else:
                failed = error  # the others are to be saved all the same
    if failed is not None:
        raise failed  # what was revoked would be back after a restart
    return lasting
