"""What to paste into each host so that an agent's server starts there.

Hosts start servers with a small environment and a minimal PATH, so the command is absolute and
everything the server needs is in ``env``. `HOSTS` is the one list of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .config import DEFAULT_SCENARIO, Config, store_path
from .errors import StoreError
from .grants import Grant
from .names import name_digest
from .private_files import write_private
from .wording import listed

_LONGEST_PLAIN = 60
# Hosts name a tool "mcp__SERVER__TOOL" and leave out what is longer than 60 to 64 characters.
_LONGEST_NAME = 32
_PASSWORD = "FALKORDB_PASSWORD"  # noqa: S105 - the variable's name
_VARIABLE = re.compile(r"\$[{A-Za-z_]")


@dataclass(frozen=True, slots=True)
class Registration:
    """An agent's server: its name in a host's list, what starts it, and with which variables."""

    name: str
    command: str
    env: dict[str, str]

    @property
    def entry(self) -> dict[str, Any]:
        """As most hosts write it."""
        return {"command": self.command, "args": [], "env": self.env}


def command() -> str:
    """The absolute path of ``so-mcp`` in the environment that runs this."""
    beside = Path(sys.executable).parent / "so-mcp"
    return str(beside) if beside.exists() else "so-mcp"


def server_name(agent: str) -> str:
    """A name for the host's list, in letters, digits and hyphens.

    Two agents share one only when their names differ in nothing but case.
    """
    name = _plain(agent)
    if name == agent.casefold() and len(name) <= _LONGEST_NAME:
        return name
    digest = name_digest(agent)[:6]
    return f"{name[: _LONGEST_NAME - len(digest) - 1].rstrip('-') or 'agent'}-{digest}"


def environment(agent: str | None, scenarios: Sequence[str], config: Config) -> dict[str, str]:
    """The variables that a registration needs, without the password."""
    env = {} if agent is None else {"SO_AGENT": agent}
    if len(scenarios) > 1:
        env["SO_SCENARIOS"] = json.dumps([*scenarios], ensure_ascii=False)
    elif scenarios[0] != DEFAULT_SCENARIO:
        env["SO_SCENARIO"] = scenarios[0]
    if config.server is not None:
        env["FALKORDB_HOST"] = config.server.host
        env["FALKORDB_PORT"] = str(config.server.port)
        if config.server.tls:
            env["FALKORDB_TLS"] = "1"
        if config.server.tls_ca is not None:
            env["FALKORDB_TLS_CA"] = config.server.tls_ca
    elif config.path != store_path():
        env["FALKORDB_LITE_PATH"] = os.fspath(config.path)
    return env


def registration(granted: Grant, config: Config) -> Registration:
    """What a host is told to start."""
    env = environment(granted.agent, granted.scenarios, config)
    if granted.password is not None:
        env[_PASSWORD] = granted.password
    return Registration(server_name(granted.agent), command(), env)


def registrations(granted: Grant, config: Config) -> str:
    """The text that ``so-mcp grant`` and ``rotate`` print: one block for each of `HOSTS`."""
    made = registration(granted, config)
    lines = [f"{sentence(granted)} {_password(granted)}", *notes(granted, config)]
    for host in HOSTS:
        lines += ["", f"{host.where}:", host.form(made)]
    return "\n".join(lines)


def sentence(granted: Grant) -> str:
    """What a login is for."""
    where = listed([f"'{scenario}'" for scenario in granted.scenarios])
    scenarios = "scenarios" if granted.others else "scenario"
    return f"{granted.agent} can now read its own mind in {scenarios} {where}, and nothing else."


def notes(granted: Grant, config: Config) -> list[str]:
    """What to know of a login that the server will forget, and of values that hosts change."""
    found = forgotten(granted)
    env = environment(granted.agent, granted.scenarios, config)
    if changed := [name for name, value in env.items() if _VARIABLE.search(value)]:
        found.append(
            "Note: in a registration hosts take ${NAME} for a variable of theirs (Gemini CLI takes "
            f"$NAME too), and {listed(changed)} has that in it: see that it arrives as it is."
        )
    return found


def forgotten(granted: Grant) -> list[str]:
    """What to know of a login that the server will forget; nothing of one that lasts."""
    if granted.lasting:
        return []
    return ["The server keeps no aclfile: this login lasts until it is restarted."]


def write_registration(granted: Grant, config: Config, folder: Path) -> Path:
    """A file for Claude Code (``--mcp-config``), Claude Desktop or Cursor, for its owner alone.

    Its name holds a hash of the agent's, so that no two agents, whatever they are called, share
    one, and none can name a file elsewhere. Raises `StoreError` where it cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}.") from error
    plain = _plain(granted.agent)[:_LONGEST_PLAIN] or "agent"
    file = folder / f"{plain}-{name_digest(granted.agent)}.mcp.json"
    write_private(file, f"{_mcp_servers(registration(granted, config))}\n")
    return file


def _password(granted: Grant) -> str:
    if granted.password is None:
        return "Its password is in a private file of the store; nothing secret is printed."
    if granted.derived:
        return "Its password follows from SO_ACL_SECRET: granting again shows the same."
    return "Its password is shown only here; keep it."


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")


def _shell_line(program: str, option: str) -> Callable[[Registration], str]:
    """A command of the host's own; the name goes first, as its option may take several values."""

    def line(made: Registration) -> str:
        pairs = [f"{option} {shlex.quote(f'{name}={value}')}" for name, value in made.env.items()]
        return " ".join([f"  {program}", made.name, *pairs, "--", shlex.quote(made.command)])

    return line


def _mcp_servers(made: Registration) -> str:
    return _json({"mcpServers": {made.name: made.entry}})


def _vscode(made: Registration) -> str:
    """VS Code asks for secrets once and keeps them; they do not stand in the file."""
    server = {"type": "stdio", **made.entry}
    if _PASSWORD not in made.env:
        return _json({"servers": {made.name: server}})
    asked = {
        "id": f"{made.name}-password",  # the file may hold several servers
        "type": "promptString",
        "description": f"Password of {made.name} on FalkorDB",
        "password": True,
    }
    server["env"] = {**made.env, _PASSWORD: f"${{input:{asked['id']}}}"}
    return _json({"inputs": [asked], "servers": {made.name: server}})


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Host:
    """Hosts that take a registration in one form: where it goes, and the form."""

    where: str
    form: Callable[[Registration], str]


HOSTS = (
    Host("Claude Code", _shell_line("claude mcp add", "-e")),
    Host("Codex", _shell_line("codex mcp add", "--env")),
    Host(
        "Claude Desktop (claude_desktop_config.json), Cursor (.cursor/mcp.json) and Gemini CLI "
        "(.gemini/settings.json)",
        _mcp_servers,
    ),
    Host("VS Code (.vscode/mcp.json)", _vscode),
)
