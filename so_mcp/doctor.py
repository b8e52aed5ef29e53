"""What is wrong with the database, in plain words, and what to do: `so-mcp doctor`.

Nothing is written, no secret is shown, and no database is started unless that is asked for.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import exceptions as redis_errors

from .config import Config, ServerAddress
from .database import client_of, supervisor_database
from .embedded import SUPERVISOR_USER, EmbeddedStore, _binaries
from .errors import SecondOrderError, message_of
from .grants import grants, refuse_open_default
from .names import database_user, scenario_of
from .private_files import Fd, holder, is_free, is_short_of_space, space_left, try_lock
from .server_process import is_answering, last_lines, log_since, log_size, server_pid
from .store_format import FORMAT, found_format, is_migrating, parts
from .wording import counted, listed

OK, WARNING, PROBLEM = "ok", "warning", "problem"
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs",
                      "fuse.s3fs", "fuse.rclone", "glusterfs", "virtiofs", "vboxsf", "drvfs"})
_Client = Any  # a redis.Redis, whose types do not say what a command answers
_ALMOST_NOTHING = 1_000_000  # bytes
_ANSWER_SECONDS = 2.0
_LOG = 4_000  # bytes of it that are looked at


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: ``verdict`` "ok", "warning" or "problem"; ``do``: what next."""

    what: str
    verdict: str
    says: str
    do: str = ""

    def __str__(self) -> str:
        """One line, and what to do on the next."""
        line = f"{self.verdict:<8} {self.what}: {self.says}"
        return f"{line}\n         -> {self.do}" if self.do else line


def examine(config: Config, *, start: bool = False) -> list[Check]:
    """Look at everything, in the order in which one would; ``start`` starts an embedded database."""
    if config.server is not None:
        return list(_server(config.server, config.agent))
    store = EmbeddedStore(config.path)
    checks = [_program()]
    if start:
        try:
            store.attach(create=config.agent is None)
        except SecondOrderError as error:
            checks.append(Check("start", PROBLEM, "the database did not start.", message_of(error)))
    try:
        checks += _store(store, config.agent)
    finally:
        store.detach()
    return checks


