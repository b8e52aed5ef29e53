"""Files that only this system user can read, and locks that end with whoever holds them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import StoreError

try:
    import fcntl
except ImportError:  # Windows: a server works there, the embedded database does not
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None
_SHORT_OF_SPACE = 64 * 1024 * 1024  # bytes
_FULL = 4 * 1024 * 1024  # bytes; what one transaction writes is nearly always less
_PATIENCE = 120.0  # seconds: a large store takes a while to load
_PATIENCE_WITH_A_STOPPED_ONE = 10.0
_NEXT = {
    errno.ENOSPC: "Free some space there, then try again; nothing was changed.",
    errno.EDQUOT: "Free some of your quota there, then try again; nothing was changed.",
    errno.EROFS: (
        "The database has to write there: make it writable again, or name another folder in "
        "FALKORDB_LITE_PATH. Nothing was changed."
    ),
    errno.EACCES: "Run this as the user that the store belongs to (so-mcp doctor says which).",
}


class Fd:
    """A file descriptor that `contextlib.closing` can close; closing it ends its lock."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        """Close it, once."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def unusable(what: Path, cannot: str, error: OSError) -> StoreError:
    """An error of the system as ours: which file, what could not be done, what to do next."""
    following = _NEXT.get(error.errno or 0, "Run: so-mcp doctor")
    return StoreError(f"{what} cannot be {cannot}: {error.strerror}. {following}")


def open_private(file: Path) -> int:
    """Open a file for reading and writing, made if it is not there."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unusable(file, "opened", error) from error


def write_private(file: Path, text: str) -> None:
    """Replace a file in one step; it is never readable for others, and never half there."""
    new = None
    try:
        fd, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made 0600
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(new).replace(file)
    except OSError as error:
        if new is not None:
            Path(new).unlink(missing_ok=True)
        raise unusable(file, "written", error) from error


def read_json(file: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{file} cannot be read as this store's file: {error}.") from error
    if not isinstance(found, dict):
        raise StoreError(f"{file}: expected a JSON object, got {type(found).__name__}.")
    return found


def private_folder(folder: Path) -> None:
    """Make a folder of our own, or see that it is; raises `StoreError`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 == 0
    if status.st_uid != os.getuid() or not private:
        raise StoreError(
            f"{folder} belongs to somebody else or is open to others, so the database's socket "
            "cannot be put there. Remove it, or name a shorter FALKORDB_LITE_PATH."
        )


def space_left(folder: Path) -> int:
    """How many bytes may still be written to the disk of a folder."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def is_short_of_space(folder: Path) -> bool:
    """Whether the disk of a folder will soon be full, or cannot be asked."""
    try:
        return space_left(folder) < _SHORT_OF_SPACE
    except OSError:
        return True


def is_full(folder: Path) -> bool:
    """Whether the next write may be the one that fills the disk of a folder."""
    try:
        return space_left(folder) < _FULL
    except OSError:  # it cannot be told, so the write itself will
        return False


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock, with our number in its file; raises `StoreError` naming who does not let go."""
    with contextlib.closing(Fd(open_private(file))) as handle:
        since, wait = time.monotonic(), 0.001
        while not try_lock(handle.fd):
            waited = time.monotonic() - since
            if waited > _PATIENCE or (waited > _PATIENCE_WITH_A_STOPPED_ONE and is_stopped(file)):
                raise StoreError(
                    f"{file} has been held for {waited:.0f} seconds by {holder(file)}. It starts "
                    "or stops the database, or migrates the store: try again, or if it hangs, end "
                    "it. Nothing was changed."
                )
            time.sleep(wait)
            wait = min(wait * 1.5, 0.05)
        with contextlib.suppress(OSError):  # a full disk: then nobody knows our number
            os.ftruncate(handle.fd, 0)
            os.pwrite(handle.fd, str(os.getpid()).encode(), 0)
        yield


def try_lock(fd: int) -> bool:
    """Take the lock of an open file if nobody has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def share_lock(fd: int) -> None:
    """Take a lock that others can share, and wait for one who has it alone."""
    fcntl.flock(fd, fcntl.LOCK_SH)


def is_free(lock: Path) -> bool:
    """Whether nobody holds a lock file; to be asked while nobody can be about to take it."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise unusable(lock, "opened", error) from error
    with contextlib.closing(Fd(handle)):
        return try_lock(handle)


def holder(lock: Path) -> str:
    """Who holds a lock, in words: its number, its name, and whether it is stopped."""
    try:
        pid = int(lock.read_text("ascii"))
        name, state = _name_and_state(pid)
    except (OSError, ValueError):
        return "another process"
    stopped = f", which is stopped (to let it go on: kill -CONT {pid})" if state in "Tt" else ""
    return f"process {pid} ({name}){stopped}"


def is_stopped(lock: Path) -> bool:
    """Whether who holds a lock is known not to be running."""
    try:
        return _name_and_state(int(lock.read_text("ascii")))[1] in "Tt"
    except (OSError, ValueError):
        return False


def _name_and_state(pid: int) -> tuple[str, str]:
    """What the system says of a process: its name and one letter. Raises `OSError`."""
    said = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    before, _, after = said.rpartition(")")
    return before.partition("(")[2], after.split()[0]
