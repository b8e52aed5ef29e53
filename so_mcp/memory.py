"""`Memory`: the supervisor's way in from Python. Synchronous, embedded by default."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

from . import handoff as _handoff
from . import library as _library
from . import plans as _plans
from . import what_if as _what_if
from .asking import Asking
from .config import Config, ServerAddress, server_address, store_path
from .database import Database, supervisor_database
from .embedded import EmbeddedStore
from .errors import InvalidInputError
from .events import Event, History, Reads
from .forks import SECONDS_TO_LIVE, forked
from .library import Cleared, Stored
from .names import counters_key, normal_name
from .naming import Naming, Renamed
from .progress import Progress, silent
from .questions import Questions
from .recorder import Record, Recorder
from .scenarios import Scenario
from .verbs import Verbs
from .vocabulary import Alias, Vocabulary
from .world import SETTINGS, Kind, Policy, RoomKind


class Memory(Verbs, Asking):
    """The memory of one scenario: what happened, and what everyone makes of it.

    >>> mem = Memory("support")
    >>> mem.say("Billing", "refund", "approved", audience=["Maya"])  # doctest: +SKIP

    Where the database is: the server ``host``, with ``tls`` and who may have signed its certificate
    (``tls_ca``, a file); or the embedded one in the folder ``path``; with neither the one that the
    environment names (see `config`), else the embedded one in the platform's data folder.

    ``policy`` ("credulous", "exit-order"), ``rooms`` ("channel", "place"), ``history`` of new rooms
    ("none", "since_join", "all") and how one ``reads`` in them ("at_once", "later") are set when the
    scenario is made; giving others for one that exists raises `ConflictError`. Names are case-sensitive Unicode text.
    Agents, rooms and entities come into being when first named. One `Memory` may be used from
    several threads. Close it, or use it in a ``with`` block: the last to leave an embedded
    database stops it.
    """

    def __init__(
        self,
        scenario: str = "support",
        *,
        policy: Policy | None = None,
        rooms: RoomKind | None = None,
        history: History | None = None,
        reads: Reads | None = None,
        path: str | os.PathLike[str] | None = None,
        host: str | None = None,
        port: int = 6379,
        username: str | None = None,
        password: str | None = None,
        tls: bool = False,
        tls_ca: str | None = None,
    ) -> None:
        asked = _asked(policy=policy, rooms=rooms, history=history, reads=reads)
        server = None if path else server_address()
        if host is not None:
            server = ServerAddress(host, port, username, password, tls, tls_ca)
        self.store: EmbeddedStore | ServerAddress = server or EmbeddedStore(
            store_path(path or os.environ.get("FALKORDB_LITE_PATH"))
        )
        self.database: Database = supervisor_database(self.store)
        self._open(normal_name(scenario, "scenario"), asked)

    def _open(self, scenario: str, asked: dict[str, str], lifetime: int | None = None) -> None:
        self.scenario = scenario
        self._asked = asked
        self._recorder = Recorder(self.database, scenario, asked, lifetime)
        self._naming = Naming(self.database, scenario, self._recorder, lifetime)
        self._questions = Questions(self.database, scenario)
        self._writing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held; the memory can be used again, which opens it again."""
        self.database.close()

    # What happened ---------------------------------------------------------------------------

    def record(
        self, events: Iterable[Event | Mapping[str, Any]], *, progress: Progress = silent
    ) -> Record:
        """Record events in order. Each becomes visible whole: in the log and in every mind.

        All are checked first: a wrong one raises `InvalidEventError` and none is written. An
        event whose ``id`` was recorded before is not recorded again. Returns who witnessed each,
        the names that were made, and existing names that they may be a slip of.
        """
        with self._writing:
            return self._recorder.record(events, progress)

    # What they make of it ----------------------------------------------------------------------

    def handoff_delta(
        self,
        sender: str,
        receiver: str,
        exclude: str | Sequence[str] | None = None,
        as_of: int | str | None = None,
        *,
        commit: bool = False,
    ) -> _handoff.Handoff:
        """The smallest message that gives ``receiver`` what ``sender`` thinks it lacks or has wrong.

        And which third parties it would find mistaken; from the sender's own mind, newest first.
        ``exclude``: entities and agents of which nothing may pass on; the answer proves that
        nothing does, or `SecondOrderError` is raised. ``commit=True`` records it as testimony.
        """
        sender, receiver = normal_name(sender, "sender"), normal_name(receiver, "receiver")
        excluded = _handoff.excluded_names(exclude)
        names = self._questions.names()
        sender, receiver = names.known([sender, receiver])
        return _handoff.handoff_delta(
            self, names, sender, receiver, excluded, as_of, commit=commit
        )

    def step(self) -> int:
        """The number of the newest event; 0 when nothing has happened yet."""
        found = self.database.command("HGET", counters_key(self.scenario), "seq")
        return 0 if found is None else int(found)

    def agents(self) -> list[str]:
        """Every agent, in the order of naming."""
        return self._questions.agents()

    def entities(self) -> list[str]:
        """Every entity, in the order of naming."""
        return self._questions.entities()

    @contextmanager
    def fork(self) -> Iterator[Self]:
        """A copy of this scenario to try events on; gone when the block ends."""
        with forked(self.database, self.scenario) as name:
            yield self._opened(name)

    def _opened(self, name: str) -> Self:
        fork = copy(self)
        # A scenario in which nothing happened yet has its settings from here alone.
        fork._open(name, self._asked, SECONDS_TO_LIVE)  # noqa: SLF001 - it is one of us
        return fork

    def what_if(
        self,
        events: Iterable[Event | Mapping[str, Any]],
        depth: int = 2,
        *,
        progress: Progress = silent,
    ) -> _what_if.WhatIf:
        """What recording ``events`` would answer and change, by every chain to ``depth`` (1 to 3).

        They are recorded on a fork; nothing of it stays. Raises what `record` raises.
        """
        return _what_if.what_if(self, events, depth, progress=progress)

    def plan_announcements(
        self,
        entity: str,
        speaker: str,
        know: str | Sequence[str],
        keep_from: str | Sequence[str] = (),
        value: str | None = None,
        *,
        progress: Progress = silent,
    ) -> _plans.Plans:
        """Which messages of ``speaker`` make those in ``know`` believe it, and of each other.

        And keep it from those in ``keep_from``. ``value`` None: what the speaker believes. Private
        messages, a group message, room statements, an announcement and a mixed plan are tried on
        forks; each comes with its events, ready for `record`.
        """
        return _plans.plan_announcements(
            self, entity, speaker, know, keep_from, value, progress=progress
        )

    # Keeping it --------------------------------------------------------------------------------

    def alias(self, alias: str, of: str, kind: Kind | None = None) -> Alias:
        """From now on ``alias`` is another name for ``of``, in events and in questions.

        ``kind`` ("agent", "room", "entity") where ``of`` is a name of several. Raises
        `ConflictError` for an alias that names one of that kind itself: nothing is ever merged.
        """
        with self._writing:
            return self._naming.alias(alias, of, kind)

    def rename(
        self, name: str, to: str, kind: Kind | None = None, *, progress: Progress = silent
    ) -> Renamed:
        """Call an agent, a room or an entity otherwise, everywhere; the old name becomes an alias.

        In the log and in every mind; words and values stay. An agent's login was for its old name,
        under which there is nothing any more: grant the new one.
        """
        with self._writing:
            return self._naming.rename(name, to, kind, progress)

    def strict(self, *, on: bool = True) -> None:
        """Refuse events that would make a new agent, room or entity; ``on=False``: take them."""
        with self._writing:
            self._naming.strict(on=on)

    def vocabulary(self) -> Vocabulary:
        """Every name and alias, and whether the scenario is strict."""
        return self._naming.vocabulary()

    def scenarios(self) -> list[Stored]:
        """Every scenario of this store, by name."""
        return _library.stored(self.database)

    def load_scenario(self, name: str) -> tuple[Scenario, Record]:
        """Play a sample of the package in here; twice is harmless.

        Raises `ConflictError` where anything else has happened.
        """
        return _library.load(self, name)

    def reset_scenario(self, confirm: str = "", newest: int | None = None) -> Cleared:
        """Delete this scenario: log, minds, counters and forks. ``confirm`` has to be its name.

        ``newest``: only if this is the number of its newest event; else `ConflictError`.
        """
        return _library.clear(self, confirm, newest)


def supervising(config: Config, scenario: str | None = None) -> Memory:
    """The supervisor's memory, of ``scenario`` or the one that is set; refused to an agent."""
    if config.agent is not None:
        raise InvalidInputError(
            "SO_AGENT is set, so this process is that agent and can only read its own mind. "
            "Unset it to supervise."
        )
    scenario = scenario or config.scenario
    if config.server is None:
        return Memory(scenario, path=config.path)
    server = config.server
    return Memory(
        scenario, host=server.host, port=server.port,
        username=server.username, password=server.password, tls=server.tls, tls_ca=server.tls_ca,
    )


def _asked(**given: str | None) -> dict[str, str]:
    """The settings that were given."""
    asked = {}
    for what, value in given.items():
        if value is None:
            continue
        if value not in SETTINGS[what]:
            raise InvalidInputError(
                f"{what}: expected {' or '.join(SETTINGS[what])}, got {value!r}."
            )
        asked[what] = value
    return asked
