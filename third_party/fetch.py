#!/usr/bin/env python3
"""Fetch outside data, pinned by hash: `python third_party/fetch.py [NAME …] [--base-url URL]`.

`manifest.json` says what there is, from where, under which licence, and the sha256 it must have.
Needs nothing but the standard library. A file is put in its place whole and verified, or not at
all: what cannot be had, or is another file, leaves nothing behind and the exit code is 1.
"""

import argparse
import hashlib
import http.client
import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NotRequired, TypedDict

FOLDER = Path(__file__).resolve().parent
STALL_SECONDS = 30  # without a byte
TOTAL_SECONDS = 600
CHUNK = 1 << 16


class Entry(TypedDict):
    """What the manifest holds of one file; the hash decides, whatever the URL serves."""

    name: str
    file: str
    url: str
    mirrors: NotRequired[list[str]]
    bytes: int
    sha256: str
    license: str
    source: str
    commit: str


class FetchError(Exception):
    """A file could not be had, or is not the one that the manifest names."""


def fetch(entry: Entry, base_url: str | None = None) -> Path:
    """Put one file of the manifest in its place and return where that is.

    ``base_url`` replaces all but the file's name in its URL. Without it the mirrors are tried in
    turn where the URL fails. Raises `FetchError`.
    """
    target = FOLDER / entry["file"]
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == entry["sha256"]:
        return target
    urls = [entry["url"], *entry.get("mirrors", ())]
    if base_url is not None:
        urls = [f"{base_url.rstrip('/')}/{PurePosixPath(entry['file']).name}"]
    failures = []
    for url in urls:
        try:
            _download(url, target, entry["sha256"], entry["bytes"])
        except FetchError as failure:
            failures.append(f"{url}: {failure}")
        else:
            return target
    raise FetchError("\n".join(failures))


def _download(url: str, target: Path, sha256: str, size: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as stream:
            for chunk in _chunks(url, size):
                digest.update(chunk)
                stream.write(chunk)
        if digest.hexdigest() != sha256:
            raise FetchError(f"expected sha256 {sha256}, got {digest.hexdigest()}. Nothing was kept.")
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _chunks(url: str, size: int) -> Iterator[bytes]:
    """Yield the body at ``url``, never more than ``size`` bytes of it."""
    if not url.startswith(("https://", "http://")):
        raise FetchError("expected a URL that begins with https:// or http://.")
    deadline = time.monotonic() + TOTAL_SECONDS
    received = 0
    try:
        with urllib.request.urlopen(url, timeout=STALL_SECONDS) as response:  # noqa: S310 - checked
            while chunk := response.read1(CHUNK):
                received += len(chunk)
                if received > size:
                    raise FetchError(f"expected {size} bytes, got more. Nothing was kept.")
                if time.monotonic() > deadline:
                    raise FetchError(f"not done after {TOTAL_SECONDS} seconds. Try again later.")
                yield chunk
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(f"the server answered {error.code} {error.reason}.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"it could not be read: {error}.") from error


def main() -> int:
    """Fetch what the command line names, or everything."""
    manifest: dict[str, Entry] = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    parser = argparse.ArgumentParser(description="Fetch outside data, pinned by hash.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(manifest)}; all")
    parser.add_argument("--base-url", metavar="URL", help="a mirror: the folder the file lies in")
    args = parser.parse_args()
    if unknown := set(args.names) - set(manifest):
        parser.error(f"no {' or '.join(sorted(unknown))} here; there is {', '.join(manifest)}")
    for name in args.names or manifest:
        try:
            path = fetch(manifest[name], args.base_url)
        except FetchError as error:
            sys.stderr.write(f"{name} was not fetched.\n{error}\n")
            return 1
        sys.stdout.write(f"{name}: {path.relative_to(FOLDER.parent).as_posix()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
