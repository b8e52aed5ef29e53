"""One conversation that agents are handed as they start; shared by hosts that keep it as a list.

Such a host has no audience when something is said: it is put on the list, and whoever starts later
is handed the list. So a message is at first witnessed by its speaker alone, and each agent that is
handed it reads it then. The speaker knows of the reading only where it chose who is next: a user
whom the host answers, an agent that hands over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from so_mcp.memory import Memory

from .messages import Given, digest, enters, event_key, leaves, message
from .spool import record_each

Sink = Callable[[list[Given]], object]
_log = logging.getLogger("so_mcp.capture")


class Message(NamedTuple):
    """A message on the list; ``key`` tells it from every other of its conversation."""

    key: str
    text: str


def into(memory: Memory) -> Sink:
    """A sink that records at once, in this process; `spool.spooling` is the one that never waits."""
    return lambda events: record_each(memory, events, _refused)


def _refused(event: Given, why: Exception) -> None:
    _log.warning("so-mcp did not take %s: %s", event.get("id"), why)


class Conversation:
    """What was said and who was handed it. Nothing here raises: the host goes on."""

    def __init__(self, sink: Sink, host: str, name: str) -> None:
        self._sink = sink
        self._name = (host, name)
        self.room = event_key(host, name)
        self._said: dict[str, str] = {}  # by whom
        self._meant: dict[str, str] = {}  # a speaker, and whom it chose to be next
        self._read: set[tuple[str, str]] = set()
        self._inside: set[str] = set()
        self._lock = threading.Lock()

    def knows(self, key: str) -> bool:
        """Whether a message was noted as said."""
        return key in self._said

    def says(self, speaker: str, said: Message) -> None:
        """A message is put on the list; the same one again is nothing new."""
        with self._lock:
            if said.key in self._said:
                return
            self._said[said.key] = speaker
            self._record([*self._enter(speaker), *self._events(speaker, said)])

    def hands_over(self, speaker: str, to: str) -> None:
        """A speaker chooses who is handed the list next."""
        with self._lock:
            self._meant[speaker] = to

    def asks(self, user: str) -> None:
        """A run begins: nobody is chosen to answer the user yet."""
        with self._lock:
            self._meant.pop(user, None)

    def answers(self, agent: str, user: str) -> None:
        """An agent starts; the first of a run is who the user was put through to."""
        with self._lock:
            self._meant.setdefault(user, agent)

    def answered(self, user: str, answer: Message) -> None:
        """The run ends with an answer, which is meant for the user."""
        if (speaker := self._said.get(answer.key)) is not None:
            self.hands_over(speaker, user)
            self.starts(user, [answer])

    def starts(self, agent: str, handed: Iterable[Message]) -> None:
        """An agent starts and is handed messages."""
        with self._lock:
            events = self._enter(agent)
            for said in handed:
                speaker = self._said.get(said.key)
                if speaker == agent or (agent, said.key) in self._read:
                    continue
                self._read.add((agent, said.key))
                chosen = speaker is not None and self._meant.get(speaker) == agent
                seen = {"audience": [speaker]} if chosen else {}
                for event in self._events(speaker or agent, said):
                    events.append({
                        "kind": "read", "agents": [agent], "event": event["id"], **seen,
                        "happened_at": _now(), "id": f"{event['id']}<{digest(agent)[:6]}",
                    })
            self._record(events)

    def leaves(self, agents: Sequence[str] | None = None) -> None:
        """Agents leave; without names, whoever is there: the run is over."""
        with self._lock:
            gone = sorted(self._inside if agents is None else self._inside.intersection(agents))
            self._inside.difference_update(gone)
            if gone:
                now = _now()
                self._record(leaves(gone, self.room, at=now, key=self._key("exit", *gone, now)))

    def _enter(self, agent: str) -> list[Given]:
        if agent in self._inside:
            return []
        self._inside.add(agent)
        now = _now()
        return enters([agent], self.room, at=now, key=self._key("enter", agent, now))

    def _events(self, speaker: str, said: Message) -> list[Given]:
        return message(speaker, [speaker], said.text, at=_now(), key=self._key("said", said.key))

    def _key(self, *parts: object) -> str:
        return event_key(*self._name, *parts)

    def _record(self, events: list[Given]) -> None:
        if not events:
            return
        try:
            self._sink(events)
        except Exception:  # noqa: BLE001 - the host's work is worth more than ours
            _log.warning("so-mcp could not record %d events", len(events), exc_info=True)


def _now() -> int:
    return time.time_ns() // 1_000_000
