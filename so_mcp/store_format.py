"""The format of a store, and how an older one becomes today's.

A step changes the store in place, after a copy was put beside it, in ``migrating-from-N``. That
folder is the whole journal: while it is there, what a step did may be half done, so the next start
puts the copy back and begins again; that it gets another name is the moment at which it is done.
The copy stays, as ``before-format-N``, until somebody deletes it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import StoreError
from .private_files import read_json, unusable, write_private

if TYPE_CHECKING:
    from .embedded import EmbeddedStore

FORMAT = 1
FILE = "format.json"
Step = Callable[["EmbeddedStore"], None]
# From which format: what makes it the next. A step may use `EmbeddedStore.serving`; it is run again
# from the same copy if it is cut off. (None yet: this is the first format.)
STEPS: Mapping[int, Step] = {}

_JOURNAL = "migrating-from-"
_COPYING = ".copying"
# What a store is, beside what its processes leave there while they run.
_RUNTIME = frozenset({
    "start.lock", "server.lock", "users.lock", "backup.lock", "redis.sock", "redis.conf",
    "server.pid", "server.log",
})


def found_format(path: Path) -> int:
    """The format that a store says it has; raises `StoreError` for one that cannot be used."""
    found = read_json(path / FILE).get("format")
    if not isinstance(found, int):
        raise StoreError(f"{path / FILE}: expected a number as format, got {found!r}.")
    if found > FORMAT:
        raise StoreError(
            f"The store at {path} has format {found}; this version reads {FORMAT}. Nothing was "
            "changed. Use the version of so-mcp that wrote it, or a newer one."
        )
    if any(number not in STEPS for number in range(found, FORMAT)):
        raise StoreError(
            f"The store at {path} has format {found}; this version reads {FORMAT} and cannot "
            f"migrate from {found}. Nothing was changed. Open it once with a version in between."
        )
    return found


def is_current(path: Path) -> bool:
    """Whether a store can be used as it is; raises `StoreError` where it never can be."""
    return not is_migrating(path) and found_format(path) == FORMAT


def is_migrating(path: Path) -> bool:
    """Whether a migration was begun and not ended."""
    return _journal(path) is not None


def migrate(store: EmbeddedStore) -> None:
    """Make a store one of today's format. The caller holds start.lock, and no server runs."""
    path = store.path
    try:
        journal = _journal(path)
        if journal is not None:
            _put_back(journal, path)
        found = found_format(path)
        if found == FORMAT:
            return
        if journal is None:
            journal = _copied(path, path / f"{_JOURNAL}{found}")
        # First, so that an older version refuses the store from here on.
        write_private(path / FILE, json.dumps({"format": FORMAT}))
        for number in range(found, FORMAT):
            STEPS[number](store)
        os.sync()
        journal.rename(_free_name(path, f"before-format-{FORMAT}"))
    except OSError as error:
        raise unusable(path, "migrated", error) from error


def parts(path: Path) -> list[Path]:
    """The files and folders that are the store: its data, logins and settings."""
    return sorted(
        part for part in path.iterdir()
        if part.name not in _RUNTIME
        and not part.name.startswith((".", _JOURNAL, "before-format-"))
    )


def _journal(path: Path) -> Path | None:
    found = sorted(path.glob(f"{_JOURNAL}*"))
    return found[0] if found else None


def _copied(path: Path, to: Path) -> Path:
    unfinished = path / _COPYING
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    for part in parts(path):
        _copy(part, unfinished / part.name)
    os.sync()
    return unfinished.rename(to)


def _put_back(journal: Path, path: Path) -> None:
    for part in parts(path):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
    for part in journal.iterdir():
        _copy(part, path / part.name)


def _copy(part: Path, to: Path) -> None:
    if part.is_dir():
        shutil.copytree(part, to)
    else:
        shutil.copy2(part, to)


def _free_name(path: Path, name: str) -> Path:
    names = (f"{name}-{number}" if number else name for number in count())
    return next(path / free for free in names if not (path / free).exists())