def _program() -> Check:
    try:
        server, _ = _binaries()
        ran = subprocess.run(  # noqa: S603 - our own binary
            [server, "--version"], capture_output=True, text=True, check=True, timeout=30
        )
    except SecondOrderError as error:
        return Check("program", PROBLEM, "the bundled database is not there.", message_of(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Check(
            "program", PROBLEM, f"the bundled database does not run on this machine ({error}).",
            "Install again with gcc and make at hand (pip builds it then), or set FALKORDB_HOST.",
        )
    version = dict(part.split("=", 1) for part in ran.stdout.split() if "=" in part).get("v", "?")
    return Check("program", OK, f"the bundled database is there and runs (Redis {version}).")


def _store(store: EmbeddedStore, agent: str | None) -> Iterator[Check]:
    path = store.path
    if not path.exists():
        yield Check("folder", WARNING, f"there is no store at {path} yet; the first event makes it.",
                    "If you expected one: does FALKORDB_LITE_PATH name the right folder?")
        return
    try:
        if not store.is_made():
            yield _foreign_folder(path)
            return
        yield from _folder(path)
        yield _format(path)
        yield _files(path)
    except (OSError, SecondOrderError) as error:
        yield Check("folder", PROBLEM, f"{path} cannot be looked at ({error}).",
                    "Run this as the user that the store belongs to.")
        return
    running = yield from _process(store)
    if running:
        yield from _inside(store, agent)


def _foreign_folder(path: Path) -> Check:
    if path.is_dir() and not any(path.iterdir()):
        return Check("folder", WARNING, f"{path} is empty; the first event makes a store of it.")
    return Check("folder", PROBLEM, f"{path} is not a store, and not an empty folder.",
                 "Name another folder in FALKORDB_LITE_PATH; this one is left alone.")


def _folder(path: Path) -> Iterator[Check]:
    status = path.stat()
    mine, mode = status.st_uid == os.getuid(), stat.S_IMODE(status.st_mode)
    if not mine:
        yield Check("folder", PROBLEM, f"{path} belongs to user {status.st_uid}, and this is user "
                    f"{os.getuid()}.", "Run this as the user that the store belongs to.")
    elif mode & 0o077:
        yield Check("folder", PROBLEM, f"{path} is open to other users (mode {mode:o}).",
                    f"chmod 700 {path}")
    elif not os.access(path, os.W_OK):
        yield Check("folder", PROBLEM, f"{path} cannot be written to.",
                    "Make it (or the disk it is on) writable, or name another FALKORDB_LITE_PATH.")
    else:
        yield Check("folder", OK, f"{path} is there, is yours and nobody else's.")
    left = space_left(path)
    if is_short_of_space(path):
        verdict = PROBLEM if left < _ALMOST_NOTHING else WARNING
        yield Check("space", verdict, f"{left / 1e6:,.1f} MB are left on the disk of {path}; when it "
                    "is full, events are refused.", "Free some space there.")
    else:
        yield Check("space", OK, f"{left / 1e9:,.1f} GB are left on its disk.")
    kind = _kind_of_disk(path)
    if kind in _NETWORK:
        yield Check("disk", WARNING, f"it is on a network file system ({kind}): only processes of "
                    "one machine can share a store.", "Put it on a disk of this machine.")


def _kind_of_disk(path: Path) -> str:
    """The type of the file system, where the system tells it."""
    found = (0, "")
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text("utf-8", errors="replace").splitlines():
            _, where, kind, *_ = line.split()
            where = where.replace("\\040", " ")
            if path.is_relative_to(where):
                found = max(found, (len(where), kind))
    return found[1]


def _format(path: Path) -> Check:
    if is_migrating(path):
        return Check("format", WARNING, "a migration was cut off; nothing is lost.",
                     "so-mcp migrate goes on with it")
    try:
        found = found_format(path)
    except SecondOrderError as error:
        return Check("format", PROBLEM, "this version cannot use the store.", message_of(error))
    if found != FORMAT:
        return Check("format", WARNING, f"it is {found}, and this version's is {FORMAT}.",
                     "so-mcp migrate (the supervisor's server does it at its next start, too)")
    return Check("format", OK, f"it is {found}, this version's.")


def _files(path: Path) -> Check:
    missing = [name for name in ("users.acl", "supervisor.json") if not (path / name).exists()]
    if missing:
        return Check("files", PROBLEM, f"{' and '.join(missing)}: missing.",
                     "Put it back, or restore a backup into another folder: so-mcp restore FILE")
    inside = [one for part in parts(path) for one in (part, *part.rglob("*"))]
    for one in inside:
        if not os.access(one, os.R_OK | os.W_OK):
            return Check("files", PROBLEM, f"{one} cannot be read and written.",
                         f"Give it back to the user that the store belongs to: chown -R … {path}")
    for one in inside:
        if one.lstat().st_mode & 0o077:
            return Check("files", WARNING, f"{one} is open to other users.", f"chmod go= {one}")
    return Check("files", OK, "all can be read, by nobody else.")


def _process(store: EmbeddedStore) -> Generator[Check, None, bool]:
    """What runs; the answer of this generator is whether it can be asked."""
    path, start = store.path, store.path / "start.lock"
    with closing(Fd(os.open(start, os.O_RDONLY) if start.exists() else -1)) as handle:
        # Whoever starts or stops it holds this: without it, what we see may just be changing.
        if handle.fd >= 0 and not try_lock(handle.fd):
            yield Check("locks", WARNING, f"{holder(start)} is starting or stopping the database, or "
                        "migrating the store.", "Run this again; if it stays so, end that process.")
            return is_answering(store.socket_path, _ANSWER_SECONDS)
        there, used = not is_free(path / "server.lock"), not is_free(path / "users.lock")
        listening = server_pid(path, store.socket_path)
    if not there and listening is not None:
        yield Check("socket", WARNING, f"another program, process {listening}, listens at "
                    f"{store.socket_path}.", "The next start takes it over; end that program.")
    if not there:
        yield from _not_running(path)
        return False
    if not is_answering(store.socket_path, _ANSWER_SECONDS):
        yield Check("database", PROBLEM, f"process {listening or '(number not known)'} has the store "
                    "but does not answer: it is stopped, very busy, or its socket is gone.",
                    f"kill -CONT {listening}, if it is stopped; else: so-mcp stop" if listening
                    else "so-mcp stop")
        return False
    who = f"process {listening}" if listening else "in another container"
    if not used:
        yield Check("database", WARNING, f"it runs ({who}) though nobody uses it: the "
                    "last one was killed. The next one to leave stops it.", "so-mcp stop")
    else:
        yield Check("database", OK, f"it runs ({who}) and is in use.")
    return True


def _not_running(path: Path) -> Iterator[Check]:
    log = log_since(path, max(0, log_size(path) - _LOG))
    if not log or "bye bye" in log.splitlines()[-1]:
        yield Check("database", OK, "it is not running; the first to need it starts it.")
    else:
        yield Check("database", WARNING, "it is not running, and did not end by itself: it was killed, "
                    f"or did not start. Its log ends with: {last_lines(log)}",
                    "so-mcp doctor --start")


def _inside(store: EmbeddedStore, agent: str | None) -> Iterator[Check]:
    try:
        if agent is None:
            client = client_of(store, *store.supervisor_login())
        else:
            client = client_of(store, *store.agent_login(agent))
        with client:
            if agent is None:
                yield from _database(client, "so-mcp stop; the next start sets it")
            else:
                client.ping()
                yield Check("login", OK, f"{database_user(agent)} is let in.")
    except redis_errors.BusyLoadingError:
        yield Check("login", WARNING, "the database is still reading its file.", "Wait a little.")
    except (redis_errors.RedisError, OSError, SecondOrderError) as error:
        user = SUPERVISOR_USER if agent is None else database_user(agent)
        yield Check("login", PROBLEM, f"{user} is not let in ({error}).",
                    "so-mcp grant" if agent else "so-mcp stop, then try again: it reads users.acl anew")


def _server(address: ServerAddress, agent: str | None) -> Iterator[Check]:
    where = f"{address.host}:{address.port}"
    username = address.username if agent is None else database_user(agent)
    client = client_of(address, username, address.password)
    try:
        with client:
            client.ping()
            yield Check("server", OK, f"{where} answers and lets {username or 'default'} in.")
            if agent is None:
                yield from _role(client)
                yield from _rows(client)
                yield from _database(client, "set it on the server")
                yield from _nodes(address)
    except redis_errors.AuthenticationError:
        yield Check("server", PROBLEM, f"{where} does not let {username or 'default'} in.",
                    "Check FALKORDB_USERNAME and FALKORDB_PASSWORD; for an agent: so-mcp grant")
    except redis_errors.BusyLoadingError:
        yield Check("server", WARNING, f"{where} is still loading its data.", "Wait a little.")
    except (redis_errors.RedisError, OSError) as error:
        yield Check("server", PROBLEM, f"{where} cannot be reached ({error}).",
                    "Check FALKORDB_HOST and FALKORDB_PORT, and that the server runs.")


def _role(client: _Client) -> Iterator[Check]:
    role, *more = client.execute_command("ROLE")
    if role in {"slave", b"slave"}:
        yield Check("role", PROBLEM, f"it is a replica of {more[0]}:{more[1]}: agents may read here, and "
                    "nothing can be recorded.", "For a supervisor, name that one in FALKORDB_HOST.")


def _rows(client: _Client) -> Iterator[Check]:
    with suppress(redis_errors.ResponseError):
        limit = client.execute_command("GRAPH.CONFIG", "GET", "RESULTSET_SIZE")[1]
        if limit != -1:
            yield Check("answers", PROBLEM, f"it cuts every answer after {limit} rows and does not say "
                        "so; a supervisor refuses it.", "On the server: GRAPH.CONFIG SET RESULTSET_SIZE "
                        "-1, and start it so.")


def _nodes(address: ServerAddress) -> Iterator[Check]:
    """Whether all nodes of a cluster, or a server and its replicas, know the same logins."""
    with closing(supervisor_database(address)) as database:
        try:
            nodes = database.nodes()
            if len(nodes) == 1:
                return
            refuse_open_default(database)
            differ = [login.agent for login in grants(database) if not login.everywhere]
        except SecondOrderError as error:
            yield Check("nodes", PROBLEM, "not every node can be used.", message_of(error))
            return
    others = f"{len(nodes) - 1} more of this cluster, or replicas"
    if differ:
        yield Check("nodes", PROBLEM, f"{others}: the nodes do not know the same logins of "
                    f"{listed(differ)}.", "so-mcp grant (or revoke) them again.")
    else:
        yield Check("nodes", OK, f"{others} answer, and know the same logins.")


def _database(client: _Client, how: str) -> Iterator[Check]:
    """What a supervisor can see of a database, embedded or a server's."""
    looks: tuple[tuple[str, Callable[[_Client, str], Iterator[Check]]], ...] = (
        ("module", _module), ("writing", _writing), ("memory", _memory),
        ("default user", _default_user), ("logins", _logins), ("contents", _contents),
    )
    for what, look in looks:
        try:
            yield from look(client, how)
        except redis_errors.ResponseError as error:
            yield Check(what, WARNING, f"it cannot be looked at ({error}).")


def _module(client: _Client, how: str) -> Iterator[Check]:
    for module in client.execute_command("MODULE LIST"):
        found = module if isinstance(module, dict) else dict(zip(module[::2], module[1::2], strict=True))
        if found.get("name") == "graph":
            number = int(found["ver"])
            yield Check("module", OK, f"FalkorDB {number // 10000}.{number // 100 % 100}.{number % 100}.")
            return
    yield Check("module", PROBLEM, "the server has no module 'graph': it is not a FalkorDB.",
                f"{how.capitalize()}: load FalkorDB, or name another FALKORDB_HOST.")


def _writing(client: _Client, how: str) -> Iterator[Check]:
    info = client.info("persistence")
    if not info["aof_enabled"]:
        yield Check("writing", WARNING, "appendonly is off: what was acknowledged since the last save "
                    "is lost when the server ends.", f"{how}: appendonly yes")
    elif info["aof_last_write_status"] != "ok":
        yield Check("writing", PROBLEM, "the last write to its file failed; events are refused.",
                    "Free some space on its disk.")
    elif info["aof_last_bgrewrite_status"] != "ok":
        yield Check("writing", WARNING, "its append-only file could not be made shorter, so it grows.",
                    "Free some space on its disk.")
    else:
        yield Check("writing", OK, "its append-only file is written, and has "
                    f"{info['aof_current_size'] / 1e6:,.1f} MB.")


def _memory(client: _Client, how: str) -> Iterator[Check]:
    info = client.info("memory")
    used, limit = info["used_memory"] / 1e6, info.get("maxmemory", 0)
    if limit and info.get("maxmemory_policy") != "noeviction":
        yield Check("memory", PROBLEM, f"when it is full, the server throws minds away (maxmemory-policy "
                    f"{info['maxmemory_policy']}).", f"{how}: maxmemory-policy noeviction")
    else:
        yield Check("memory", OK, f"it uses {used:,.0f} MB.")


def _default_user(client: _Client, how: str) -> Iterator[Check]:
    user: Any = client.acl_getuser("default")
    if user is not None and {"on", "nopass"} <= set(user["flags"]):
        yield Check("default user", PROBLEM, "it has no password, so every agent can become it and "
                    "read every mind; grants are refused.", f"{how}: ACL SETUSER default resetpass >…")
    else:
        yield Check("default user", OK, "nobody becomes it without a password.")


def _logins(client: _Client, how: str) -> Iterator[Check]:
    number = sum(user.startswith("so-agent-") for user in client.acl_users())
    if client.config_get("aclfile").get("aclfile"):
        yield Check("logins", OK, f"{counted(number, 'agent')} can log in, after a restart, too.")
    else:
        yield Check("logins", WARNING, f"{counted(number, 'agent')} can log in, until the server is "
                    "restarted: it has no aclfile.", f"{how}: aclfile /path/users.acl")


def _contents(client: _Client, _: str) -> Iterator[Check]:
    graphs = client.execute_command("GRAPH.LIST")
    scenarios = sorted(filter(None, map(scenario_of, graphs)))
    minds = sum(":mind:" in graph for graph in graphs)
    named = f" ({', '.join(scenarios[:10])}{', …' if len(scenarios) > 10 else ''})" if scenarios else ""
    yield Check("contents", OK, f"{counted(len(scenarios), 'scenario')}{named}, {counted(minds, 'mind')}.")
