"""What to paste into each host so that an agent's server starts there.

Hosts start servers with a small environment and a minimal PATH, so the command is absolute and
everything the server needs is in ``env``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .config import DEFAULT_SCENARIO, Config, store_path
from .errors import StoreError
from .grants import Grant
from .names import name_digest
from .private_files import write_private
from .wording import listed

_LONGEST_PLAIN = 60
_PASSWORD = "FALKORDB_PASSWORD"  # noqa: S105 - the variable's name


def command() -> str:
    """The absolute path of ``so-mcp`` in the environment that runs this."""
    beside = Path(sys.executable).parent / "so-mcp"
    return str(beside) if beside.exists() else "so-mcp"


def server_name(agent: str) -> str:
    """A name for the host's list, in letters, digits and hyphens.

    Two agents share one only when their names differ in nothing but case.
    """
    name = _plain(agent)
    if name == agent.casefold():
        return name
    return f"{name or 'agent'}-{name_digest(agent)[:6]}"


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
    elif config.path != store_path():
        env["FALKORDB_LITE_PATH"] = os.fspath(config.path)
    return env


def registrations(granted: Grant, config: Config) -> str:
    """The text that ``so-mcp grant`` and ``rotate`` print: one block a host."""
    name, entry = _entry(granted, config)
    pairs = " ".join(f"-e {shlex.quote(f'{key}={value}')}" for key, value in entry["env"].items())
    claude_code = f"claude mcp add {name} {pairs} -- {shlex.quote(command())}"
    vscode = _vscode(name, entry, secret=granted.password is not None)
    return "\n".join(
        [
            f"{sentence(granted)} {_password(granted)}",
            *forgotten(granted),
            "",
            "Claude Code:",
            f"  {claude_code}",
            "",
            "Claude Desktop (claude_desktop_config.json) and Cursor (.cursor/mcp.json):",
            json.dumps({"mcpServers": {name: entry}}, indent=2, ensure_ascii=False),
            "",
            "VS Code (.vscode/mcp.json):",
            json.dumps(vscode, indent=2, ensure_ascii=False),
        ]
    )


def sentence(granted: Grant) -> str:
    """What a login is for."""
    where = listed([f"'{scenario}'" for scenario in granted.scenarios])
    scenarios = "scenarios" if granted.others else "scenario"
    return f"{granted.agent} can now read its own mind in {scenarios} {where}, and nothing else."


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
    name, entry = _entry(granted, config)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}.") from error
    plain = _plain(granted.agent)[:_LONGEST_PLAIN] or "agent"
    file = folder / f"{plain}-{name_digest(granted.agent)}.mcp.json"
    text = json.dumps({"mcpServers": {name: entry}}, indent=2, ensure_ascii=False)
    write_private(file, f"{text}\n")
    return file


def _entry(granted: Grant, config: Config) -> tuple[str, dict[str, Any]]:
    env = environment(granted.agent, granted.scenarios, config)
    if granted.password is not None:
        env[_PASSWORD] = granted.password
    return server_name(granted.agent), {"command": command(), "args": [], "env": env}


def _password(granted: Grant) -> str:
    if granted.password is None:
        return "Its password is in a private file of the store; nothing secret is printed."
    if granted.derived:
        return "Its password follows from SO_ACL_SECRET: granting again shows the same."
    return "Its password is shown only here; keep it."


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")


def _vscode(name: str, entry: dict[str, Any], *, secret: bool) -> dict[str, Any]:
    """VS Code asks for secrets once and keeps them; they do not stand in the file."""
    server = {"type": "stdio", **entry, "env": dict(entry["env"])}
    if not secret:
        return {"servers": {name: server}}
    server["env"][_PASSWORD] = "${input:falkordb-password}"
    asked = {
        "id": "falkordb-password",
        "type": "promptString",
        "description": f"Password of {name} on FalkorDB",
        "password": True,
    }
    return {"inputs": [asked], "servers": {name: server}}
