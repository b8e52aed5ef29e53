"""Real processes that can be killed: those of the fault run, and the database's own.

What is told to a process is a line on its standard input, what it answers a line on its output.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

PATIENCE = 30.0  # seconds; who is silent for longer hangs, which is a failure of its own


class Worker:
    """A process of ``module``, until it is killed or leaves."""

    def __init__(self, module: str, *arguments: str) -> None:
        """Start it; it says "ready" once it has imported what it needs, and opened nothing yet."""
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait_until_ready(self) -> None:
        """Until then what it is told would wait for its imports."""
        if not self._is_ready:
            said = self.answer()
            assert said == "ready", (said, self._process.args)
            self._is_ready = True

    def tell(self, line: str) -> None:
        """Tell it to do something; one that was killed hears nothing."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def answer(self) -> str:
        """The line it answers with; or, where there is none, that it has ended or hangs."""
        if not self.has_answered(PATIENCE):
            return f"no answer for {PATIENCE:.0f} seconds"
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n") or "ended by itself"

    def has_answered(self, seconds: float = 0) -> bool:
        """Whether it answers, or ends, within so many seconds."""
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], seconds)[0])

    def kill(self) -> None:
        """SIGKILL: it gets to do nothing any more."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):  # what was told and never read
                stream.close()

    def leave(self) -> None:
        """Let it end by itself, as a user's process does."""
        self.tell("leave")
        self._process.wait(PATIENCE)
        self.kill()


def commands() -> Iterator[list[str]]:
    """Within a worker: say that it is ready, then what it is told, in words, until it may leave."""
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words == ["leave"]:
            return
        yield words


def servers(store: Path) -> list[int]:
    """The database servers that run on a store, by the folder they work in; those they fork not."""
    data = os.path.realpath(store / "data")
    parents = {}
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # not a process, or one that has just ended
            if process.name.isdigit() and os.path.realpath(process / "cwd") == data:
                state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z" and (process / "comm").read_text().startswith("redis-server"):
                    parents[int(process.name)] = int(parent)
    return [pid for pid, parent in parents.items() if parent not in parents]


def kill_servers(store: Path) -> int:
    """SIGKILL to every server of a store; how many there were."""
    killed = servers(store)
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(killed)


def settled(store: Path, wanted: int) -> int:
    """How many servers a store has; one that is just ending, or forking away, is given a moment."""
    wait_for(lambda: len(servers(store)) == wanted, 3)
    return len(servers(store))


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so, or for so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
