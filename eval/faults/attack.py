"""What an agent could learn that its mind does not hold: everything is tried with its own login.

First past every tool, on a bare socket: every command that the database has, and every key that
exists and some that do not. Then through the tools, as a host would: what is hidden from the agent
against what does not exist, in replies, errors, completions, prompts and resources, in the commands
that are sent for it, and in time. Nothing is written; the supervisor only says what there is to try.

Where an answer differs is said by name. What cannot be hidden, and is not counted here: `HELLO`
numbers connections, and a busy database is slow for everybody.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from eval.servers import bare_socket, holder
from so_mcp import Memory
from so_mcp.config import ServerAddress
from so_mcp.grants import AGENT_RIGHTS, CLUSTER_RIGHTS, Store
from so_mcp.names import database_user, mind_key, world_key

from .hidden import Hidden, absent

# What a user may always send: Redis takes none of these away, and none of them reads a key.
ALWAYS = frozenset({"auth", "hello", "quit", "reset"})


def _named(rights: Sequence[str]) -> frozenset[str]:
    return frozenset(right[1:] for right in rights if right[0] == "+")


EXPECTED = ALWAYS | _named(AGENT_RIGHTS)
_PATIENCE = 5.0  # seconds for an answer; a command that blocks was not refused
_SUBCOMMANDS = 9  # where COMMAND INFO tells them


@dataclass(frozen=True, slots=True)
class Attack:
    """What was tried as one agent, and what came of it.

    ``commands``: tried, each with its own key, others' and ones that do not exist; ``refused`` so
    many of them; ``allowed``: the others. ``reads``: raw reads of keys that are not its own, and
    answers of tools; ``differing``: those that tell what is hidden from what does not exist.
    ``ratio``: median time of a question about what is hidden to one about what does not exist, over
    ``timed`` calls of each; None where none were timed.
    """

    agent: str
    commands: int
    refused: int
    allowed: tuple[str, ...]
    reads: int
    differing: tuple[str, ...]
    timed: int
    ratio: float | None
    cluster: bool = False

    @property
    def expected(self) -> frozenset[str]:
        """What it has to be able to run."""
        return EXPECTED | _named(CLUSTER_RIGHTS) if self.cluster else EXPECTED

    @property
    def findings(self) -> list[str]:
        """What the agent may run or tell apart and should not; empty when it is isolated."""
        extra = [f"may run {name}" for name in self.allowed if name not in self.expected]
        return [*extra, *self.differing]


def attack(memory: Memory, agent: str, password: str | None = None, *, calls: int = 0) -> Attack:
    """Try everything as ``agent``, who has a login for the scenario of ``memory``.

    ``password``: the agent's, where the database is a server; embedded it is read from its file.
    ``calls``: how many questions of each kind to time. Raises `ValueError` where everything has
    reached the agent, so that nothing is hidden from it.
    """
    as_agent = _login(memory, agent, password)
    tried, allowed = _try_commands(memory, agent, as_agent)
    reads, differing = _try_keys(memory, agent, as_agent)
    there = Hidden(memory, agent, password)
    asked, told = there.try_tools()
    return Attack(
        agent, tried, tried - len(allowed), allowed, reads + asked, (*differing, *told), calls,
        there.ratio(calls) if calls else None,
        memory.database.in_cluster(),
    )


@dataclass(frozen=True, slots=True)
class _Login:
    """How to open a bare connection as the agent."""

    store: Store  # of a cluster the node that holds its scenario
    username: str
    password: str

    def send(self, *commands: Sequence[str]) -> bytes:
        """The whole answer to the last of the commands, on a connection of their own."""
        with bare_socket(self.store) as bare:
            bare.settimeout(_PATIENCE)
            answer = b""
            for command in (("AUTH", self.username, self.password), *commands):
                bare.sendall(_packed(command))
                answer = _reply(bare)
            return answer


def _login(memory: Memory, agent: str, password: str | None) -> _Login:
    store = memory.store
    if isinstance(store, ServerAddress):
        assert password is not None
        return _Login(
            holder(store, mind_key(memory.scenario, agent)), database_user(agent), password
        )
    return _Login(store, *store.agent_login(agent))


def _packed(command: Sequence[str]) -> bytes:
    words = [word.encode() for word in command]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def _reply(bare: socket.socket) -> bytes:
    """The first packet: an error is whole in it, and whatever else it is was not refused."""
    try:
        return bare.recv(1 << 16)
    except TimeoutError:
        return b"(no answer)"


def _try_commands(memory: Memory, agent: str, as_agent: _Login) -> tuple[int, tuple[str, ...]]:
    """Every command there is, and every one that the user's own rules name beside these."""
    listed = {name.lower() for name in memory.database.command("COMMAND", "LIST")}
    flat = memory.database.command("ACL", "GETUSER", as_agent.username)
    rules = dict(zip(flat[::2], flat[1::2], strict=True))["commands"].split()
    # A rule such as +info|server is of no subcommand but of a first argument, and lets more follow.
    listed |= {rule[1:].lower() for rule in rules if rule[:2] != "+@" and rule[0] == "+"}
    infos = memory.database.command("COMMAND", "INFO", *sorted(listed))
    shapes = {info[0].lower(): info for info in infos if info}
    keys = [
        mind_key(memory.scenario, agent), world_key(memory.scenario),
        mind_key(memory.scenario, absent(agent)),
    ]
    tried, allowed = 0, set()
    for name in sorted(listed):
        if name in shapes and shapes[name][_SUBCOMMANDS]:
            continue  # alone it is no command: each of its subcommands is tried
        tried += 1
        for key in keys:
            words = name.split("|")
            sent = [*words, *_arguments(words, shapes.get(name), key)]
            if not _is_refused(as_agent.send(sent)):
                allowed.add(name)
    return tried, tuple(sorted(allowed))


