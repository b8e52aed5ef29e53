"""The database's process: whether it answers, who it is, what it last said, and how it is ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import time
from pathlib import Path

from .diagnostics import note
from .errors import StoreError
from .private_files import is_free

_STOP_SECONDS = 60.0
_CHILD_SECONDS = 5.0  # a child that a killed server forked ends when it next reports to it
_LONG_LOG = 8 * 1024 * 1024  # bytes
_END_OF_LOG = 64 * 1024
_LOCAL_PEERPID = 2  # macOS's name for the process at the other end


def is_answering(socket_path: str, seconds: float = 10) -> bool:
    """Whether a server is there. It may still be loading: it says so only to who has a login."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(seconds)
        try:
            probe.connect(socket_path)
            probe.sendall(b"*1\r\n$4\r\nPING\r\n")
            return probe.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def server_pid(path: Path, socket_path: str) -> int | None:
    """The process of a store's server, as the kernel knows it: never a stranger's number."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(10)
        try:
            probe.connect(socket_path)
            if hasattr(socket, "SO_PEERCRED"):
                size = struct.calcsize("3i")
                peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
                # 0: it runs in another container; a signal to 0 would end ourselves.
                return int(struct.unpack("3i", peer)[0]) or None
            return int(struct.unpack("i", probe.getsockopt(0, _LOCAL_PEERPID, 4))[0])
        except OSError:
            return _written_pid(path)


def _written_pid(path: Path) -> int | None:
    """The number in the pid file, if that process works in this store (its socket may be gone)."""
    try:
        pid = int((path / "server.pid").read_text("ascii"))
        return pid if Path(f"/proc/{pid}/cwd").samefile(path / "data") else None
    except (OSError, ValueError):
        return None


def stop_server(path: Path, socket_path: str) -> bool:
    """Ask the server to end and wait until it has; the append-only file is complete then.

    Whether one was running; raises `StoreError` when it does not end. The caller holds start.lock.
    """
    lock = path / "server.lock"
    if is_free(lock):
        return False
    pid = server_pid(path, socket_path)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + (_CHILD_SECONDS if pid is None else _STOP_SECONDS)
    while time.monotonic() < deadline:
        if is_free(lock):
            note("database stopped", store=str(path))
            return True
        time.sleep(0.005)
    who = "whose number is not known (in another container?)," if pid is None else f"process {pid},"
    raise StoreError(
        f"The database of {path}, {who} does not end. If it is stopped, let it go on (kill -CONT); "
        "what was acknowledged is in its file, so it may also be killed."
    )


def log_since(path: Path, offset: int) -> str:
    """What the server's log says from an offset on; of much the end (each graph has some lines)."""
    try:
        with (path / "server.log").open("rb") as log:
            log.seek(max(offset, log_size(path) - _END_OF_LOG))
            return log.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def begin_log(path: Path) -> int:
    """Where in its log the next server's words will begin; a long log is begun anew."""
    if log_size(path) > _LONG_LOG:
        with contextlib.suppress(OSError):
            os.truncate(path / "server.log", 0)
    return log_size(path)


def log_size(path: Path) -> int:
    """How long the server's log is, in bytes."""
    try:
        return (path / "server.log").stat().st_size
    except OSError:
        return 0


def says_why(log: str) -> bool:
    """Whether a server's log ends with what made it end; that of one that was killed just stops."""
    return re.search(r" # (?!WARNING)[^\n]*\n*\Z", log) is not None


def last_lines(log: str, count: int = 3) -> str:
    """The end of a log, on one line; without what could be a password, or the hash of one."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return re.sub(r"[0-9a-fA-F]{32,}|>\S+", "…", " / ".join(lines[-count:])) or "(nothing)"
