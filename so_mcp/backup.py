"""A backup of a running store in one file, and a store from it.

The database writes what it holds at one moment into a file of its own (BGSAVE: events are
transactions, so none is half in it), while everybody goes on writing. In the backup that file
stands as the base of an append-only file, beside a manifest written for it: a database that is
merely given such a file and told to append starts empty. With it go the store's other files, which
say who may log in. ``manifest.json`` comes first and holds the SHA-256 of every file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from . import __version__
from .append_only import FOLDER, MANIFEST
from .database import Database, supervisor_database
from .embedded import EmbeddedStore
from .errors import InvalidInputError, StoreError
from .private_files import locked, unusable
from .store_format import FILE, FORMAT, parts

_CONTENTS = "manifest.json"
_BASE = "appendonly.aof.1.base.rdb"
_DATA = "data"
_SAVE_SECONDS = 3600.0


def backup(store: EmbeddedStore, file: Path) -> int:
    """Put all of a store into a new file, readable for its user alone; its size in bytes.

    Raises `InvalidInputError` for a file that exists, `StoreError` where it cannot be written.
    """
    if file.exists():
        raise InvalidInputError(f"backup: {file} exists. Name a file that does not.")
    if not store.is_made():
        raise InvalidInputError(f"backup: there is no store at {store.path}.")
    database = supervisor_database(store)
    try:
        database.command("PING")  # it is there from here on, migrated if it had to be
        with locked(store.path / "backup.lock"):  # one saves at a time, into one file
            saved = store.path / _DATA / "dump.rdb"
            try:
                _save(database, store)
                return _pack(store, saved, file)
            finally:
                saved.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(Path(error.filename or file), "written", error) from error
    finally:
        database.close()


def restore(file: Path, store: EmbeddedStore) -> None:
    """Make a store from a backup, in a folder that is empty or not there; all of it or nothing.

    Raises `InvalidInputError` for another folder, or for a file that is not a whole backup.
    """
    target = store.path
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(
            f"restore: {target} is not empty, and nothing is ever replaced. Name a folder that "
            "does not exist in FALKORDB_LITE_PATH."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as made:
            folder = Path(made, "store")
            folder.mkdir(mode=0o700)
            _unpack(file, folder)
            os.sync()
            folder.rename(target)  # onto an empty folder, too
    except OSError as error:
        raise unusable(Path(error.filename or target), "restored", error) from error


def _save(database: Database, store: EmbeddedStore) -> None:
    """Have the database write what it holds now, and wait until it has."""
    deadline = time.monotonic() + _SAVE_SECONDS
    while True:
        try:
            database.command("BGSAVE")
            break
        except StoreError as error:
            # One child at a time: the append-only file may just be rewritten.
            if "progress" not in str(error) and "child process" not in str(error):
                raise
            _wait(deadline, store)
    while "bgsave_in_progress:1" in (told := str(database.command("INFO", "persistence"))):
        _wait(deadline, store)
    if "rdb_last_bgsave_status:ok" not in told:
        raise StoreError(
            f"backup: the database could not write a copy of itself into {store.path / _DATA}: "
            "is its disk full? It goes on as before. See: so-mcp doctor"
        )


def _wait(deadline: float, store: EmbeddedStore) -> None:
    if time.monotonic() > deadline:
        raise StoreError(f"backup: the database of {store.path} is still saving. Try again later.")
    time.sleep(0.01)


def _pack(store: EmbeddedStore, saved: Path, file: Path) -> int:
    """Write the file under another name, then give it its own."""
    base = f"{_DATA}/{FOLDER}"
    written = {
        f"{base}/{MANIFEST}": f"file {_BASE} seq 1 type b\n".encode(),
    }
    with locked(store.path / "start.lock"):  # logins are written under it
        for part in parts(store.path):
            if part.name != _DATA:
                for one in sorted(part.rglob("*")) if part.is_dir() else [part]:
                    if one.is_file():
                        written[one.relative_to(store.path).as_posix()] = one.read_bytes()
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    with saved.open("rb") as stream:
        hashes[f"{base}/{_BASE}"] = hashlib.file_digest(stream, "sha256").hexdigest()
    contents = {
        "so-mcp": __version__, "format": FORMAT, "made": int(time.time() * 1000), "sha256": hashes,
    }
    fd, new = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made 0600
    try:
        with os.fdopen(fd, "wb") as out, tarfile.open(fileobj=out, mode="w") as tar:
            _add(tar, _CONTENTS, json.dumps(contents, indent=1).encode())
            for name, content in written.items():
                _add(tar, name, content)
            with saved.open("rb") as data:
                _add(tar, f"{base}/{_BASE}", data)
            tar.close()
            out.flush()
            os.fsync(out.fileno())
        return Path(new).rename(file).stat().st_size
    finally:
        Path(new).unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, content: bytes | IO[bytes]) -> None:
    stream = io.BytesIO(content) if isinstance(content, bytes) else content
    entry = tarfile.TarInfo(name)
    entry.size = stream.seek(0, os.SEEK_END)
    entry.mode = 0o600
    stream.seek(0)
    tar.addfile(entry, stream)


def _unpack(file: Path, folder: Path) -> None:
    """Put the files of a backup into a folder, and check each; raises `InvalidInputError`."""
    try:
        with tarfile.open(file, "r:") as tar:
            contents = _contents(tar, file)
            for entry in tar:
                if entry.name == _CONTENTS:
                    continue
                expected = contents["sha256"].pop(entry.name, None)
                stream = tar.extractfile(entry) if entry.isfile() else None
                if expected is None or stream is None:
                    raise _damaged(file, f"{entry.name} does not belong there")
                to = folder / entry.name
                for parent in reversed(Path(entry.name).parents[:-1]):
                    (folder / parent).mkdir(mode=0o700, exist_ok=True)
                with to.open("xb") as copy:
                    to.chmod(0o600)
                    shutil.copyfileobj(stream, copy)
                with to.open("rb") as done:
                    if hashlib.file_digest(done, "sha256").hexdigest() != expected:
                        raise _damaged(file, f"{entry.name} is not as it was written")
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(file, str(error)) from error
    if contents["sha256"]:
        raise _damaged(file, f"it ends before {min(contents['sha256'])}")


def _contents(tar: tarfile.TarFile, file: Path) -> dict[str, Any]:
    first = tar.next()
    stream = tar.extractfile(first) if first is not None and first.name == _CONTENTS else None
    if stream is None:
        raise InvalidInputError(f"restore: {file} is not a backup that so-mcp made.")
    try:
        contents = json.loads(stream.read())
        names = contents["sha256"]
        written_by, found = contents["so-mcp"], contents["format"]
        if not {FILE, "users.acl"} <= names.keys() or any(map(_leads_out, names)):
            raise _damaged(file, "its list of files is wrong")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(file, f"its list of files cannot be read ({error})") from error
    if found > FORMAT:
        raise InvalidInputError(
            f"restore: {file} holds a store of format {found}, written by so-mcp {written_by}; this "
            f"version reads {FORMAT}. Use that version."
        )
    return dict(contents)


def _leads_out(name: str) -> bool:
    path = Path(name)
    return path.is_absolute() or ".." in path.parts


def _damaged(file: Path, how: str) -> InvalidInputError:
    return InvalidInputError(
        f"restore: {file} is damaged: {how}. Nothing was restored. Use another backup."
    )
