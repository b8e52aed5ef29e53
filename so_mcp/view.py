"""`AgentView`: one agent's own mind, read-only, with that agent's own login.

The process that serves an agent holds this and nothing more. Every method runs GRAPH.RO_QUERY on
the one graph that the login can read; there is no way from here to the supervisor's rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from . import briefing as _briefing
from .config import ServerAddress
from .database import agent_database
from .embedded import EmbeddedStore
from .minds import Held, ask, ask_all, chain_of
from .names import database_user, mind_key, normal_name


class AgentView:
    """What one agent can know: its own beliefs, and what it thinks that others believe."""

    def __init__(self, agent: str, scenario: str, store: EmbeddedStore | ServerAddress) -> None:
        """Connects at the first question; raises `NotGrantedError` or `AccessError` then."""
        self.agent = normal_name(agent, "agent")
        self.scenario = normal_name(scenario, "scenario")
        self.database = agent_database(store, database_user(self.agent), self.agent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held."""
        self.database.close()

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

    def who_is_misinformed(self) -> list[_briefing.Misinformed]:
        """Each person and entity where I think they believe something else than I do."""
        return _briefing.misinformed(self.database, self.scenario, self.agent)

    def briefing(self, talking_to: str) -> list[_briefing.Point]:
        """What to have in mind when I talk to somebody, as data."""
        other = normal_name(talking_to, "talking_to")
        return _briefing.briefing(self.database, self.scenario, self.agent, other)

    def context_for(self, talking_to: str) -> str:
        """What to have in mind when I talk to somebody, as text for a prompt."""
        return _briefing.briefing_text(self.briefing(talking_to), talking_to)

    def _held(self, chains: list[tuple[str, ...]], entity: str | None) -> list[Held]:
        name = None if entity is None else normal_name(entity, "entity")
        return list(ask_all(self.database, self.scenario, chains, name).values())
