"""Many processes that start in one instant: they must come to share one database.

Each round, all are given one moment a little ahead; each waits for it, then opens the store, records
an event of its own and asks for one that all know. The store stops with the last to leave, so every
round begins without a database.
"""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.faults.processes import Worker, commands, servers, settled
from so_mcp import Memory
from so_mcp.embedded import EmbeddedStore

SCENARIO = "starts"
PROCESSES = 12
_AHEAD = 0.1  # seconds until the moment of the start: all have heard of it by then


@dataclass(frozen=True, slots=True)
class Starts:
    """What was started, and what ran.

    ``servers``: the most that ran on the store while all were there. ``wrong``: processes whose
    answer was not the right one, or none. ``left_behind``: rounds after which a server still ran
    when the last had left.
    """

    rounds: int
    processes: int
    servers: int
    wrong: int
    left_behind: int

    @property
    def ok(self) -> bool:
        """Whether one server answered everybody, and ended with the last."""
        return self.servers == 1 and not self.wrong and not self.left_behind


def starts(rounds: int, processes: int = PROCESSES) -> Starts:
    """Start ``processes`` at once, ``rounds`` times, each time on a store without a server."""
    most = wrong = left_behind = 0
    with TemporaryDirectory(prefix="so-") as folder:
        store = Path(folder) / "store"
        names = [f"process {number}" for number in range(processes)]
        workers = [Worker("eval.faults.starts", str(store), name) for name in names]
        try:
            for worker in workers:
                worker.wait_until_ready()
            for number in range(rounds):
                # The first on a store that is not made yet, the others on what they find.
                moment = time.monotonic() + _AHEAD
                for worker in workers:
                    worker.tell(f"open {moment} {number}")
                wrong += sum(worker.answer() != "right" for worker in workers)
                most = max(most, settled(store, 1))
                for worker in workers:
                    worker.tell("close")
                wrong += sum(worker.answer() != "closed" for worker in workers)
                left_behind += bool(servers(store) and settled(store, 0))
            wrong += rounds * processes - _recorded(store)
        finally:
            for worker in workers:
                worker.kill()
            EmbeddedStore(store).stop()
    return Starts(rounds, processes, most, wrong, left_behind)


def _recorded(store: Path) -> int:
    """How many of the events are there."""
    with Memory(SCENARIO, path=store) as memory:
        return memory.step() if not memory.verify() else 0


def _main(store: str, name: str) -> None:
    memory = Memory(SCENARIO, path=store)
    with contextlib.closing(memory):
        for command, *rest in commands():
            if command == "close":
                memory.close()
                print("closed", flush=True)
                continue
            while time.monotonic() < float(rest[0]):
                pass  # awake, so that all go on in the same instant
            memory.set(name, rest[1], audience=["Ann", "Bob"])
            right = memory.believes(["Ann", "Bob"], name) == rest[1]
            print("right" if right else "wrong", flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
