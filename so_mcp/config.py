"""Where the database is and who we are, from arguments and the environment.

| variable | meaning | default |
|---|---|---|
| ``SO_SCENARIO`` | the scenario | ``support`` |
| ``SO_AGENT`` | be this agent: read its own mind, nothing else | unset: supervisor |
| ``SO_SCENARIOS`` | with ``SO_AGENT``: several scenarios, a JSON list, the default first | unset: one |
| ``SO_ACL_SECRET`` | agents' passwords on a server follow from it (see `grants`) | unset: random |
| ``SO_HTTP_TOKEN`` | what clients of ``so-mcp serve --http`` must present | unset: see `listening` |
| ``SO_LOG`` | what is logged: ``debug``, ``info``, ``warning``, ``error`` (see `diagnostics`) | ``warning`` |
| ``FALKORDB_LITE_PATH`` | folder of the embedded database | the platform's data folder |
| ``FALKORDB_HOST`` | use a server instead of the embedded database | unset |
| ``FALKORDB_PORT`` | its port | 6379 |
| ``FALKORDB_USERNAME`` | supervisor's user there (an agent's follows from its name) | ``default`` |
| ``FALKORDB_PASSWORD`` | the password there | none |
| ``FALKORDB_TLS`` | ``1``: speak TLS with it, and check its certificate | unset: no TLS |
| ``FALKORDB_TLS_CA`` | a file with the certificates of those who may have signed it | the system's |
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .errors import InvalidInputError
from .names import normal_name, shown

DEFAULT_SCENARIO = "support"
LOG_LEVELS = ("debug", "info", "warning", "error")
_SHORTEST_SECRET = 32


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A FalkorDB server, and the supervisor's (or the agent's) login on it.

    Of a cluster any node. ``tls_ca``: the file of who may have signed its certificate; None: those
    that the system trusts.
    """

    host: str
    port: int = 6379
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    tls_ca: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """What a process was started with."""

    scenario: str
    agent: str | None
    server: ServerAddress | None  # None: the embedded database at `path`
    path: Path  # of no meaning with a server
    others: tuple[str, ...] = ()  # an agent's further scenarios

    @property
    def scenarios(self) -> tuple[str, ...]:
        """All that this process may ask; the first is asked unless another is named."""
        return (self.scenario, *self.others)

    def asking(self, scenario: str) -> Config:
        """The same with another scenario first; of an agent that has several, one of those."""
        if self.others and scenario not in self.scenarios:
            raise InvalidInputError(
                f"scenario: {shown(scenario)} is none of SO_SCENARIOS. Name one of those."
            )
        others = [name for name in self.scenarios if name != scenario] if self.others else ()
        return replace(self, scenario=scenario, others=tuple(others))


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Read the variables above; raises `InvalidInputError` naming the wrong one."""
    env = os.environ if environ is None else environ
    agent = env.get("SO_AGENT") or None
    scenario, *others = _scenarios(env, agent)
    server, path = server_address(env), env.get("FALKORDB_LITE_PATH")
    return Config(
        scenario=scenario,
        agent=None if agent is None else normal_name(agent, "SO_AGENT"),
        server=server,
        path=Path() if server and not path else store_path(path),  # what nobody needs takes time
        others=tuple(others),
    )


def server_address(environ: Mapping[str, str] | None = None) -> ServerAddress | None:
    """The server of the environment, and the login there; None: the embedded database is used."""
    env = os.environ if environ is None else environ
    host = env.get("FALKORDB_HOST") or None
    if host is None:
        return None
    return ServerAddress(
        host,
        _port(env.get("FALKORDB_PORT") or "6379"),
        env.get("FALKORDB_USERNAME") or None,
        env.get("FALKORDB_PASSWORD") or None,
        *_tls(env),
    )


def acl_secret(environ: Mapping[str, str] | None = None) -> str | None:
    """What agents' passwords on a server follow from; None: they are random.

    Raises `InvalidInputError` for one that could be guessed: an agent knows its own password, so
    it could try secrets until one gives it, and then has everybody's.
    """
    env = os.environ if environ is None else environ
    secret = env.get("SO_ACL_SECRET") or None
    if secret is not None and len(secret) < _SHORTEST_SECRET:
        raise InvalidInputError(
            f"SO_ACL_SECRET: expected at least {_SHORTEST_SECRET} characters, got {len(secret)}. "
            "Make one: python3 -c 'import secrets; print(secrets.token_hex(32))'"
        )
    return secret


def http_token(environ: Mapping[str, str] | None = None) -> str | None:
    """The bearer token of the environment, unchecked (see `listening`); None: unset."""
    env = os.environ if environ is None else environ
    return env.get("SO_HTTP_TOKEN") or None


def log_level(environ: Mapping[str, str] | None = None) -> str | None:
    """From which level on `diagnostics` are wanted; None: unset."""
    env = os.environ if environ is None else environ
    level = env.get("SO_LOG") or None
    if level not in (None, *LOG_LEVELS):
        raise InvalidInputError(f"SO_LOG: expected one of {', '.join(LOG_LEVELS)}, got {shown(level)}.")
    return level


def _scenarios(env: Mapping[str, str], agent: str | None) -> list[str]:
    """The scenarios of this process: an agent may have several, a supervisor has one."""
    one = env.get("SO_SCENARIO") or None
    several = env.get("SO_SCENARIOS") or None
    if several is None:
        return [normal_name(one or DEFAULT_SCENARIO, "SO_SCENARIO")]
    if agent is None:
        raise InvalidInputError(
            "SO_SCENARIOS is for an agent's server. A supervisor has one scenario: unset it, and "
            "name that in SO_SCENARIO."
        )
    try:
        given = json.loads(several)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, list) or not given:
        raise InvalidInputError(
            "SO_SCENARIOS: expected a JSON list of names, such as "
            f'["ticket-1", "ticket-2"], got {shown(several)}.'
        )
    names = [normal_name(name, f"SO_SCENARIOS[{place}]") for place, name in enumerate(given)]
    if one is not None:
        first = normal_name(one, "SO_SCENARIO")
        if first not in names:
            raise InvalidInputError(
                f"SO_SCENARIO: {shown(first)} is none of SO_SCENARIOS. Unset one of the two."
            )
        names.insert(0, first)
    return list(dict.fromkeys(names))


def store_path(given: str | os.PathLike[str] | None = None) -> Path:
    """The embedded store's folder: the one given, else the platform's data folder."""
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path  # noqa: PLC0415 - only the default needs it

    return user_data_path("so-mcp", appauthor=False) / "store"


def _tls(env: Mapping[str, str]) -> tuple[bool, str | None]:
    """Whether the server speaks TLS, and the absolute path of the file of certificates."""
    said = env.get("FALKORDB_TLS") or "0"
    if said not in {"0", "1"}:
        raise InvalidInputError(f"FALKORDB_TLS: expected 1 or 0, got {shown(said)}.")
    tls, ca = said == "1", env.get("FALKORDB_TLS_CA") or None
    if ca is None:
        return tls, None
    if not tls:
        raise InvalidInputError("FALKORDB_TLS_CA is for TLS: set FALKORDB_TLS=1 too, or unset it.")
    file = Path(ca).expanduser().absolute()
    if not file.is_file():
        raise InvalidInputError(f"FALKORDB_TLS_CA: there is no file {shown(str(file))}.")
    return tls, str(file)


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) < 65_536:
        return int(text)
    raise InvalidInputError(f"FALKORDB_PORT: expected 1 to 65535, got {shown(text)}.")
