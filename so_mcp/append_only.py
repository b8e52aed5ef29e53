"""The end of the append-only file: cut off where a kill tore it, never where it is damaged.

Redis can cut an incomplete end off by itself, but what looks like one to it may be a length that
was changed in the middle: the text it announces then reaches past the end of the file, and
everything after it would go. So Redis is told to stop instead, and this decides.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import NamedTuple

from .errors import StoreError
from .private_files import unusable

FOLDER = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"
_LINE = b"\r\n"
_BEGIN, _END = b"*1\r\n$5\r\nMULTI\r\n", b"*1\r\n$4\r\nEXEC\r\n"


class _Whole(NamedTuple):
    """Up to which byte a file is whole; ``torn``: what follows is nothing but incomplete."""

    until: int
    torn: bool


def mend(data: Path) -> bool:
    """Cut off what a kill left incomplete at the end; whether there was anything.

    Events are transactions, so an incomplete one was never acknowledged. Raises `StoreError`,
    changing nothing, where complete ones come after the place that cannot be read.
    """
    newest = _newest(data / FOLDER)
    if newest is None or not newest.stat().st_size:
        return False
    try:
        with newest.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            size = len(log)
            whole = _whole(log)
            if whole.until == size:
                return False
            after = log.find(_BEGIN, whole.until + 1) >= 0 or log.find(_END, whole.until) >= 0
        if not whole.torn or after:
            raise StoreError(
                f"{newest} is damaged after byte {whole.until} of {size}: what follows cannot be "
                "read, and events are in it that were acknowledged. Nothing was changed. Restore "
                "a backup (so-mcp restore FILE) or the file itself; or, to go on without what came "
                f"after, keep a copy of it and run: truncate -s {whole.until} {newest}"
            )
        os.truncate(newest, whole.until)
    except OSError as error:
        raise unusable(newest, "read", error) from error
    return True


def _newest(folder: Path) -> Path | None:
    """The file that is written to, which alone can be torn; the manifest names it last."""
    try:
        lines = (folder / MANIFEST).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        words = line.split()
        if "type i" in line and words[0] == "file" and (folder / words[1]).is_file():
            return folder / words[1]
    return None


def _whole(log: mmap.mmap) -> _Whole:
    """Read commands from the start; a transaction counts only with its end."""
    whole = position = 0
    inside = False
    try:
        while position < len(log):
            position, command = _next_command(log, position)
            inside = command == b"MULTI" or (inside and command != b"EXEC")
            if not inside:
                whole = position
    except EOFError:
        return _Whole(whole, torn=True)
    except ValueError:
        return _Whole(whole, torn=False)
    return _Whole(whole, torn=True)


def _next_command(log: mmap.mmap, start: int) -> tuple[int, bytes]:
    """Where the command that begins here ends, and its name.

    Raises `EOFError` where the file ends first, `ValueError` where it is none.
    """
    count, position = _number(log, start, b"*")
    name = b""
    for index in range(count):
        length, begin = _number(log, position, b"$")
        position = begin + length + len(_LINE)
        if position > len(log):
            raise EOFError
        if log[position - len(_LINE) : position] != _LINE:
            raise ValueError
        if index == 0:
            name = log[begin : begin + length].upper()
    return position, name


def _number(log: mmap.mmap, start: int, sign: bytes) -> tuple[int, int]:
    """The number on a line that begins with ``sign``, and where the next line begins."""
    end = log.find(_LINE, start, start + 24)
    if end < 0:
        if start + 24 > len(log) and log[start : start + 1] in (sign, b""):
            raise EOFError
        raise ValueError
    digits = log[start + 1 : end]
    if log[start : start + 1] != sign or not digits.isdigit():
        raise ValueError
    return int(digits), end + len(_LINE)