def _is_refused(answer: bytes) -> bool:
    """For who asks; or, before that is looked at, for everybody: DEBUG and MODULE are off."""
    everybody = (b"-ERR DEBUG command not allowed", b"-ERR MODULE command not allowed")
    return answer.startswith((b"-NOPERM ", *everybody)) or (
        answer.startswith(b"-EXECABORT ") and b"NOPERM" in answer
    )


def _arguments(words: Sequence[str], shape: Any, key: str) -> list[str]:
    """As many as the command wants, or the database refuses it for that and not for who asks."""
    arity, first, last, step = (shape[1], *shape[3:6]) if shape else (-len(words) - 2, 0, 0, 0)
    many = max(abs(arity), first + 1, last + 1) - len(words)
    given = ["1"] * many
    if first:
        stop = last + 1 if last > 0 else len(words) + many + last + 1
        for place in range(first - len(words), stop - len(words), max(step, 1)):
            given[place] = key
    return given


def _try_keys(memory: Memory, agent: str, as_agent: _Login) -> tuple[int, tuple[str, ...]]:
    """Reads of every key that is not the agent's, and of some that do not exist: one answer."""
    own = mind_key(memory.scenario, agent)
    nobody = absent(agent)
    nowhere = [
        mind_key(memory.scenario, nobody), mind_key(nobody, agent), world_key(nobody), nobody, "",
        "*", own[:-1], f"{own}x", f"{own}\0", f"so:{{{nobody}}}:mind:*", own.replace(":mind:", "::"),
    ]
    questions = ("MATCH (n) RETURN n", "RETURN 1", "CREATE ()", "CALL db.labels()", "(")
    reads, differing = 0, []
    for question in questions:
        expected = as_agent.send(("GRAPH.RO_QUERY", nowhere[0], question, "--compact"))
        for key in (*nowhere, *_others(memory, agent)):
            reads += 1
            if as_agent.send(("GRAPH.RO_QUERY", key, question, "--compact")) != expected:
                differing.append(f"raw read of {key!r}: {question}")
    return reads, tuple(differing)


def _others(memory: Memory, agent: str) -> list[str]:
    """Every key of the database but the agent's minds that its login is for."""
    found = chain(*memory.database.everywhere(("KEYS", "*")).values())
    own = {
        mind_key(scenario, agent)
        for login in memory.grants() if login.agent == agent for scenario in login.scenarios
    }
    return sorted(set(found) - own)
