"""What everyone makes of what happened: the questions of `Memory` to its minds and its log."""

from __future__ import annotations

from collections.abc import Sequence

from . import briefing as _briefing
from . import common as _common
from . import delivery as _delivery
from . import history as _history
from .errors import InvalidInputError
from .keeping import Keeping
from .minds import Held, moment, since_of
from .names import normal_name
from .questions import Explanation, FalseBelief, Knowers, Questions
from .verbs import names_of


class Asking(Keeping):
    """The methods of `Memory` that ask, and change nothing."""

    _questions: Questions

    def believes(
        self,
        chain: str | Sequence[str],
        entity: str,
        as_of: int | str | None = None,
        *,
        as_recorded: int | None = None,
    ) -> str | None:
        """What a chain of minds believes, outermost first; None when it is unknown.

        ``as_of``: milliseconds since 1970 or ISO 8601 text: the world up to then, by today's log.
        ``as_recorded``: the number of an event: what was answered when it was the newest. Raises
        `UnknownNameError` for an agent that was never named.
        """
        held = self.held(chain, entity, as_of, as_recorded=as_recorded)
        return None if held is None else held.value

    def held(
        self,
        chain: str | Sequence[str],
        entity: str,
        as_of: int | str | None = None,
        *,
        as_recorded: int | None = None,
    ) -> Held | None:
        """`believes` with how it came, from whom and when; None when nothing is held."""
        with self.as_recorded(as_recorded) as then:
            return then._questions.held(chain, entity, as_of)  # noqa: SLF001 - one of us

    def slip_of_an_entity(self, entity: str) -> str | None:
        """A hint when no event is about ``entity`` but some are about names near it."""
        return self._questions.slip_of_an_entity(normal_name(entity, "entity"))

    def truth(
        self, entity: str, as_of: int | str | None = None, *, as_recorded: int | None = None
    ) -> str | None:
        """What is so; None when it is unknown."""
        with self.as_recorded(as_recorded) as then:
            return then._questions.truth(entity, as_of)  # noqa: SLF001 - one of us

    def explain(
        self,
        chain: str | Sequence[str],
        entity: str,
        as_of: int | str | None = None,
        *,
        as_recorded: int | None = None,
    ) -> Explanation:
        """Why a chain believes it: the event, its witnesses, what each agent missed, a sentence.

        For a belief that came by being told also who told whom, back to one who saw it.
        """
        with self.as_recorded(as_recorded) as then:
            return then._questions.explain(chain, entity, as_of)  # noqa: SLF001 - one of us

    def false_beliefs(
        self,
        depth: int | None = None,
        entity: str | None = None,
        agents: Sequence[str] | None = None,
        as_of: int | str | None = None,
        *,
        missing: bool = False,
        as_recorded: int | None = None,
    ) -> list[FalseBelief]:
        """Who is wrong: exactly at ``depth``, or at 1 and 2.

        Depth 1 is held against the truth, deeper chains against what the other really believes.
        """
        with self.as_recorded(as_recorded) as then:
            return then._questions.false_beliefs(  # noqa: SLF001 - one of us
                depth, entity, agents, as_of, missing=missing
            )

    def who_knows(
        self, entity: str, as_of: int | str | None = None, *, as_recorded: int | None = None
    ) -> Knowers:
        """Who is up to date, out of date, unaware; and who is wrong about who is."""
        with self.as_recorded(as_recorded) as then:
            return then._questions.who_knows(entity, as_of)  # noqa: SLF001 - one of us

    def timeline(
        self,
        entity: str | None = None,
        agent: str | None = None,
        since: int | str | None = None,
        as_of: int | str | None = None,
        limit: int = 20,
    ) -> _history.Timeline:
        """What happened, newest last: who did what where and who saw it; the newest ``limit``.

        Of one entity or all; with ``agent`` only what it witnessed. ``since``: a number of an
        event (an int below 2**31: what came after it), or milliseconds since 1970 or ISO 8601
        text (what happened then or later).
        """
        names = self._questions.names()
        if entity is not None:
            entity = names.entity(normal_name(entity, "entity"))
        if agent is not None:
            agent = names.agent(normal_name(agent, "agent"))
        return _history.timeline(
            self.database, self.scenario, entity, agent, since_of(since), moment(as_of),
            _history.checked_limit(limit),
        )

    def missed(
        self,
        agent: str,
        since: int | str | None = None,
        entity: str | None = None,
        as_of: int | str | None = None,
        limit: int = 20,
    ) -> _history.Missed:
        """What an agent did not witness, newest first; those who did could tell it.

        Only events that hold something to know, a value or words: who came and went is in
        `timeline`, which takes the same ``since``.
        """
        names = self._questions.names()
        agent = names.agent(normal_name(agent, "agent"))
        if entity is not None:
            entity = names.entity(normal_name(entity, "entity"))
        return _history.missed(
            self.database, self.scenario, agent, since_of(since), entity, moment(as_of),
            _history.checked_limit(limit),
        )

    def delivery(self, event: int | str) -> _delivery.Delivery:
        """Where a message went, by its number or id: who took it in, read it, has it unread.

        And who passed it on to whom, and whether it was edited or retracted since.
        """
        return _delivery.deliveries(self.database, self.scenario).of(event)

    def readable(self, agent: str) -> list[int]:
        """The numbers of what an agent may read now and has not: delivered, or shown by history.

        Of a message that was edited the newest edit. Raises `UnknownNameError` for no agent.
        """
        [agent] = self._questions.names().known([normal_name(agent, "agent")])
        return _delivery.deliveries(self.database, self.scenario).readable(agent)

    def replay(
        self, entity: str, as_of: int | str | None = None, limit: int = 20
    ) -> _history.Replay:
        """The newest ``limit`` events about an entity, step by step.

        Each with who was where, who saw it, and which beliefs of order 1 and 2 it changed; with
        those by which somebody came to see it. Exact for events that share a moment.
        """
        entity = self._questions.names().entity(normal_name(entity, "entity"))
        return _history.replay(
            self.database, self.scenario, entity, moment(as_of), _history.checked_limit(limit)
        )

    def common_ground(
        self,
        agents: str | Sequence[str],
        entity: str | None = None,
        as_of: int | str | None = None,
    ) -> list[_common.Ground]:
        """How far a group shares each entity of which one of them believes something.

        Most shared first, decided over every chain of the group, of every depth. The ground of one
        agent alone is what it believes. With ``as_of`` nothing is proposed to be recorded. Raises
        `UnknownNameError` for an agent that was never named.
        """
        group = [normal_name(name, "agents") for name in names_of(agents)]
        if not group:
            raise InvalidInputError("agents: expected one or more, got none. Give a group.")
        entity = None if entity is None else normal_name(entity, "entity")
        names = self._questions.names()
        group = list(dict.fromkeys(names.known(group)))
        entity = None if entity is None else names.entity(entity)
        return _common.common_ground(self.database, self.scenario, group, entity, moment(as_of))

    def context_for(
        self, agent: str, talking_to: str, as_of: int | str | None = None
    ) -> str:
        """What ``agent`` should have in mind when it talks to another, from its own mind alone."""
        return _briefing.briefing_text(self.briefing(agent, talking_to, as_of), talking_to)

    def briefing(
        self, agent: str, talking_to: str, as_of: int | str | None = None
    ) -> _briefing.Briefing:
        """`context_for` as data."""
        agent, talking_to = normal_name(agent, "agent"), normal_name(talking_to, "talking_to")
        agent, talking_to = self._questions.known_agents([agent, talking_to])
        _briefing.refuse_oneself(agent, talking_to)
        return _briefing.briefing(
            self.database, self.scenario, agent, talking_to, moment(as_of)
        )
