"""What was captured and is not recorded yet: a private folder, one file for what one call brought.

A hook may not wait for the database, so it leaves a file here and goes; whoever drains the spool
(a process that the hook starts; one that a supervisor's server starts, when it does)
records the files in order and removes each once it is recorded. A file appears whole, by renaming,
so writers need no lock and a killed one leaves nothing half. A drainer that is killed between
recording and removing leaves files whose events have ids, which are recorded once. The folder lies
apart from the store, so it can be written when the store cannot.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from so_mcp.config import Config
from so_mcp.errors import ConflictError, InvalidInputError, StoreError
from so_mcp.names import name_digest
from so_mcp.private_files import CAN_LOCK, Fd, open_private, try_lock

from .messages import Given

if TYPE_CHECKING:
    from so_mcp.memory import Memory

_BATCH = 32  # files
_LONGEST_LOG = 1024 * 1024  # bytes
_numbers = itertools.count()


class Spool:
    """The files for one store: ``waiting``, ``refused`` by the engine, and a log of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting = folder / "waiting"
        self._refused = folder / "refused"
        self._lock = folder / "drain.lock"
        self.log_file = folder / "capture.log"

    @classmethod
    def of(cls, config: Config, environ: Mapping[str, str] | None = None) -> Spool:
        """The spool of a store: in ``SO_SPOOL``, else in the platform's state folder."""
        given = (os.environ if environ is None else environ).get("SO_SPOOL")
        if given:
            base = Path(given).expanduser().absolute()
        else:
            from platformdirs import user_state_path  # noqa: PLC0415 - only the default needs it

            base = user_state_path("so-mcp", appauthor=False) / "spool"
        server = config.server
        to = os.fspath(config.path) if server is None else f"{server.host}:{server.port}"
        return cls(base / name_digest(to))

    def put(self, scenario: str, events: Sequence[Given]) -> None:
        """Keep events until they are recorded, in one file; raises `OSError`."""
        self._write(self._waiting, json.dumps({"scenario": scenario, "events": [*events]}))

    def refuse(self, text: str, why: str) -> None:
        """Keep aside what can never be recorded as it is, and note why."""
        self._write(self._refused, text)
        self.note(f"kept in {self._refused}: {why}")

    def waiting(self) -> list[Path]:
        """The files that wait, oldest first."""
        try:
            return sorted(file for file in self._waiting.iterdir() if file.name[0] != ".")
        except FileNotFoundError:
            return []

    def note(self, what: str) -> None:
        """Add a line to the log; a log that cannot be written stops nothing."""
        with contextlib.suppress(OSError):
            self._make(self.folder)
            if self.log_file.exists() and self.log_file.stat().st_size > _LONGEST_LOG:
                self.log_file.replace(self.log_file.with_suffix(".log.1"))
            now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            fd = os.open(self.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with contextlib.closing(Fd(fd)):
                os.write(fd, f"{now} {' '.join(what.split())}\n".encode("utf-8", "replace"))

    def start_draining(self) -> subprocess.Popen[bytes] | None:
        """Have a process of its own drain this, unless one does already."""
        with self._turn() as mine:
            if not mine:  # it looks once more after it has let go
                return None
        return subprocess.Popen(
            [sys.executable, "-m", "so_mcp", "hook", "drain"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )

    def drain(self, opened: Callable[[str], Memory]) -> int:
        """Record what waits; how many files that was. ``opened`` gives a scenario's memory.

        Raises `StoreError` where the store cannot be used: what is left waits on. When another
        process drains it, this leaves it to that one.
        """
        drained = 0
        while self.waiting():
            with self._turn() as mine:
                if not mine:
                    return drained
                with ExitStack() as stack:
                    memories: dict[str, Memory] = {}

                    def memory_of(
                        scenario: str,
                        memories: dict[str, Memory] = memories, stack: ExitStack = stack,
                    ) -> Memory:
                        if scenario not in memories:
                            memories[scenario] = stack.enter_context(opened(scenario))
                        return memories[scenario]

                    while files := self.waiting()[:_BATCH]:
                        self._record(files, memory_of)
                        drained += len(files)
        return drained

    def _record(self, files: Sequence[Path], memory_of: Callable[[str], Memory]) -> None:
        """Record some files, neighbours of one scenario together, and remove them."""
        read = [(file, *self._read(file)) for file in files]
        for scenario, group in itertools.groupby(read, key=lambda entry: entry[1]):
            together = list(group)
            if scenario is not None:
                events = [event for _, _, events in together for event in events]
                try:
                    memory_of(scenario).record(events)
                except (InvalidInputError, ConflictError):
                    record_each(memory_of(scenario), events, partial(self._refuse_event, scenario))
            for file, _, _ in together:
                file.unlink(missing_ok=True)

    def _refuse_event(self, scenario: str, event: Given, why: Exception) -> None:
        self.refuse(json.dumps({"scenario": scenario, "events": [event]}), str(why))

    def _read(self, file: Path) -> tuple[str | None, list[Given]]:
        """What a file holds; no scenario: it is none of ours, and was put aside."""
        try:
            text = file.read_text("utf-8")
        except FileNotFoundError:
            return None, []  # somebody else recorded it
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}.") from error
        try:
            held = json.loads(text)
            return str(held["scenario"]), list(held["events"])
        except (ValueError, TypeError, KeyError):
            self.refuse(text, f"{file.name} is not what a hook writes")
            return None, []

    @contextlib.contextmanager
    def _turn(self) -> Iterator[bool]:
        """Whether nobody else drains; ids keep it right without, this saves double work."""
        if not CAN_LOCK:
            yield True
            return
        self._make(self.folder)
        with contextlib.closing(Fd(open_private(self._lock))) as lock:
            yield try_lock(lock.fd)

    def _write(self, folder: Path, text: str) -> None:
        self._make(folder)
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(_numbers)}.json"
        new = folder / f".{name}"
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        new.replace(folder / name)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            for each in (self.folder.parent, self.folder, folder):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)


def record_each(
    memory: Memory, events: Sequence[Given], refused: Callable[[Given, Exception], object]
) -> None:
    """Record events one by one; those that can never be recorded go to ``refused``."""
    for event in events:
        try:
            memory.record([event])
        except ConflictError as conflict:
            # Two hooks for one thing differ in nothing but the moment at which each ran.
            try:
                memory.record([{k: v for k, v in event.items() if k != "happened_at"}])
            except (InvalidInputError, ConflictError):
                refused(event, conflict)
        except InvalidInputError as error:
            refused(event, error)


def spooling(config: Config) -> Callable[[Sequence[Given]], Any]:
    """Where a framework's module may put events: the spool of a store, drained by another process."""
    spool = Spool.of(config)

    def put(events: Sequence[Given]) -> None:
        spool.put(config.scenario, events)
        spool.start_draining()

    return put
