"""A supervisor's process that records batches and keeps a journal of its own, until it is killed.

``python -m eval.faults.writer STORE SCENARIO NAME SEED JOURNAL [BROKEN]``. Told "record 3", it records three
batches; told "start", it only makes the database run. The journal is a plain file: "begin N" before
a batch is sent, "done N" **after** `Memory.record` has returned, which is the acknowledgement. A
killed process's written lines stay (the system has them), so the journal needs no flush to disk.

What a batch holds follows from the seed, the writer's name and the number alone, so that whoever
reads the journal knows the ids, and a writer can send a batch again as it was.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from eval.faults import sabotage
from eval.faults.processes import PATIENCE, commands
from so_mcp import Memory
from so_mcp.errors import (
    ConnectionLostError,
    OutcomeUnknownError,
    SecondOrderError,
    StoreError,
)
from so_mcp.recorder import PIECE, Record

LARGEST_BATCH = 40
AGENTS = tuple(f"Agent {number}" for number in range(8))
ROOMS = ("office", "yard", "lab")
ENTITIES = tuple(f"entity {number}" for number in range(6))
_LATE = 0.1  # of the batches: dated before everything else, so that all is projected again
_LONG_AGO = 1_700_000_000_000  # ms
_VOIDS = 0.1  # of the batches: the last event says that the first never happened
_SENT_AGAIN = 0.1  # of the batches: by one who is not sure whether they arrived


def batch_of(seed: str, writer: str, number: int) -> list[dict[str, Any]]:
    """The events of a writer's batch: 1 to 40, each with an id and several witnesses.

    Some batches happened before all that was recorded until then; some end by voiding an event.
    """
    chooser = random.Random(f"{seed}/{writer}/{number}")  # noqa: S311 - the same in every process
    events = [_event(chooser) for _ in range(chooser.randint(1, LARGEST_BATCH))]
    if chooser.random() < _VOIDS and len(events) < LARGEST_BATCH:
        events.append({"kind": "void", "event": f"{writer}-{number}-0"})
    if chooser.random() < _LATE:
        moments = range(_LONG_AGO + 100 * number, _LONG_AGO + 100 * number + len(events))
        events = [event | {"happened_at": at} for event, at in zip(events, moments, strict=True)]
    return [event | {"id": f"{writer}-{number}-{index}"} for index, event in enumerate(events)]


def _event(chooser: random.Random) -> dict[str, Any]:
    kind = chooser.choice(("enter", "exit", "state", "say", "say", "tell", "report", "announce"))
    speaker, room = chooser.choice(AGENTS), chooser.choice(ROOMS)
    some = chooser.sample(AGENTS, chooser.randint(2, 5))
    what = {"entity": chooser.choice(ENTITIES), "value": f"value {chooser.randrange(1000)}"}
    in_a_room = chooser.random() < 0.5
    match kind:
        case "enter":
            return {"kind": kind, "agents": some, "room": room}
        case "exit":
            return {"kind": kind, "agents": some[:2]}
        case "state":
            where = {"room": room, "located_in": room} if in_a_room else {"audience": some}
            return {"kind": kind, "by": speaker, **what, **where}
        case "say":
            where = {"room": room} if in_a_room else {"audience": some}
            return {"kind": kind, "speaker": speaker, **what, **where}
        case "tell" | "report":
            heard = {"room": room} if in_a_room else {"listeners": some}
            about = {"about": chooser.choice(AGENTS)} if kind == "report" else {}
            return {"kind": kind, "speaker": speaker, **about, **what, **heard}
        case _:
            return {"kind": kind, "speaker": speaker, **what}


def pieces(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """What of a batch is one transaction: there whole or not at all."""
    for start in range(0, len(events), PIECE):
        yield events[start : start + PIECE]


class Journal(NamedTuple):
    """Batches that were acknowledged, the one begun and not, and what was not as it should be."""

    done: set[int]
    in_doubt: int | None
    complaints: list[str]


def read_journal(journal: Path) -> Journal:
    """What a writer noted so far; nothing, if it has not begun."""
    done: set[int] = set()
    begun: int | None = None
    complaints = []
    text = journal.read_text("utf-8") if journal.exists() else ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "begin":
            begun = int(rest)
        elif word == "done":
            done.add(int(rest))
        else:
            complaints.append(line)
    return Journal(done, None if begun in done else begun, complaints)


class Writer:
    """What runs in the process."""

    def __init__(self, memory: Memory, name: str, seed: str, journal: Path) -> None:
        """Go on where the journal ends: with the batch that a killed one of this name left."""
        self._memory, self._name, self._seed = memory, name, seed
        done, self._unsure, _ = read_journal(journal)
        self._next = max(done | {-1 if self._unsure is None else self._unsure}, default=-1) + 1
        # Unbuffered: a line is the system's, whatever becomes of us, before the next step.
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def record(self, batches: int) -> None:
        """Record so many batches of our own, after the one in doubt."""
        if self._unsure is not None:
            unsure, self._unsure = self._unsure, None
            self._send(unsure)
        for _ in range(batches):
            number, self._next = self._next, self._next + 1
            self._send(number)
            if random.Random(f"again/{self._seed}/{self._name}/{number}").random() < _SENT_AGAIN:  # noqa: S311
                self._send(number, acknowledged=True)

    def _send(self, number: int, *, acknowledged: bool = False) -> None:
        events = batch_of(self._seed, self._name, number)
        self._note(f"begin {number}")
        try:
            record = self._until_acknowledged(events)
        except SecondOrderError as error:  # there is no reason for any, or it lasts
            self._note(f"error {type(error).__name__}: {error}")
            return
        again = [recorded.again for recorded in record.events]
        for piece in pieces([{"again": known} for known in again]):
            if len({event["again"] for event in piece}) > 1:
                self._note(f"torn {number}: of a piece a part had been recorded")
        if acknowledged and not all(again):
            self._note(f"lost {number}: it had been acknowledged, and was recorded anew")
        self._note(f"done {number}")

    def _until_acknowledged(self, events: list[dict[str, Any]]) -> Record:
        """As the errors advise: record it again under the same ids."""
        deadline = time.monotonic() + PATIENCE / 2
        while True:
            try:
                return self._memory.record(events)
            except StoreError as error:
                if not isinstance(error, ConnectionLostError | OutcomeUnknownError):
                    # Not what a kill should look like to a user; but the events must arrive.
                    self._note(f"error {type(error).__name__}: {error}")
                if time.monotonic() > deadline:
                    raise

    def _note(self, line: str) -> None:
        os.write(self._journal, f"{line}\n".encode())


def main(store: str, scenario: str, name: str, seed: str, journal: str, broken: str = "") -> None:
    """Do what we are told; ``broken``: with the engine broken so, see `sabotage`."""
    memory = Memory(scenario, path=store)
    if broken:
        sabotage.WAYS[broken]()
    writer = Writer(memory, name, seed, Path(journal))
    with contextlib.closing(memory):
        for command in commands():
            if command == ["start"]:
                memory.step()
            else:
                writer.record(int(command[1]))
            print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
