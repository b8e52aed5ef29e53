"""Rounds of kill -9: what was acknowledged has to stay, whole and once.

Three writers record batches of 1 to 40 events on one scenario. In turn, at a moment drawn from how
long such a round takes, is killed: the database (sometimes again while it is starting, sometimes
while it rewrites its file), a writer, or a process that is just starting the database. The others go
on as users would: they record again, under the same ids, what they got no answer to; so does the
writer that takes a killed one's place. Then the store is held against the writers' own journals.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eval.faults.processes import PATIENCE, Worker, kill_servers, settled
from eval.faults.writer import batch_of, pieces, read_journal
from so_mcp import Memory
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import StoreError, UnknownNameError
from so_mcp.log import log_calls, log_of
from so_mcp.verify import Difference

TARGETS = ("database", "supervisor", "starter")
WRITERS = ("W1", "W2", "W3")
SCENARIO = "faults"
BATCHES = 2  # that a writer records in a round
ROUNDS_A_STORE = 12  # then a new one: what is checked grows with the log
VERIFY_EVERY = 4  # rounds; nothing repairs what is torn, so it is found then too
_SHOWN = 5  # examples of each
_SECOND_KILL = 0.25  # of the kills of the database are followed by another while it starts
_REWRITING = 0.25  # of the kills of the database come while its file is being rewritten
_TOGETHER = 0.5  # of the starters have others beside them, who wait for the lock it holds
_SETTINGS: tuple[dict[str, Any], ...] = ({}, {"policy": "exit-order", "rooms": "place"})


@dataclass(frozen=True, slots=True)
class Kills:
    """What the fault run did and found.

    ``kills`` by target; ``mid_batch``: those that met a batch begun and not acknowledged, or a
    start that had not finished. ``lost``: acknowledged events that the log lacks; ``doubled``:
    events that it has twice. ``torn``: differences between log and minds (`Memory.verify`), and
    pieces of a batch of which a part is there. ``servers``: the most that ran on one store after a
    round. ``errors``: what a writer was told, other than to record it again under the same ids. ``examples``: the first few that were
    lost, torn and doubled.
    """

    rounds: int
    seed: int
    kills: dict[str, int]
    mid_batch: int
    acknowledged: int
    lost: int
    torn: int
    doubled: int
    servers: int
    errors: list[str]
    examples: list[str]

    @property
    def ok(self) -> bool:
        """Whether nothing is lost, torn or doubled, and one server ran."""
        return not (self.lost or self.torn or self.doubled or self.errors) and self.servers == 1


@dataclass(slots=True)
class _Found:
    """What has been found so far, each thing once however often it is looked at."""

    acknowledged: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    torn: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    servers: set[int] = field(default_factory=set)
    kills: Counter[str] = field(default_factory=Counter)
    mid_batch: int = 0


def kills(
    rounds: int, seed: int = 0, *, broken: str = "", targets: Sequence[str] = TARGETS
) -> Kills:
    """Run ``rounds`` rounds; ``broken`` names one of `sabotage.WAYS`, which must be noticed."""
    found = _Found()
    for number, first in enumerate(range(0, rounds, ROUNDS_A_STORE)):
        with TemporaryDirectory(prefix="so-") as folder:
            stretch = _Stretch(Path(folder), f"{seed}/{number}", broken, found)
            try:
                stretch.begin(_SETTINGS[number % len(_SETTINGS)])
                for one in range(first, min(first + ROUNDS_A_STORE, rounds)):
                    stretch.round(targets[one % len(targets)])
                    stretch.check(whole=one % VERIFY_EVERY == 0)
                stretch.check(whole=True)
            finally:
                stretch.end()
    return Kills(
        rounds, seed, dict(found.kills), found.mid_batch, len(found.acknowledged),
        len(found.lost), len(found.torn), len(found.doubled), max(found.servers, default=0),
        sorted(found.errors),
        [line for kept in (found.lost, found.torn, found.doubled) for line in sorted(kept)[:_SHOWN]],
    )


class _Stretch:
    """Some rounds on one store."""

    def __init__(self, folder: Path, seed: str, broken: str, found: _Found) -> None:
        self._folder, self._store = folder, folder / "store"
        self._seed, self._broken, self._found = seed, broken, found
        self._chooser = random.Random(seed)  # noqa: S311 - the same run again
        self._workers: dict[str, Worker] = {}

    def begin(self, settings: dict[str, Any]) -> None:
        """Make the scenario, and measure: the moments of the kills are drawn from it."""
        for name in (*WRITERS, "starter"):
            self._employ(name)
        self._memory = Memory(SCENARIO, path=self._store, **settings)
        self._memory.join(["Agent 0", "Agent 1"], "office")
        self._stop()
        self._starting = self._timed("start", "starter")
        self._recording = self._timed(f"record {BATCHES}", *WRITERS)

    def end(self) -> None:
        """Leave no process behind."""
        for worker in self._workers.values():
            worker.kill()
        self._memory.close()
        self._stop()

    def round(self, target: str) -> None:
        """Everybody records; somebody is killed; the others go on."""
        for worker in self._workers.values():
            worker.wait_until_ready()
        kill = {
            "database": self._kill_database,
            "supervisor": self._kill_supervisor,
            "starter": self._kill_starter,
        }
        gone = kill[target]()
        for name in WRITERS:
            if name != gone and not self._has_done_it(name):
                self._employ(name)
        if gone is not None:
            self._employ(gone)

    def _has_done_it(self, name: str) -> bool:
        said = self._workers[name].answer()
        if said != "done":
            self._workers[name].kill()
            self._found.errors.add(f"{self._seed} {name}: {said}")
        return said == "done"

    def _kill_database(self) -> None:
        if self._chooser.random() < _REWRITING:
            self._memory.database.command("BGREWRITEAOF")
        self._tell(f"record {BATCHES}", *WRITERS)
        self._let_pass(self._recording)
        self._found.mid_batch += bool(self._under_way())
        self._found.kills["database"] += kill_servers(self._store)
        if self._chooser.random() < _SECOND_KILL:
            self._let_pass(self._starting)
            self._found.kills["database"] += kill_servers(self._store)

    def _kill_supervisor(self) -> str:
        self._tell(f"record {BATCHES}", *WRITERS)
        self._let_pass(self._recording)
        victim = self._chooser.choice(WRITERS)
        self._found.mid_batch += victim in self._under_way()
        self._workers[victim].kill()
        self._found.kills["supervisor"] += 1
        return victim

    def _kill_starter(self) -> str:
        self._stop()
        together = self._chooser.random() < _TOGETHER
        self._tell("start", "starter")
        if together:
            self._tell(f"record {BATCHES}", *WRITERS)
        self._let_pass(self._starting)
        self._found.mid_batch += not self._workers["starter"].has_answered()
        self._workers["starter"].kill()
        self._found.kills["starter"] += 1
        if not together:
            self._tell(f"record {BATCHES}", *WRITERS)
        return "starter"

    def check(self, *, whole: bool) -> None:
        """Hold the store against the journals; ``whole``: and every mind against the log."""
        found, mark = self._found, f"{self._seed} "
        journals = {name: read_journal(self._journal(name)) for name in WRITERS}
        log = self._patiently(
            lambda: log_of(self._memory.database.read_together(log_calls(SCENARIO)))
        )
        there = Counter(event.id for event in log if event.id is not None)
        found.doubled |= {mark + event for event, times in there.items() if times > 1}
        for name, (done, in_doubt, complaints) in journals.items():
            acknowledged = {event["id"] for number in done for event in self._batch(name, number)}
            found.acknowledged |= {mark + event for event in acknowledged}
            found.lost |= {mark + event for event in acknowledged - there.keys()}
            for line in complaints:
                kept = {"lost": found.lost, "torn": found.torn, "error": found.errors}
                kept[line.partition(" ")[0]].add(f"{mark}{name}: {self._without_path(line)}")
            for piece in [] if in_doubt is None else pieces(self._batch(name, in_doubt)):
                if len({event["id"] in there for event in piece}) > 1:
                    found.torn.add(f"{mark}{name}-{in_doubt}: of a piece a part is there")
        if whole:
            found.torn |= {mark + repr(difference) for difference in self._differences()}
        found.servers.add(settled(self._store, 1))

    def _differences(self) -> list[Difference]:
        try:
            return self._patiently(self._memory.verify)
        except UnknownNameError:  # all is lost, and was counted
            return []

    def _patiently[T](self, ask: Callable[[], T]) -> T:
        """What the store answers; what it says instead is noted, and it is asked again."""
        deadline = time.monotonic() + PATIENCE / 2
        while True:
            try:
                return ask()
            except StoreError as error:
                said = self._without_path(str(error))
                self._found.errors.add(f"{self._seed} check: {type(error).__name__}: {said}")
                if time.monotonic() > deadline:
                    raise

    def _employ(self, name: str) -> None:
        self._workers[name] = Worker(
            "eval.faults.writer", str(self._store), SCENARIO, name, self._seed,
            str(self._journal(name)), self._broken,
        )

    def _tell(self, line: str, *names: str) -> None:
        for name in names:
            self._workers[name].tell(line)

    def _timed(self, line: str, *names: str) -> float:
        for name in names:
            self._workers[name].wait_until_ready()
        start = time.monotonic()
        self._tell(line, *names)
        for name in names:
            if not self._has_done_it(name):
                self._employ(name)
        return time.monotonic() - start

    def _let_pass(self, length: float) -> None:
        # A fault must fall anywhere within what it hits: its moment is drawn, and waited for.
        time.sleep(self._chooser.uniform(0, length))

    def _under_way(self) -> list[str]:
        """Writers in the middle of a batch."""
        return [name for name in WRITERS if read_journal(self._journal(name)).in_doubt is not None]

    def _batch(self, name: str, number: int) -> list[dict[str, Any]]:
        return batch_of(self._seed, name, number)

    def _journal(self, name: str) -> Path:
        return self._folder / f"{name}.journal"

    def _without_path(self, text: str) -> str:
        return text.replace(str(self._store), "STORE")

    def _stop(self) -> None:
        EmbeddedStore(self._store).stop()
