"""Where the database is and who we are, from arguments and the environment.

| variable | meaning | default |
|---|---|---|
| ``SO_SCENARIO`` | the scenario | ``support`` |
| ``SO_AGENT`` | be this agent: read its own mind, nothing else | unset: supervisor |
| ``FALKORDB_LITE_PATH`` | folder of the embedded database | the platform's data folder |
| ``FALKORDB_HOST`` | use a server instead of the embedded database | unset |
| ``FALKORDB_PORT`` | its port | 6379 |
| ``FALKORDB_USERNAME`` | supervisor's user there (an agent's follows from its name) | ``default`` |
| ``FALKORDB_PASSWORD`` | the password there | none |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidInputError
from .names import normal_name, shown

DEFAULT_SCENARIO = "support"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A FalkorDB server, and the supervisor's (or the agent's) login on it."""

    host: str
    port: int = 6379
    username: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """What a process was started with."""

    scenario: str
    agent: str | None
    server: ServerAddress | None  # None: the embedded database at `path`
    path: Path


def from_environment(environ: Mapping[str, str] | None = None) -> Config:
    """Read the variables above; raises `InvalidInputError` naming the wrong one."""
    env = os.environ if environ is None else environ
    agent = env.get("SO_AGENT") or None
    server = None
    if host := env.get("FALKORDB_HOST"):
        server = ServerAddress(
            host,
            _port(env.get("FALKORDB_PORT") or "6379"),
            env.get("FALKORDB_USERNAME") or None,
            env.get("FALKORDB_PASSWORD") or None,
        )
    return Config(
        scenario=normal_name(env.get("SO_SCENARIO") or DEFAULT_SCENARIO, "SO_SCENARIO"),
        agent=None if agent is None else normal_name(agent, "SO_AGENT"),
        server=server,
        path=store_path(env.get("FALKORDB_LITE_PATH")),
    )


def store_path(given: str | os.PathLike[str] | None = None) -> Path:
    """The embedded store's folder: the one given, else the platform's data folder."""
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path  # noqa: PLC0415 - only the default needs it

    return user_data_path("so-mcp", appauthor=False) / "store"


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) < 65_536:
        return int(text)
    raise InvalidInputError(f"FALKORDB_PORT: expected 1 to 65535, got {shown(text)}.")
