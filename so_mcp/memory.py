"""`Memory`: the supervisor's way in from Python. Synchronous, embedded by default."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

from . import briefing as _briefing
from .config import ServerAddress, store_path
from .database import Database, supervisor_database
from .embedded import EmbeddedStore
from .errors import InvalidInputError
from .events import Event
from .forks import SECONDS_TO_LIVE, forked
from .grants import Grant, grant
from .minds import Held, moment
from .names import counters_key, normal_name
from .questions import Explanation, FalseBelief, Knowers, Questions
from .recorder import Record, Recorder
from .verify import Difference, verify
from .world import Policy, RoomKind, Settings


class Memory:
    """The memory of one scenario: what happened, and what everyone makes of it.

    >>> mem = Memory("support")
    >>> mem.say("Billing", "refund", "approved", audience=["Maya"])  # doctest: +SKIP

    Without ``host`` the database is embedded, in the folder ``path`` (default: the one that
    ``FALKORDB_LITE_PATH`` names, else the platform's data folder). ``policy`` ("credulous",
    "exit-order") and ``rooms`` ("channel", "place") are set when the scenario is made; giving
    others for one that exists raises `ConflictError`. Names are case-sensitive Unicode text.
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
        path: str | os.PathLike[str] | None = None,
        host: str | None = None,
        port: int = 6379,
        username: str | None = None,
        password: str | None = None,
    ) -> None:
        settings = None
        if policy is not None or rooms is not None:
            settings = _settings(policy, rooms)
        self.store: EmbeddedStore | ServerAddress
        if host is not None:
            self.store = ServerAddress(host, port, username, password)
        else:
            self.store = EmbeddedStore(store_path(path or os.environ.get("FALKORDB_LITE_PATH")))
        self.database: Database = supervisor_database(self.store)
        self._open(normal_name(scenario, "scenario"), settings)

    def _open(self, scenario: str, settings: Settings | None, lifetime: int | None = None) -> None:
        self.scenario = scenario
        self._recorder = Recorder(self.database, scenario, settings, lifetime)
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

    def record(self, events: Iterable[Event | Mapping[str, Any]]) -> Record:
        """Record events in order. Each becomes visible whole: in the log and in every mind.

        All are checked first: a wrong one raises `InvalidEventError` and none is written. An
        event whose ``id`` was recorded before is not recorded again. Returns who witnessed each,
        the names that were made, and existing names that they may be a slip of.
        """
        with self._writing:
            return self._recorder.record(events)

    def join(self, agents: str | Sequence[str], room: str, **fields: Any) -> Record:
        """Agents enter a room; ``place=True`` for a room that one can be in only one of."""
        return self._one("enter", agents=_names(agents), room=room, **fields)

    def leave(self, agents: str | Sequence[str], room: str | None = None, **fields: Any) -> Record:
        """Agents leave a room, or every room they are in."""
        return self._one("exit", agents=_names(agents), room=room, **fields)

    def set(self, entity: str, value: str | None, **fields: Any) -> Record:
        """Something becomes so (``value=None``: no longer known), seen by ``room`` or ``audience``.

        Also ``by``, who always witnesses it, and ``located_in``.
        """
        return self._one("state", entity=entity, value=value, **fields)

    def say(
        self, speaker: str, entity: str | None = None, value: str | None = None, **fields: Any
    ) -> Record:
        """A declaration in a ``room`` or to an ``audience``: it makes it so. Or only ``text``."""
        if entity is not None:
            fields |= {"entity": entity, "value": value}
        return self._one("say", speaker=speaker, **fields)

    def tell(
        self,
        speaker: str,
        listeners: str | Sequence[str] | None,
        entity: str,
        value: str,
        **fields: Any,
    ) -> Record:
        """Testimony, true or not, to ``listeners`` (or None with ``everyone=True`` or ``room``)."""
        if listeners is not None:
            fields["listeners"] = _names(listeners)
        return self._one("tell", speaker=speaker, entity=entity, value=value, **fields)

    def report(self, speaker: str, about: str, entity: str, value: str, **fields: Any) -> Record:
        """Testimony about another's mind, in a ``room`` or to ``listeners``."""
        return self._one(
            "report", speaker=speaker, about=about, entity=entity, value=value, **fields
        )

    def announce(self, speaker: str, entity: str, value: str, **fields: Any) -> Record:
        """A declaration to every agent named so far: nobody is left mistaken about anybody."""
        return self._one("announce", speaker=speaker, entity=entity, value=value, **fields)

    def _one(self, kind: str, **fields: Any) -> Record:
        keep_null = {"value"} if kind in ("state", "say") else set()
        given = {k: v for k, v in fields.items() if v is not None or k in keep_null}
        return self.record([{"kind": kind, **given}])

    # What they make of it ----------------------------------------------------------------------

    def believes(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> str | None:
        """What a chain of minds believes, outermost first; None when it is unknown.

        ``as_of``: milliseconds since 1970 or ISO 8601 text. Raises `UnknownNameError` for an
        agent that was never named.
        """
        held = self.held(chain, entity, as_of)
        return None if held is None else held.value

    def held(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Held | None:
        """`believes` with how it came, from whom and when; None when nothing is held."""
        return self._questions.held(chain, entity, as_of)

    def slip_of_an_entity(self, entity: str) -> str | None:
        """A hint when no event is about ``entity`` but some are about names near it."""
        return self._questions.slip_of_an_entity(normal_name(entity, "entity"))

    def truth(self, entity: str, as_of: int | str | None = None) -> str | None:
        """What is so; None when it is unknown."""
        return self._questions.truth(entity, as_of)

    def explain(
        self, chain: str | Sequence[str], entity: str, as_of: int | str | None = None
    ) -> Explanation:
        """Why a chain believes it: the event, its witnesses, what each agent missed, a sentence."""
        return self._questions.explain(chain, entity, as_of)

    def false_beliefs(
        self,
        depth: int | None = None,
        entity: str | None = None,
        agents: Sequence[str] | None = None,
        as_of: int | str | None = None,
        *,
        missing: bool = False,
    ) -> list[FalseBelief]:
        """Who is wrong: exactly at ``depth``, or at 1 and 2.

        Depth 1 is held against the truth, deeper chains against what the other really believes.
        """
        return self._questions.false_beliefs(depth, entity, agents, as_of, missing=missing)

    def who_knows(self, entity: str, as_of: int | str | None = None) -> Knowers:
        """Who is up to date, out of date, unaware."""
        return self._questions.who_knows(entity, as_of)

    def context_for(
        self, agent: str, talking_to: str, as_of: int | str | None = None
    ) -> str:
        """What ``agent`` should have in mind when it talks to another, from its own mind alone."""
        return _briefing.briefing_text(self.briefing(agent, talking_to, as_of), talking_to)

    def briefing(
        self, agent: str, talking_to: str, as_of: int | str | None = None
    ) -> list[_briefing.Point]:
        """`context_for` as data."""
        agent, talking_to = normal_name(agent, "agent"), normal_name(talking_to, "talking_to")
        self._questions.known_agents([agent, talking_to])
        return _briefing.briefing(
            self.database, self.scenario, agent, talking_to, moment(as_of)
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
    def fork(self) -> Iterator[Memory]:
        """A copy of this scenario to try events on; gone when the block ends."""
        with forked(self.database, self.scenario) as name:
            fork = copy(self)
            fork._open(name, None, SECONDS_TO_LIVE)  # noqa: SLF001 - it is one of us
            yield fork

    # Keeping it --------------------------------------------------------------------------------

    def grant(self, agent: str) -> Grant:
        """Give an agent a database login that can read its own mind here, and nothing else."""
        return grant(self.database, self.store, self.scenario, normal_name(agent, "agent"))

    def verify(self) -> list[Difference]:
        """Compare every mind with a replay of the log; an empty list when all are equal."""
        return verify(self.database, self.scenario)


def _names(agents: str | Sequence[str]) -> list[str]:
    return [agents] if isinstance(agents, str) else list(agents)


def _settings(policy: str | None, rooms: str | None) -> Settings:
    chosen = Settings()
    for what, value, allowed in (
        ("policy", policy, ("credulous", "exit-order")),
        ("rooms", rooms, ("channel", "place")),
    ):
        if value is not None and value not in allowed:
            raise InvalidInputError(f"{what}: expected {' or '.join(allowed)}, got {value!r}.")
    return Settings(policy or chosen.policy, rooms or chosen.rooms)  # type: ignore[arg-type]
