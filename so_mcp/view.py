"""`AgentView`: one agent's own mind, read-only, with that agent's own login.

The process that serves an agent holds this and nothing more. Every method runs GRAPH.RO_QUERY on
one of the graphs that the login can read: the agent's mind in each scenario that it was granted.
There is no way from here to the supervisor's rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

from . import briefing as _briefing
from . import common as _common
from . import handoff as _handoff
from . import history as _history
from .config import ServerAddress
from .database import agent_database
from .embedded import EmbeddedStore
from .errors import InvalidInputError, NotGrantedError
from .minds import Aside, Held, ask, ask_all, ask_all_noticing, chain_of, people, since_of
from .names import database_user, mind_key, normal_name, shown
from .wording import listed


class AgentView:
    """What one agent can know: its own beliefs, and what it thinks that others believe.

    ``scenario``: one, or several, of which the first is asked; `within` asks another.
    """

    def __init__(
        self, agent: str, scenario: str | Sequence[str], store: EmbeddedStore | ServerAddress
    ) -> None:
        """Connects at the first question; raises `NotGrantedError` or `AccessError` then."""
        self.agent = normal_name(agent, "agent")
        names = [scenario] if isinstance(scenario, str) else scenario
        self.scenarios = tuple(dict.fromkeys(normal_name(name, "scenario") for name in names))
        if not self.scenarios:
            raise InvalidInputError("scenario: expected one or more, got none.")
        self.scenario = self.scenarios[0]
        self.database = agent_database(store, database_user(self.agent), self.agent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held."""
        self.database.close()

    def within(self, scenario: str) -> AgentView:
        """The same agent in another of its scenarios, by the same connection.

        Raises `NotGrantedError` for any that is not among them, before anything is asked.
        """
        name = normal_name(scenario, "scenario")
        if name not in self.scenarios:
            raise NotGrantedError(
                f"scenario: {shown(name)} is none of yours. Yours: "
                f"{listed([shown(own) for own in self.scenarios])}."
            )
        there = copy(self)
        there.scenario = name
        return there

    def step(self) -> int:
        """My own number of the newest event that left something in my mind; 0 for an empty mind."""
        [row] = self.database.read(mind_key(self.scenario, self.agent), "mind/step") or [{"step": 0}]
        return int(row["step"])

    def my_beliefs(self, entity: str | None = None) -> list[Held]:
        """What I believe, of one entity or all."""
        return self._held([(self.agent,)], entity)

    def what_does_person_believe(self, person: str, entity: str | None = None) -> list[Held]:
        """What I think that a person believes, of one entity or all."""
        return self._held([chain_of([self.agent, person])], entity)

    def nested_belief(self, chain: str | Sequence[str], entity: str) -> Held | None:
        """What I think that the first of the chain thinks that the next … believes."""
        names = chain_of(chain)
        return ask(
            self.database,
            self.scenario,
            chain_of((self.agent, *names)),
            normal_name(entity, "entity"),
        )

    def explain(self, entity: str, person: str | None = None) -> Held | None:
        """Why I believe something, or think that a person does: value, source, witnesses, words.

        None when I hold nothing of it.
        """
        return self.explained(entity, person)[0]

    def explained(self, entity: str, person: str | None = None) -> tuple[Held | None, Aside | None]:
        """`explain`, and the newest talk since of those it concerns, of which I heard nothing.

        Those are the person, or for a belief of my own those who took part in how it came.
        """
        chain = chain_of([self.agent] if person is None else [self.agent, person])
        name = normal_name(entity, "entity")
        found, noticed = ask_all_noticing(self.database, self.scenario, [chain], name)
        held = found.get((chain, name))
        others = set(chain[1:]) or ({*held.witnesses} - {self.agent} if held is not None else set())
        since = (-1, 0) if held is None else (held.at, held.step)
        spoke = [a for a in noticed if (a.at, a.step) > since and not others.isdisjoint(a.agents)]
        return held, spoke[-1] if spoke else None

    def what_changed(self, since: int | str | None = None) -> list[_history.Change]:
        """What I came to believe, or to think that others believe, newest last.

        ``since``: a step of my own mind (an int below 2**31: what came after it), or milliseconds
        since 1970 or ISO 8601 text (what happened then or later).
        """
        return _history.what_changed(self.database, self.scenario, self.agent, since_of(since))

    def people(self) -> list[str]:
        """Everybody I hold a belief of or with."""
        return people(self.database, self.scenario, self.agent)

    def who_is_misinformed(self) -> list[_briefing.Misinformed]:
        """Each person and entity where I think they believe something else than I do."""
        return _briefing.misinformed(self.database, self.scenario, self.agent)

    def briefing(self, talking_to: str) -> _briefing.Briefing:
        """What to have in mind when I talk to somebody, as data."""
        other = normal_name(talking_to, "talking_to")
        _briefing.refuse_oneself(self.agent, other)
        return _briefing.briefing(self.database, self.scenario, self.agent, other)

    def context_for(self, talking_to: str) -> str:
        """What to have in mind when I talk to somebody, as text for a prompt."""
        return _briefing.briefing_text(self.briefing(talking_to), talking_to)

    def common_ground(self, person: str, entity: str | None = None) -> list[_common.Ground]:
        """What I share with somebody as I see it, most shared first; never what it takes.

        Its modes are what I believe of the two of us: "believed" is that, as I see it, we both
        believe it, but not that I think it knows that I do.
        """
        person = normal_name(person, "person")
        entity = None if entity is None else normal_name(entity, "entity")
        return _common.common_ground_seen(
            self.database, self.scenario, self.agent, person, entity
        )

    def handoff_delta(
        self, receiver: str, exclude: str | Sequence[str] | None = None
    ) -> _handoff.Handoff:
        """The smallest message that gives somebody what I think it lacks or has wrong.

        My mind keeps no transcript to count beside it, and shows no other to prove on that nothing
        of ``exclude`` passes: ``transcript_tokens`` and ``proof`` are None.
        """
        other, excluded = normal_name(receiver, "receiver"), _handoff.excluded_names(exclude)
        found, _ = _handoff.delta(self.database, self.scenario, self.agent, other, excluded)
        return found

    def _held(self, chains: list[tuple[str, ...]], entity: str | None) -> list[Held]:
        name = None if entity is None else normal_name(entity, "entity")
        return list(ask_all(self.database, self.scenario, chains, name).values())
