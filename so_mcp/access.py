"""Who may read what: the part of `Memory` that gives logins and takes them away."""

from __future__ import annotations

from collections.abc import Sequence

from . import grants as _grants
from .database import Database
from .errors import InvalidInputError, NotGrantedError
from .grants import Grant, Login, Store
from .names import normal_name
from .questions import Questions


class Access:
    """Logins of agents: each for its own mind in the scenarios it was granted, and nothing else."""

    database: Database
    store: Store
    scenario: str

    def grant(self, agent: str, scenarios: str | Sequence[str] | None = None) -> Grant:
        """Give an agent a database login that can read its own mind here, and nothing else.

        Or in ``scenarios``, whichever these are; it keeps those that it was granted before.
        """
        where = _names(scenarios) or [self.scenario]
        name = _grants.canonical(self.database, normal_name(agent, "agent"), where)
        [granted] = _grants.grant(self.database, self.store, {name: where})
        return granted

    def grant_all(self, scenarios: str | Sequence[str] | None = None) -> list[Grant]:
        """`grant` for every agent that events named here, or in ``scenarios``, of each its own."""
        wanted: dict[str, list[str]] = {}
        for scenario in _names(scenarios) or [self.scenario]:
            for name in Questions(self.database, scenario).agents():
                wanted.setdefault(name, []).append(scenario)
        return _grants.grant(self.database, self.store, wanted)

    def revoke(self, agent: str, scenarios: str | Sequence[str] | None = None) -> tuple[str, ...]:
        """Take an agent's login for ``scenarios`` away, or all of it; which they were.

        Live sessions lose at once what is taken. Raises `NotGrantedError` for what it has not.
        """
        name = self._with_login(agent)
        return _grants.revoke(self.database, self.store, name, _names(scenarios))

    def rotate(self, agent: str) -> Grant:
        """Give an agent another password for all it was granted; sessions with the old one end."""
        return _grants.rotate(self.database, self.store, self._with_login(agent))

    def grants(self) -> list[Login]:
        """Every agent's login in this database, for whatever scenarios."""
        return _grants.grants(self.database)

    def _with_login(self, agent: str) -> str:
        """The name its login is under; of one who was renamed since that is the old one."""
        name = normal_name(agent, "agent")
        try:
            return _grants.login_of(self.database, name).agent
        except NotGrantedError:
            return _grants.canonical(self.database, name, [self.scenario])


def _names(scenarios: str | Sequence[str] | None) -> list[str] | None:
    if scenarios is None:
        return None
    given = [scenarios] if isinstance(scenarios, str) else scenarios
    names = list(dict.fromkeys(normal_name(name, "scenario") for name in given))
    if not names:
        raise InvalidInputError("scenarios: expected one or more, got none.")
    return names
