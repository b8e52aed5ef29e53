"""The server as a checker finds it: on stdio or over HTTP, of the supervisor or of an agent."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from so_mcp import Memory, scenarios
from so_mcp.embedded import EmbeddedStore

Mode = Literal["supervisor", "agent"]
Way = Literal["stdio", "HTTP"]
MODES: tuple[Mode, ...] = ("supervisor", "agent")
WAYS: tuple[Way, ...] = ("stdio", "HTTP")
AGENT = "Shipping"
COMMAND = [sys.executable, "-m", "so_mcp"]


@dataclass(frozen=True)
class Store:
    """A store with the support story and the login of `AGENT`, and a folder for a checker's files."""

    path: Path
    home: Path

    def environment(self, mode: Mode) -> dict[str, str]:
        """What a server is started with; all of it."""
        agent = {"SO_AGENT": AGENT} if mode == "agent" else {}
        return {"FALKORDB_LITE_PATH": str(self.path), "PATH": os.defpath, **agent}


@dataclass(frozen=True)
class Listening:
    """A server process that listens at ``url`` for who presents ``token``."""

    url: str
    token: str


@contextmanager
def told_store() -> Iterator[Store]:
    """Such a store; its database runs meanwhile and is stopped at the end."""
    with TemporaryDirectory(prefix="so-") as folder:
        path, home = Path(folder) / "store", Path(folder) / "home"
        home.mkdir()
        try:
            with Memory("support", path=path) as memory:
                scenarios.play(memory, scenarios.load("support"))
                memory.grant(AGENT)
                yield Store(path, home)
        finally:
            EmbeddedStore(path).stop()


@contextmanager
def listening(store: Store, mode: Mode) -> Iterator[Listening]:
    """Serve over HTTP on a free port, as fast as a checker asks."""
    token = secrets.token_hex(32)
    words = [*COMMAND, "serve", "--http", "--port", "0", "--rate", "100000"]
    with subprocess.Popen(  # noqa: S603 - our own words
        words, env={**store.environment(mode), "SO_HTTP_TOKEN": token}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the server ended before it listened; what it said is on stderr"
            yield Listening(line.split()[-1], token)
        finally:
            process.terminate()
